"""How often each word stands in each document, on disk: many candidates are scored at once, without their texts."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

_MARKS, _COUNTS, _STARTS, _LENGTHS = (
    f"obverse-{name}" for name in ("marks", "counts", "starts", "lengths")
)
_MOST = np.iinfo(np.uint16).max
_AT_ONCE = 1 << 20


class WordCountsWriter:
    """Writes the words of documents, in their order, to a folder.

    Args:
        folder: Where :class:`WordCounts` finds them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._starts, self._lengths = array("q", [0]), array("i")
        self._marks, self._counts = array("Q"), array("H")
        self._files: list[tuple[array[int], BinaryIO]] = [
            (self._marks, (folder / _MARKS).open("wb")),
            (self._counts, (folder / _COUNTS).open("wb")),
        ]

    def __enter__(self) -> WordCountsWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        self._flush()
        for _values, stream in self._files:
            stream.close()
        if kind is None:
            np.save(self._folder / _STARTS, np.frombuffer(self._starts, dtype=np.int64))
            np.save(self._folder / _LENGTHS, np.frombuffer(self._lengths or b"", dtype=np.int32))

    def add(self, words: Sequence[str]) -> None:
        """Adds the words of the next document."""
        found = Counter(words)
        self._marks.extend(map(_mark, found))
        counts: Iterable[int] = found.values()
        if len(words) > _MOST:
            counts = (min(count, _MOST) for count in counts)
        self._counts.extend(counts)
        self._starts.append(self._starts[-1] + len(found))
        self._lengths.append(len(words))
        if len(self._marks) > _AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        for values, stream in self._files:
            values.tofile(stream)
            del values[:]


class WordCounts:
    """The words of documents, from a folder; they stay on disk. A word is known by 64 bits of its hash.

    Args:
        folder: What :class:`WordCountsWriter` filled.

    Attributes:
        lengths: Words of each document, ``[n]``.
    """

    def __init__(self, folder: Path) -> None:
        self._starts = np.load(folder / f"{_STARTS}.npy")
        self.lengths: NDArray[np.int32] = np.load(folder / f"{_LENGTHS}.npy")
        size = int(self._starts[-1])
        self._marks = _mapped(folder / _MARKS, np.uint64, size)
        self._counts = _mapped(folder / _COUNTS, np.uint16, size)

    def of(self, words: Sequence[str], docs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns how often each of the different words stands in each of the documents, ``[docs, words]``.

        Counts beyond 65,535 are given as that.
        """
        asked = np.fromiter(map(_mark, words), np.uint64, len(words))
        order = np.argsort(asked)
        starts = self._starts[docs]
        sizes = self._starts[docs + 1] - starts
        before = np.cumsum(sizes) - sizes
        places = np.arange(sizes.sum()) + np.repeat(starts - before, sizes)
        marks = self._marks[places]
        word = order[np.minimum(np.searchsorted(asked, marks, sorter=order), len(words) - 1)]
        hits = np.flatnonzero(asked[word] == marks)
        found = np.zeros((len(docs), len(words)))
        doc = np.repeat(np.arange(len(docs)), sizes)
        found[doc[hits], word[hits]] = self._counts[places[hits]]
        return found


def _mapped(path: Path, kind: type[np.generic], size: int) -> NDArray[np.generic]:
    """Returns the array of a file; an empty one cannot be mapped."""
    if path.stat().st_size != size * np.dtype(kind).itemsize:
        raise ValueError(f"{path} is cut")
    return np.memmap(path, dtype=kind, mode="r") if size else np.empty(0, dtype=kind)


@lru_cache(maxsize=500_000)
def _mark(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
