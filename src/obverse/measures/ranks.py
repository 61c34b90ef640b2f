"""Ranks from scores: the one tie rule, its older rival, and what happens to documents that are not there."""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from numbers import Real
from operator import eq
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from obverse.errors import InputError, SettingError

Ties = Literal["trec", "insertion"]
"""How equal scores are ordered: ``trec`` by document id, descending, compared as strings (trec_eval, mteb since
August 2026); ``insertion`` as they stand in the run (mteb before, InfoSearch)."""


def check_ties(ties: str) -> Ties:
    """Returns the tie rule.

    Raises:
        SettingError: If there is no such rule.
    """
    if ties not in get_args(Ties):
        raise SettingError(f"unknown tie rule {ties!r}", fix="Use trec or insertion")
    return ties  # type: ignore[return-value]


def score_array(scores: Mapping[str, float], *, single: bool = False) -> NDArray[Any]:
    """Returns the scores of one query's run as an array, float32 where ``single``, as trec_eval holds them.

    Raises:
        InputError: If a score is not a number.
    """
    try:  # a third faster than np.fromiter
        packed = struct.pack(f"{len(scores)}d", *scores.values())
    except struct.error:
        doc_id, score = next(row for row in scores.items() if not isinstance(row[1], Real))
        raise InputError(
            f"the score of document {doc_id!r} is {score!r}, which is no number",
            fix="Give every document of a run a number",
        ) from None
    values: NDArray[Any] = np.frombuffer(packed, np.float64)
    if single:
        with np.errstate(over="ignore"):  # beyond float32 scores tie at infinity, as in trec_eval
            values = values.astype(np.float32)
    if len(values) and (highest := values.max()) != highest:
        doc_id = next(doc_id for doc_id, score in scores.items() if score != score)
        raise InputError(
            f"the score of document {doc_id!r} is NaN, which has no place in a ranking",
            fix="Mend the scores; leave the document out if it has none",
        )
    return values


def ranks_of(
    scores: Mapping[str, float],
    doc_ids: Sequence[str],
    *,
    ties: Ties = "trec",
    single: bool = False,
    within: int | None = None,
    values: NDArray[Any] | None = None,
) -> list[int]:
    """Returns the 1-based ranks of documents in one query's run, without sorting the run's ids.

    Args:
        scores: The run of one query.
        doc_ids: Whose ranks are asked.
        ties: How equal scores are ordered.
        single: Whether scores are compared as float32, as trec_eval does.
        within: A cutoff beyond which ranks need not be exact: ties are left alone there.
        values: The scores as :func:`score_array` gives them, where they are at hand.

    Returns:
        One rank per document; a document that the run lacks has the rank ``len(scores) + 1``.

    Raises:
        InputError: If a score is NaN.
    """
    values = score_array(scores, single=single) if values is None else values
    own = np.array([scores.get(doc_id, np.nan) for doc_id in doc_ids], dtype=values.dtype)
    ordered = np.sort(values)
    right = ordered.searchsorted(own, side="right")
    above = (len(values) - right).tolist()
    level = (right - ordered.searchsorted(own, side="left")).tolist()
    names: list[str] = []
    ranks = []
    for place, (doc_id, higher, equal) in enumerate(zip(doc_ids, above, level, strict=True)):
        if doc_id not in scores:
            ranks.append(len(scores) + 1)
            continue
        rank = higher + 1
        if equal > 1 and (within is None or rank <= within):
            names = names or list(scores)
            tied = np.flatnonzero(values == own[place]).tolist()
            rank += _ahead_of(doc_id, [names[row] for row in tied], ties)
        ranks.append(rank)
    return ranks


def within_reach(
    scores: Mapping[str, float], doc_ids: Sequence[str], k: int | None, values: NDArray[Any]
) -> list[str]:
    """Returns those of some documents that may stand among the first k, compared as float32.

    Few judged documents do; only for these must ranks be found.

    Args:
        scores: The run of one query.
        doc_ids: The documents.
        k: The cutoff.
        values: The scores as :func:`score_array` gives them, as float32.
    """
    if k is None or len(values) <= k:
        return [doc_id for doc_id in doc_ids if doc_id in scores]
    last = float(np.partition(values, len(values) - k)[len(values) - k])
    least = (
        last - abs(last) * 1e-6 - 1e-30
    )  # a score that only rounds up to the last one reaches it too
    get, never = scores.get, float("-inf")
    if least == never:
        return [doc_id for doc_id in doc_ids if doc_id in scores]
    return [doc_id for doc_id in doc_ids if get(doc_id, never) >= least]


def _ahead_of(doc_id: str, tied: Collection[str], ties: Ties) -> int:
    """Counts the documents of the same score that stand before this one."""
    if ties == "trec":
        return sum(other > doc_id for other in tied)
    return list(tied).index(doc_id)


def ranking(
    scores: Mapping[str, float],
    *,
    ties: Ties = "trec",
    single: bool = False,
    depth: int | None = None,
) -> list[str]:
    """Returns the document ids of one query's run, best first.

    Raises:
        InputError: If a score is NaN.
    """
    values = score_array(scores, single=single).tolist()
    rows = list(zip(values, scores, strict=True))
    if ties == "trec":
        rows.sort(reverse=True)
    else:
        rows.sort(key=lambda row: -row[0])
    return [doc_id for _, doc_id in rows[:depth]]


def is_constant(scores: Mapping[str, float]) -> bool:
    """Whether two or more documents all have one score."""
    values = iter(scores.values())
    first = next(values, None)
    return len(scores) > 1 and all(map(eq, values, repeat(first)))


def without(scores: Mapping[str, float], doc_ids: Collection[str]) -> Mapping[str, float]:
    """Returns the run of one query with some documents taken out."""
    if not doc_ids:
        return scores
    return {doc_id: score for doc_id, score in scores.items() if doc_id not in doc_ids}


def tied_share(scores: Mapping[str, float]) -> float:
    """Returns the share of documents whose score another document has too, in [0, 1]."""
    if not scores:
        return 0.0
    counts = np.unique(score_array(scores), return_counts=True)[1]
    return float(counts[counts > 1].sum() / len(scores))
