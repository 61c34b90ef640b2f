"""Compliance: the share of what is shown that meets a condition which can be checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from obverse.measures.measured import Measured, over_topics
from obverse.measures.ranks import ranking
from obverse.records import Run

Meets = Callable[[str, str], bool]
"""Whether a document meets the condition of a query: ``meets(query_id, doc_id)``."""


def compliance(
    run: Run, meets: Meets, k: int = 10, *, query_ids: Iterable[str] | None = None, seed: int = 0
) -> Measured:
    """Returns the share of the first k documents that meet the query's condition, in [0, 1], higher is better.

    No relevance judgements are needed: the condition is proved by a program (contains a word, is shorter than a
    length, is not among the documents that a list rules out). Where fewer than k documents were returned, the share
    is of those; a query without results has no value and is named. Scores are compared as float32, ties fall to the
    higher document id. A measure of this project.

    Args:
        run: Scores by query and document.
        meets: The condition.
        k: How many documents are looked at.
        query_ids: The queries that have a condition; by default all of the run.
        seed: Seed of the interval.
    """
    per_topic: dict[str, float | None] = {}
    for query_id in run if query_ids is None else query_ids:
        shown = ranking(run.get(query_id, {}), single=True, depth=k)
        kept = sum(meets(query_id, doc_id) for doc_id in shown)
        per_topic[query_id] = kept / len(shown) if shown else None
    return over_topics(
        f"compliance@{k}",
        per_topic,
        notes={"without_results": [q for q, value in per_topic.items() if value is None]},
        reason="no query with a condition has results",
        seed=seed,
    )


def outside(violations: Mapping[str, Sequence[str]]) -> Meets:
    """Returns the condition "is not among the documents that the query's instruction rules out"."""
    sets = {query_id: set(doc_ids) for query_id, doc_ids in violations.items()}
    return lambda query_id, doc_id: doc_id not in sets.get(query_id, ())
