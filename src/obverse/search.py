"""Exact search: the best documents of every query, blockwise, and the one tie rule.

Scores are computed block by block and merged as they come, so the full score matrix never exists; documents may be
memory-mapped shards. Equal scores fall to the higher document id, as in trec_eval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from obverse.errors import InputError, SettingError

Vectors = NDArray[np.float32]
Rows = NDArray[np.int64]

_BLOCK_CELLS = 8_000_000
_FIRST = 2_048


class Shard(Protocol):
    """Vectors that are read slice by slice: an array, a memory-mapped file, or rows that lie in many files."""

    def __len__(self) -> int: ...

    def __getitem__(self, places: slice, /) -> Vectors: ...


def tie_places(doc_ids: Sequence[str]) -> Rows:
    """Returns the place of each document in the order of descending ids: of two equal scores the lower place wins.

    Returns:
        int64 ``[n]``.
    """
    order = sorted(range(len(doc_ids)), key=doc_ids.__getitem__, reverse=True)
    places = np.empty(len(doc_ids), dtype=np.int64)
    places[order] = np.arange(len(doc_ids))
    return places


def top_docs(
    queries: Vectors,
    docs: Vectors | Sequence[Shard],
    depth: int,
    *,
    places: Rows | None = None,
    block: int | None = None,
) -> tuple[Rows, Vectors]:
    """Returns the rows and scores of the best documents of every query by inner product, best first.

    Args:
        queries: ``[q, d]`` float32: q queries, d width.
        docs: ``[n, d]`` float32, or shards of it in order, each of which may lie on disk (:class:`Shard`).
        depth: How many documents are kept per query.
        places: ``[n]``, decides ties (:func:`tie_places`); by default the earlier document wins.
        block: Documents per block; by default so many that a block of scores takes 32 MB.

    Returns:
        Rows ``[q, k]`` and scores ``[q, k]``, k the smaller of depth and n.

    Raises:
        InputError: If a vector holds NaN or infinity, or the widths differ.
        SettingError: If depth is not positive.
    """
    shards: list[Shard] = [docs] if isinstance(docs, np.ndarray) else list(docs)
    if depth < 1:
        raise SettingError(f"the depth is {depth}", fix="Keep at least one document per query")
    check_finite(queries, "a query")
    step = block or max(1_024, _BLOCK_CELLS // max(1, len(queries)))
    step = max(1, min(step, sum(map(len, shards))))
    best = _Best(len(queries), depth, places)
    buffer = np.empty(len(queries) * step, dtype=np.float32)
    for start, part in _blocks(shards, step):
        if part.shape[1] != queries.shape[1]:
            raise InputError(
                f"queries have {queries.shape[1]} dimensions, documents {part.shape[1]}",
                fix="Encode both with the same model",
            )
        scores = buffer[: len(queries) * len(part)].reshape(len(queries), len(part))
        with np.errstate(invalid="ignore", over="ignore"):
            np.matmul(queries, part.T, out=scores)
        if not np.isfinite(scores[:1]).all():  # no query's score of a damaged vector is finite
            check_finite(part, "a document", first=start)
        best.add(scores, start)
    return best.result()


def _blocks(shards: Iterable[Shard], step: int) -> Iterator[tuple[int, Vectors]]:
    first = 0
    for shard in shards:
        for start in range(0, len(shard), step):
            part = np.asarray(shard[start : start + step], dtype=np.float32)
            yield first + start, part
        first += len(shard)


def check_finite(vectors: Vectors, what: str, first: int = 0) -> None:
    """Raises InputError if a vector holds NaN or infinity; ``first`` is the number of the first row."""
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise InputError(
            f"the vector of {what} (row {first + int(np.argmin(finite))}) holds NaN or infinity",
            fix="Look at the model: a text may be empty or the weights damaged",
        )


class _Best:
    """The best documents so far. Candidates pile up and are merged when twice as many wait as are kept."""

    def __init__(self, queries: int, depth: int, places: Rows | None) -> None:
        self.depth, self.places = depth, places
        self.threshold = np.full(queries, -np.inf, dtype=np.float32)
        self.counts = np.zeros(queries, dtype=np.int64)
        empty = np.empty(0, dtype=np.int64)
        self.kept: list[tuple[Rows, Rows, Vectors]] = [(empty, empty, np.empty(0, np.float32))]
        self.waiting = 0

    def add(self, scores: Vectors, start: int) -> None:
        """Takes one block of scores ``[q, b]`` whose first column is document ``start``."""
        some = scores[:, : max(_FIRST, 8 * self.depth)]  # enough to leave most others out
        if some.shape[1] > 4 * self.depth and np.isinf(self.threshold).any():
            cut = np.partition(some, some.shape[1] - self.depth, axis=1)
            np.maximum(self.threshold, cut[:, some.shape[1] - self.depth], out=self.threshold)
        found = np.flatnonzero(scores >= self.threshold[:, None])
        query, column = np.divmod(found, scores.shape[1])
        self.kept.append((query, column + start, scores.ravel()[found]))
        self.waiting += len(found)
        if self.waiting > max(self.depth * len(self.threshold), 100_000):
            self._merge()

    def _merge(self) -> None:
        query, row, score = (np.concatenate(parts) for parts in zip(*self.kept, strict=True))
        order = _order(query, score, row if self.places is None else self.places[row])
        query, row, score = query[order], row[order], score[order]
        starts = np.searchsorted(query, np.arange(len(self.threshold)))
        keep = np.arange(len(query)) - starts[query] < self.depth
        query, row, score = query[keep], row[keep], score[keep]
        self.kept, self.waiting = [(query, row, score)], 0
        self.counts = np.bincount(query, minlength=len(self.threshold))
        last = np.cumsum(self.counts) - 1
        full = self.counts == self.depth
        self.threshold[full] = score[last[full]]

    def result(self) -> tuple[Rows, Vectors]:
        self._merge()
        _, row, score = self.kept[0]
        shape = (len(self.threshold), int(self.counts[0]) if len(self.counts) else 0)
        return row.reshape(shape), score.reshape(shape)


def _order(query: Rows, score: Vectors, place: Rows) -> Rows:
    """Returns the order by query, then score from the highest, then place.

    One sort of 64-bit keys is several times faster than a sort by three; ties alone are sorted by place.
    """
    bits = (-score + np.float32(0)).view(np.uint32)  # + 0: minus zero and zero are one score
    rising = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    keys = (query.astype(np.uint64) << np.uint64(32)) | rising
    order: Rows = np.argsort(keys)
    ordered = keys[order]
    equal = ordered[1:] == ordered[:-1]
    tied = np.zeros(len(keys), dtype=bool)
    tied[1:] |= equal
    tied[:-1] |= equal
    at = np.flatnonzero(tied)
    order[at] = order[at][np.lexsort((place[order[at]], ordered[at]))]
    return order


def as_run(
    query_ids: Sequence[str], doc_ids: Sequence[str], rows: Rows, scores: Vectors
) -> dict[str, dict[str, float]]:
    """Returns rows and scores as a run, documents in the order of rank."""
    return {
        query_id: {
            doc_ids[row]: score for row, score in zip(own.tolist(), values.tolist(), strict=True)
        }
        for query_id, own, values in zip(query_ids, rows, scores, strict=True)
    }
