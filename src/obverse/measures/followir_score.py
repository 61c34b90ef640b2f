"""FollowIR's Score: plain quality under the original instructions, and only there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from obverse.measures.average_precision import mean_average_precision
from obverse.measures.judged import Missing
from obverse.measures.measured import Measured
from obverse.measures.ndcg import ndcg
from obverse.records import Qrels, Run

ORIGINAL, CHANGED = "-og", "-changed"
T = TypeVar("T")


def followir_score(
    run: Run, qrels: Qrels, *, news: bool = False, missing: Missing = "count", seed: int = 0
) -> Measured:
    """Returns MAP@1000 (Robust04, Core17) or nDCG@5 (News21) of the original-instruction queries, in [0, 1].

    Only query ids that end in ``-og`` count, against the original judgements; where no id has a suffix, all do. Scores
    are compared as float32, ties fall to the higher document id. mteb's top-level values mix original and changed
    queries, and its 1.x releases judged the original runs by the changed judgements: neither is this number.

    After Weller et al. (2024), *FollowIR: Evaluating and Teaching Information Retrieval Models to Follow
    Instructions*, https://arxiv.org/abs/2403.15246.

    Args:
        run: Scores by query and document.
        qrels: Grades by query and document.
        news: Whether the set is News21, which is scored by nDCG@5.
        missing: What becomes of a judged query that the run lacks.
        seed: Seed of the interval.
    """
    run, qrels = of_group(run, ORIGINAL), of_group(qrels, ORIGINAL)
    if news:
        found = ndcg(run, qrels, 5, missing=missing, seed=seed)
    else:
        found = mean_average_precision(run, qrels, 1_000, missing=missing, seed=seed)
    return replace(found, measure=f"FollowIR Score ({found.measure}, original judgements)")


def of_group(rows: Mapping[str, T], suffix: str) -> dict[str, T]:
    """Returns the queries of one group without the suffix; all of them where no id has one."""
    if not any(query_id.endswith((ORIGINAL, CHANGED)) for query_id in rows):
        return dict(rows)
    return {q.removesuffix(suffix): row for q, row in rows.items() if q.endswith(suffix)}
