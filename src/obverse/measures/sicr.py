"""SICR: whether rank and score of a relevant document both obey the instruction and its reverse."""

from __future__ import annotations

from statistics import fmean

from obverse.measures.infosearch import DocSets, Modes, Place
from obverse.measures.measured import Measured, over_topics
from obverse.measures.ranks import Ties, check_ties
from obverse.measures.wise import Variant, check_variant
from obverse.records import Run


def sicr(
    original: Run,
    instructed: Run,
    reversed_run: Run,
    positives: DocSets,
    *,
    variant: Variant = "code",
    ties: Ties = "insertion",
    seed: int = 0,
) -> Measured:
    """Returns the share of strict instruction compliance, in [0, 1], higher is better.

    A relevant document complies if, with the instruction, it stands higher and scores more than without, and with
    the reverse lower and less. Scores must be comparable across the three runs.

    After Zhou et al. (2024), *Beyond Content Relevance: Evaluating Instruction Following in Retrieval Models*,
    https://arxiv.org/abs/2410.23841. The ``paper`` asks that of every document and takes the mean. The ``code``
    lets a document at rank 1 stay there, and keeps only the last of a query's documents, divided by how many there
    are: with two that comply it says 0.5. It gave the published numbers.

    Args:
        original: The run without instruction.
        instructed: The run with it.
        reversed_run: The run with its reverse.
        positives: By query, the documents that stay relevant.
        variant: ``code`` or ``paper``.
        ties: How equal scores are ordered; the authors' code keeps the order of the run.
        seed: Seed of the interval.
    """
    check_ties(ties)
    check_variant(variant)
    modes = Modes(original, instructed, reversed_run)
    per_topic: dict[str, float | None] = {}
    for query_id, docs in positives.items():
        per_topic[query_id] = None
        if not docs or not modes.have(query_id):
            continue
        comply = [
            float(complies(*modes.places(query_id, doc_id, ties), variant)) for doc_id in docs
        ]
        per_topic[query_id] = comply[-1] / len(docs) if variant == "code" else fmean(comply)
    return over_topics(
        "SICR",
        per_topic,
        notes={
            "variant": variant,
            "ties": ties,
            "without_positives": [q for q, docs in positives.items() if not docs],
            "without_results": [q for q in positives if not modes.have(q)],
            "constant_scores": modes.constant(positives),
        },
        reason="no query has a document that stays relevant and three runs",
        seed=seed,
    )


def complies(original: Place, instructed: Place, reverse: Place, variant: Variant = "code") -> bool:
    """Whether one document obeys the instruction and its reverse, by rank and by score."""
    falls = original.rank < reverse.rank and original.score > reverse.score
    if variant == "code" and original.rank == 1:
        return falls and instructed.rank == 1 and instructed.score >= original.score
    return falls and instructed.rank < original.rank and instructed.score > original.score
