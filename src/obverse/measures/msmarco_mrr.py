"""MRR@10 as the MS MARCO leaderboard computes it: by the rank column, over all reference queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from obverse.errors import InputError
from obverse.measures.measured import Measured, over_topics

_NO_DOC = "0"


def msmarco_mrr(
    ranked: Mapping[str, Sequence[str | None]],
    reference: Mapping[str, Sequence[str]],
    k: int = 10,
    *,
    seed: int = 0,
) -> Measured:
    """Returns the mean over *all* reference queries of 1 / rank of the first listed passage, in [0, 1].

    Every passage that the reference lists counts, whatever its grade; queries without results count as 0; queries
    that the reference lacks are ignored. Ranks that the run leaves empty hold the passage ``0``, as in the
    leaderboard's own script: a reference that lists a passage ``0`` meets it there.

    After Bajaj et al. (2016), *MS MARCO: A Human Generated MAchine Reading COmprehension Dataset*,
    https://arxiv.org/abs/1611.09268, and its passage ranking evaluation script.

    Args:
        ranked: By query, the documents in the order of the rank column; None where a rank is left empty.
        reference: By query, the relevant documents.
        k: The cutoff.
        seed: Seed of the interval.

    Raises:
        InputError: If run and reference have no query in common.
    """
    if reference and not any(query_id in reference for query_id in ranked):
        raise InputError(
            "run and judgements have no query in common",
            fix="Check that they are of the same set, and that the ids are spelled alike",
        )
    per_topic: dict[str, float | None] = {}
    for query_id, relevant in reference.items():
        row = [doc_id if doc_id is not None else _NO_DOC for doc_id in ranked.get(query_id, ())]
        row += [_NO_DOC] * (k - len(row)) if query_id in ranked else []
        wanted = set(relevant)
        rank = next((n for n, doc_id in enumerate(row[:k], start=1) if doc_id in wanted), None)
        per_topic[query_id] = 1 / rank if rank else 0.0
    return over_topics(
        f"MS MARCO MRR@{k}",
        per_topic,
        notes={
            "queries_ranked": sum(query_id in reference for query_id in ranked),
            "without_results": [query_id for query_id in reference if not ranked.get(query_id)],
            "without_judgements": [query_id for query_id in ranked if query_id not in reference],
        },
        reason="the reference holds no query",
        seed=seed,
    )


def by_rank_column(
    rows: Mapping[str, Sequence[tuple[int, str]]], k: int = 10
) -> dict[str, list[str | None]]:
    """Returns the documents in the order of a run's rank column, None where a rank is empty.

    Raises:
        InputError: If a rank is below 1 or stands twice in a query.
    """
    ranked: dict[str, list[str | None]] = {}
    for query_id, pairs in rows.items():
        places: dict[int, str] = {}
        for rank, doc_id in pairs:
            if rank < 1:
                raise InputError(
                    f"rank {rank} of document {doc_id!r}: ranks start at 1",
                    where=f"query {query_id}",
                    fix="Number the ranks 1, 2, 3, ...",
                )
            if rank in places:
                raise InputError(
                    f"rank {rank} is held by {places[rank]!r} and {doc_id!r}",
                    where=f"query {query_id}",
                    fix="Give every document of a query a rank of its own",
                )
            places[rank] = doc_id
        ranked[query_id] = [places.get(rank) for rank in range(1, min(k, max(places)) + 1)]
    return ranked
