"""WISE: whether a relevant document rises with its instruction and falls with the reverse, weighted by rank."""

from __future__ import annotations

import math
from statistics import fmean
from typing import Literal, get_args

from obverse.errors import SettingError
from obverse.measures.infosearch import DocSets, Modes
from obverse.measures.measured import Measured, over_topics
from obverse.measures.ranks import Ties, check_ties
from obverse.records import Run

Variant = Literal["code", "paper"]
"""Where InfoSearch's paper and code differ: ``code`` gave the published numbers and is the default."""

DEEPEST = 20


def wise(
    original: Run,
    instructed: Run,
    reversed_run: Run,
    positives: DocSets,
    negatives: DocSets,
    *,
    variant: Variant = "code",
    ties: Ties = "insertion",
    seed: int = 0,
) -> Measured:
    """Returns WISE, in [-1, 1], higher is better: the mean over positives, then over queries.

    After Zhou et al. (2024), *Beyond Content Relevance: Evaluating Instruction Following in Retrieval Models*,
    https://arxiv.org/abs/2410.23841. The paper rewards rank 1 where the original rank is *at most* N and subtracts
    ``(o - i) / K``; the code asks for *less than* N and takes the square root of ``o - i`` first.

    Args:
        original: The run without instruction.
        instructed: The run with it.
        reversed_run: The run with its reverse.
        positives: By query, the documents that stay relevant.
        negatives: By query, those that the instruction rules out; only their number enters.
        variant: ``code`` or ``paper``.
        ties: How equal scores are ordered; the authors' code keeps the order of the run.
        seed: Seed of the interval.
    """
    check_ties(ties)
    check_variant(variant)
    modes = Modes(original, instructed, reversed_run)
    per_topic: dict[str, float | None] = {}
    ideal: dict[str, float] = {}
    for query_id, docs in positives.items():
        per_topic[query_id] = None
        if not docs or not modes.have(query_id):
            continue
        judged = len(docs) + len(negatives.get(query_id, ()))
        places = [
            tuple(place.rank for place in modes.places(query_id, doc_id, ties)) for doc_id in docs
        ]
        per_topic[query_id] = fmean(wise_of(o, i, r, judged, variant) for o, i, r in places)
        ideal[query_id] = fmean(wise_of(o, 1, o + 1, judged, variant) for o, _, _ in places)
    return over_topics(
        "WISE",
        per_topic,
        notes={
            "variant": variant,
            "ties": ties,
            "ideal_wise": fmean(ideal.values()) if ideal else None,
            "without_positives": [q for q, docs in positives.items() if not docs],
            "without_results": [q for q in positives if not modes.have(q)],
            "constant_scores": modes.constant(positives),
        },
        reason="no query has a document that stays relevant and three runs",
        seed=seed,
    )


def wise_of(o: int, i: int, r: int, judged: int, variant: Variant = "code") -> float:
    """Returns the reward of one document from its ranks: original, instructed, reversed.

    Args:
        o: Rank without instruction.
        i: Rank with it.
        r: Rank with its reverse.
        judged: How many documents the query has, positives and negatives together (N).
        variant: ``code`` or ``paper``.
    """
    if i <= o < r:
        if i == 1 and (o < judged if variant == "code" else o <= judged):
            return 1.0
        if o > DEEPEST:
            return 0.01
        risen = math.sqrt(o - i) if variant == "code" else o - i
        return (1 - risen / DEEPEST) / math.sqrt(i)
    if r < o < i:
        return -1.0
    return (o - i) / i if o <= i else (r - o) / o


def check_variant(variant: str) -> None:
    """Raises SettingError if there is no such variant."""
    if variant not in get_args(Variant):
        raise SettingError(f"unknown variant {variant!r}", fix="Use code or paper")
