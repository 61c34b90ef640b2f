"""MRR@k: how far up the first relevant document stands."""

from __future__ import annotations

from collections.abc import Mapping

from obverse.measures.judged import Missing, over_judged
from obverse.measures.measured import Measured
from obverse.measures.ranks import ranks_of
from obverse.records import Qrels, Run


def mean_reciprocal_rank(
    run: Run,
    qrels: Qrels,
    k: int | None = 10,
    *,
    missing: Missing = "count",
    same_ids: bool = True,
    seed: int = 0,
) -> Measured:
    """Returns the mean of 1 / rank of the first relevant document, 0 where none is within k.

    In [0, 1], higher is better.

    Two public evaluators differ where scores are equal only in single precision. With a cutoff, scores are compared
    as they are (double precision), as mteb's ``mrr_at_k`` does; without one, as float32, as trec_eval's
    ``recip_rank`` does; ties fall to the higher document id in both. Arguments as for
    :func:`~obverse.measures.ndcg.ndcg`. For the MS MARCO leaderboard's value see
    :func:`~obverse.measures.msmarco_mrr.msmarco_mrr`.

    After mteb's ``mrr`` (Muennighoff et al. 2023, *MTEB*, https://arxiv.org/abs/2210.07316) and trec_eval,
    https://github.com/usnistgov/trec_eval.
    """
    return over_judged(
        f"MRR@{k}" if k else "MRR",
        run,
        qrels,
        lambda scores, grades: reciprocal_rank_of(scores, grades, k),
        missing=missing,
        same_ids=same_ids,
        seed=seed,
    )


def reciprocal_rank_of(
    scores: Mapping[str, float], grades: Mapping[str, int], k: int | None = 10
) -> float:
    """Returns the reciprocal rank of one query."""
    found = [doc_id for doc_id, grade in grades.items() if grade > 0 and doc_id in scores]
    if not found:
        return 0.0
    first = min(ranks_of(scores, found, single=k is None))
    return 1 / first if k is None or first <= k else 0.0
