"""NevIR: pairwise accuracy on two queries that differ by a negation."""

from __future__ import annotations

from obverse.errors import InputError
from obverse.measures.measured import Measured, over_topics
from obverse.measures.ranks import is_constant
from obverse.measures.recall import recall_of
from obverse.measures.robustness import Groups
from obverse.records import Qrels, Run


def nevir(run: Run, qrels: Qrels, pairs: Groups | None = None, *, seed: int = 0) -> Measured:
    """Returns the share of pairs in which both queries put their own document first, in [0, 1].

    Higher is better. Scores are compared as float32, ties fall to the higher document id, so a constant model scores 0.
    A query without results is wrong.

    After Weller et al. (2023), *NevIR: Negation in Neural Information Retrieval*,
    https://arxiv.org/abs/2305.07614.

    Args:
        run: Scores by query and document, two candidates per query.
        qrels: The relevant one of each query.
        pairs: The two query ids of each pair; by default those that differ in a last ``_q1`` and ``_q2``.
        seed: Seed of the interval.

    Raises:
        InputError: If a pair has not exactly two judged queries.
    """
    pairs = pairs if pairs is not None else pairs_by_suffix(list(qrels))
    per_topic: dict[str, float | None] = {}
    for name, members in pairs.items():
        judged = [query_id for query_id in members if query_id in qrels]
        if len(judged) != 2:
            raise InputError(
                f"the pair {name!r} has {len(judged)} judged queries, not two",
                fix="Judge both queries of every pair",
            )
        right = [recall_of(run.get(query_id, {}), qrels[query_id], 1) == 1.0 for query_id in judged]
        per_topic[name] = float(all(right))
    everyone = [query_id for members in pairs.values() for query_id in members]
    return over_topics(
        "NevIR pairwise accuracy",
        per_topic,
        notes={
            "without_results": [query_id for query_id in everyone if not run.get(query_id)],
            "constant_scores": [q for q in everyone if is_constant(run.get(q, {}))],
        },
        reason="there is no pair",
        seed=seed,
    )


def pairs_by_suffix(query_ids: list[str]) -> dict[str, list[str]]:
    """Returns the pairs of ids that differ in a last ``_q1`` and ``_q2`` alone.

    Raises:
        InputError: If an id ends in neither.
    """
    pairs: dict[str, list[str]] = {}
    for query_id in query_ids:
        name, _, suffix = query_id.rpartition("_")
        if suffix not in ("q1", "q2") or not name:
            raise InputError(
                f"query {query_id!r} ends neither in _q1 nor in _q2",
                fix="Say which queries are a pair: --groups pairs.json",
            )
        pairs.setdefault(name, []).append(query_id)
    return pairs
