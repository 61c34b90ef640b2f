"""MAP@k as trec_eval computes it."""

from __future__ import annotations

from collections.abc import Mapping

from obverse.measures.judged import Missing, over_judged
from obverse.measures.measured import Measured
from obverse.measures.ranks import ranks_of
from obverse.records import Qrels, Run


def mean_average_precision(
    run: Run,
    qrels: Qrels,
    k: int | None = 1_000,
    *,
    missing: Missing = "count",
    same_ids: bool = True,
    seed: int = 0,
) -> Measured:
    """Returns the mean average precision of the first k documents, in [0, 1], higher is better.

    The precision at the rank of every relevant document within k, added up and divided by the number of *all*
    judged relevant documents, retrieved or not. Relevant is a grade of 1 or more. Scores are compared as float32, ties
    fall to the higher document id.

    After trec_eval's ``map_cut``, https://github.com/usnistgov/trec_eval.

    Args:
        run: Scores by query and document.
        qrels: Grades by query and document.
        k: The cutoff; None for the whole ranking.
        missing: What becomes of a judged query that the run lacks.
        same_ids: Whether a document whose id equals the query's stays.
        seed: Seed of the interval.
    """
    return over_judged(
        f"MAP@{k}" if k else "MAP",
        run,
        qrels,
        lambda scores, grades: average_precision_of(scores, grades, k),
        missing=missing,
        same_ids=same_ids,
        seed=seed,
    )


def average_precision_of(
    scores: Mapping[str, float], grades: Mapping[str, int], k: int | None = 1_000
) -> float:
    """Returns the average precision of one query; 0 where nothing is relevant."""
    relevant = [doc_id for doc_id, grade in grades.items() if grade > 0]
    found = [doc_id for doc_id in relevant if doc_id in scores]
    if not found:
        return 0.0
    total = 0.0
    for hits, rank in enumerate(sorted(ranks_of(scores, found, single=True, within=k)), start=1):
        if k is None or rank <= k:
            total += hits / rank
    return total / len(relevant)
