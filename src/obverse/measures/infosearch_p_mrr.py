"""InfoSearch's p-MRR, which is not FollowIR's: it looks at full-corpus runs and breaks ties by the run's order."""

from __future__ import annotations

from dataclasses import replace

from obverse.measures.infosearch import DocSets
from obverse.measures.measured import Measured
from obverse.measures.p_mrr import p_mrr
from obverse.measures.ranks import Ties
from obverse.records import Run


def infosearch_p_mrr(
    original: Run,
    instructed: Run,
    negatives: DocSets,
    *,
    ties: Ties = "insertion",
    seed: int = 0,
) -> Measured:
    """Returns how far the documents that the instruction rules out fall, in (-1, 1), higher is better.

    The formula is FollowIR's; the runs are those *without* and *with* the instruction, and only documents that lost
    their relevance count. A query without such documents has no value (the authors' code raises where none has).

    After Zhou et al. (2024), *Beyond Content Relevance: Evaluating Instruction Following in Retrieval Models*,
    https://arxiv.org/abs/2410.23841.

    Args:
        original: The run without instruction.
        instructed: The run with it.
        negatives: By query, the documents that the instruction rules out.
        ties: How equal scores are ordered; the authors' code keeps the order of the run.
        seed: Seed of the interval.
    """
    found = p_mrr(original, instructed, negatives, ties=ties, seed=seed)
    return replace(found, measure="InfoSearch p-MRR")
