"""Recall@k and P@k as trec_eval computes them."""

from __future__ import annotations

from collections.abc import Mapping

from obverse.measures.judged import Missing, over_judged
from obverse.measures.measured import Measured
from obverse.measures.ranks import ranks_of
from obverse.records import Qrels, Run


def recall(
    run: Run,
    qrels: Qrels,
    k: int = 100,
    *,
    missing: Missing = "count",
    same_ids: bool = True,
    seed: int = 0,
) -> Measured:
    """Returns the share of the judged relevant documents that stand among the first k, in [0, 1], higher is better.

    The denominator is all relevant documents, also where they are more than k. Scores are compared as float32, ties
    fall to the higher document id. Arguments as for :func:`~obverse.measures.ndcg.ndcg`.

    After trec_eval's ``recall``, https://github.com/usnistgov/trec_eval.
    """
    return over_judged(
        f"Recall@{k}",
        run,
        qrels,
        lambda scores, grades: recall_of(scores, grades, k),
        missing=missing,
        same_ids=same_ids,
        seed=seed,
    )


def recall_of(scores: Mapping[str, float], grades: Mapping[str, int], k: int = 100) -> float:
    """Returns the recall of one query; 0 where nothing is relevant."""
    relevant = sum(grade > 0 for grade in grades.values())
    return hits_within(scores, grades, k) / relevant if relevant else 0.0


def precision(
    run: Run,
    qrels: Qrels,
    k: int = 10,
    *,
    missing: Missing = "count",
    same_ids: bool = True,
    seed: int = 0,
) -> Measured:
    """Returns the share of relevant documents among the first k, in [0, 1], higher is better.

    The denominator is k even where fewer documents were returned. Ties and arguments as for :func:`recall`.

    After trec_eval's ``P``, https://github.com/usnistgov/trec_eval.
    """
    return over_judged(
        f"P@{k}",
        run,
        qrels,
        lambda scores, grades: hits_within(scores, grades, k) / k,
        missing=missing,
        same_ids=same_ids,
        seed=seed,
    )


def hits_within(scores: Mapping[str, float], grades: Mapping[str, int], k: int) -> int:
    """Returns how many relevant documents stand among the first k."""
    found = [doc_id for doc_id, grade in grades.items() if grade > 0 and doc_id in scores]
    return sum(rank <= k for rank in ranks_of(scores, found, single=True, within=k)) if found else 0
