"""Runs over judged queries: the one rule for queries without results, without positives, and odd grades.

The mean runs over every judged query that has a relevant document. A query without results counts as 0 and is
named; a query without a relevant document has the value 0, as trec_eval prints it, but is named and not counted,
because no system could do better there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from obverse.errors import InputError, SettingError
from obverse.measures.measured import Measured, over_topics
from obverse.measures.ranks import is_constant, without
from obverse.records import Qrels, Run

Missing = Literal["count", "drop"]
"""What becomes of a judged query that the run lacks: ``count`` it as 0, or ``drop`` it from the mean."""

OfQuery = Callable[[Mapping[str, float], Mapping[str, int]], float]


def over_judged(
    measure: str,
    run: Run,
    qrels: Qrels,
    of_query: OfQuery,
    *,
    missing: Missing = "count",
    same_ids: bool = True,
    seed: int = 0,
) -> Measured:
    """Returns a measure over all judged queries of a run; see the module for the rules.

    Raises:
        InputError: If a grade is fractional or a score is NaN, with the query.
        SettingError: If ``missing`` is neither ``count`` nor ``drop``.
    """
    if missing not in get_args(Missing):
        raise SettingError(f"unknown rule {missing!r} for missing queries", fix="Use count or drop")
    per_topic: dict[str, float | None] = {}
    dropped_ids = []
    for query_id, grades in qrels.items():
        if query_id not in run and missing == "drop":
            continue
        scores = run.get(query_id, {})
        if not same_ids and query_id in scores:
            dropped_ids.append(query_id)
            scores = without(scores, {query_id})
        try:
            per_topic[query_id] = of_query(scores, whole_grades(grades))
        except InputError as error:
            raise error.at(f"query {query_id}") from None
    notes = run_notes(run, qrels, missing=missing)
    if dropped_ids:
        notes["documents_with_the_querys_id_taken_out"] = dropped_ids
    return over_topics(
        measure,
        per_topic,
        left_out=notes.get("without_positives", ()),
        notes=notes,
        reason="no judged query has a relevant document",
        seed=seed,
    )


def run_notes(run: Run, qrels: Qrels, *, missing: Missing = "count") -> dict[str, Any]:
    """Returns what is odd about a run and its judgements, by fixed phrase."""
    notes: dict[str, Any] = {
        "without_results": [query_id for query_id in qrels if not run.get(query_id)],
        "without_positives": [
            query_id for query_id, grades in qrels.items() if max(grades.values(), default=0) <= 0
        ],
        "without_judgements": [query_id for query_id in run if query_id not in qrels],
        "negative_grades": [
            [query_id, doc_id]
            for query_id, grades in qrels.items()
            for doc_id, grade in grades.items()
            if grade < 0
        ],
        "constant_scores": [query_id for query_id in qrels if is_constant(run.get(query_id, {}))],
    }
    if missing == "drop":
        notes["missing"] = "judged queries without results are left out of the mean"
    return {key: note for key, note in notes.items() if note}


def whole_grades(grades: Mapping[str, Any]) -> Mapping[str, int]:
    """Returns the grades as whole numbers.

    Raises:
        InputError: If a grade is fractional: cutting it would change the measure without a word.
    """
    if set(map(type, grades.values())) <= {int}:
        return grades
    for doc_id, grade in grades.items():
        if int(grade) != grade:
            raise InputError(
                f"the grade {grade} of document {doc_id!r} is no whole number",
                fix="Multiply the grades until they are whole, or round them on purpose",
            )
    return {doc_id: int(grade) for doc_id, grade in grades.items()}
