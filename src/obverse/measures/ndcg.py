"""nDCG@k as trec_eval computes it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from obverse.measures.judged import Missing, over_judged
from obverse.measures.measured import Measured
from obverse.measures.ranks import ranks_of, score_array, within_reach
from obverse.records import Qrels, Run


def ndcg(
    run: Run,
    qrels: Qrels,
    k: int | None = 10,
    *,
    missing: Missing = "count",
    same_ids: bool = True,
    seed: int = 0,
) -> Measured:
    """Returns the normalised discounted cumulative gain of the first k documents, in [0, 1], higher is better.

    The gain is the grade itself (linear), negative grades and unjudged documents gain nothing, the discount is
    ``1 / log2(rank + 1)``, and the ideal runs over all judged documents of the query, cut at k. Scores are
    compared as float32, ties fall to the higher document id.

    After Järvelin and Kekäläinen (2002), *Cumulated Gain-Based Evaluation of IR Techniques*,
    https://doi.org/10.1145/582415.582418, in the variant of trec_eval's ``ndcg_cut``.

    Args:
        run: Scores by query and document.
        qrels: Grades by query and document.
        k: The cutoff; None for the whole ranking.
        missing: ``count`` a judged query without results as 0, or ``drop`` it, as pytrec_eval, mteb and MAIR do.
        same_ids: Whether a document whose id equals the query's stays; False for ArguAna and Quora.
        seed: Seed of the interval.
    """
    return over_judged(
        f"nDCG@{k}" if k else "nDCG",
        run,
        qrels,
        lambda scores, grades: ndcg_of(scores, grades, k),
        missing=missing,
        same_ids=same_ids,
        seed=seed,
    )


def ndcg_of(scores: Mapping[str, float], grades: Mapping[str, int], k: int | None = 10) -> float:
    """Returns the nDCG@k of one query; 0 where nothing is relevant."""
    gains = {doc_id: grade for doc_id, grade in grades.items() if grade > 0}
    if not gains:
        return 0.0
    best = sorted(gains.values(), reverse=True)[:k]
    values = score_array(scores, single=True)
    found = within_reach(scores, list(gains), k, values)
    ranks = ranks_of(scores, found, within=k, values=values) if found else []
    gained = sorted(
        (rank, gains[doc_id])
        for rank, doc_id in zip(ranks, found, strict=True)
        if k is None or rank <= k
    )
    return _dcg(gained) / _dcg(list(enumerate(best, start=1)))


def _dcg(ranked: list[tuple[int, int]]) -> float:
    total = 0.0
    for rank, gain in ranked:
        total += gain / math.log2(rank + 1)
    return total
