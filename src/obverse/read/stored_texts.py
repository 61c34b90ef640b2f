"""Texts by number in a temporary file: memory holds where each begins."""

from __future__ import annotations

import mmap
import tempfile
import weakref
from array import array
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray


class StoredTexts:
    """Texts in the order in which they were added; once one was read, no more are added.

    Attributes:
        is_unicode: Whether every text can be written as UTF-8; lone surrogates cannot.
    """

    def __init__(self) -> None:
        self.is_unicode = True
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._starts = array("q", [0])
        self._view: mmap.mmap | bytes | None = None

    def extend(self, texts: list[str]) -> None:
        """Adds texts."""
        whole = "".join(texts)
        sizes: Iterable[int]
        if whole.isascii():
            sizes, data = map(len, texts), whole.encode()
        else:
            parts = list(map(self._bytes, texts))
            sizes, data = map(len, parts), b"".join(parts)
        self._file.write(data)
        before = self._starts.pop()
        self._starts.extend(accumulate(sizes, initial=before))

    def _bytes(self, text: str) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError:
            self.is_unicode = False
            return text.encode("utf-8", "surrogatepass")

    def size(self, number: int) -> int:
        """Returns the bytes of a text."""
        return self._starts[number + 1] - self._starts[number]

    def sizes(self) -> NDArray[np.int64]:
        """Returns the bytes of every text, ``[n]``."""
        starts = np.frombuffer(self._starts, dtype=np.int64)
        return np.asarray(starts[1:] - starts[:-1])

    def __getitem__(self, number: int) -> str:
        start, end = self._starts[number], self._starts[number + 1]
        found = self._bytes_of_all()[start:end] if start < end else b""
        return str(found, "utf-8", "surrogatepass")

    def arrow(self, pa: Any, numbers: NDArray[Any]) -> Any:
        """Returns the texts of these numbers as Arrow strings, without a step over Python's."""
        whole = pa.Array.from_buffers(
            pa.large_string(),
            len(self._starts) - 1,
            [None, pa.py_buffer(self._starts), pa.py_buffer(self._bytes_of_all())],
        )
        return whole.take(pa.array(numbers)).cast(pa.string())

    def _bytes_of_all(self) -> mmap.mmap | bytes:
        if self._view is None:
            self._file.flush()
            empty = not self._starts[-1]
            self._view = (
                b"" if empty else mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
            )
        return self._view
