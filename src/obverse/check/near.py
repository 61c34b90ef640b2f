"""Pairs of texts that may be nearly the same, found without comparing their words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

NEAR = 0.9
"""Share of common words from which two texts are nearly the same."""

_APART = (1 - NEAR) / (1 + NEAR) + 1e-9
"""Texts that share that much differ in at most this part of all their words, counted in both."""

_TEXTS_AT_ONCE, _PAIRS_AT_ONCE = 2_000, 100_000
_BITS = np.unpackbits(np.arange(1 << 16, dtype=np.uint16)[:, None].view(np.uint8), axis=1).sum(
    axis=1, dtype=np.uint8
)
"""How many bits of two bytes are set."""

_IS_SPACE = np.asarray([chr(byte).isspace() and byte < 128 for byte in range(256)])
_MIX = np.uint64(0x9E3779B97F4A7C15)
_OF_BYTE = np.arange(1, 257, dtype=np.uint64) ** 7 * _MIX * (1 - _IS_SPACE).astype(np.uint64)
"""A number for each byte; white space counts nothing."""

Numbers = NDArray[np.int64]


class Outlines:
    """Outlines of texts by number, made when they are first asked for.

    An outline is a set of 256 bits for the words of a text, and how many words there are: texts that differ in n
    words differ in at most n bits.
    """

    def __init__(self) -> None:
        self._bits = np.zeros((0, 4), dtype=np.uint64)
        self._sizes = np.zeros(0, dtype=np.int32)

    def alike(
        self, some: Numbers, others: Numbers, text_of: Callable[[int], str]
    ) -> NDArray[np.int64]:
        """Returns at which places two texts, given by number, may share :data:`NEAR` of their words."""
        self._make(np.unique(np.concatenate([some, others])), text_of)
        found: list[Numbers] = []
        for start in range(0, len(some), _PAIRS_AT_ONCE):
            rows = slice(start, start + _PAIRS_AT_ONCE)
            a, b = some[rows], others[rows]
            unlike = (self._bits[a] ^ self._bits[b]).view(np.uint16)
            apart = _BITS[unlike].sum(axis=1, dtype=np.int32)
            near = apart <= _APART * (self._sizes[a] + self._sizes[b])
            found.append(np.flatnonzero(near) + start)
        return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)

    def _make(self, numbers: Numbers, text_of: Callable[[int], str]) -> None:
        room = int(numbers.max(initial=-1)) + 1 - len(self._sizes)
        if room > 0:
            room = max(room, len(self._sizes) // 4)
            self._bits = np.concatenate([self._bits, np.zeros((room, 4), dtype=np.uint64)])
            self._sizes = np.concatenate([self._sizes, np.full(room, -1, dtype=np.int32)])
        missing = numbers[self._sizes[numbers] < 0].tolist()
        for start in range(0, len(missing), _TEXTS_AT_ONCE):
            part = missing[start : start + _TEXTS_AT_ONCE]
            self._bits[part], self._sizes[part] = outlines(list(map(text_of, part)))


def outlines(texts: Sequence[str]) -> tuple[NDArray[np.uint64], NDArray[Any]]:
    """Returns the bits ``[n, 4]`` and the number of words ``[n]`` of texts.

    A word's bit follows from the sum of numbers that its bytes stand for, so words need not be taken apart.
    """
    lowered = [_lower(text) for text in texts]
    text_ends = np.cumsum([len(text) + 1 for text in lowered])
    each = np.frombuffer(b"\n".join([*lowered, b""]), dtype=np.uint8)
    ends = np.flatnonzero(_IS_SPACE[each])
    sums = np.cumsum(_OF_BYTE[each], dtype=np.uint64)[ends]
    words = np.diff(ends, prepend=-1) > 1
    each_sum = np.diff(sums, prepend=np.uint64(0))[words]
    owner = np.searchsorted(text_ends, ends[words], side="right")
    sizes = np.bincount(owner, minlength=len(texts)).astype(np.int32)
    bits = np.zeros((len(texts), 4), dtype=np.uint64)
    full = np.flatnonzero(sizes)
    if len(full):
        starts = np.cumsum(sizes[full]) - sizes[full]
        mixed = (each_sum * _MIX) >> np.uint64(56)
        bit = np.left_shift(np.uint64(1), mixed & np.uint64(63))
        quarters = mixed >> np.uint64(6)
        for quarter in range(4):
            here = np.where(quarters == quarter, bit, np.uint64(0))
            bits[full, quarter] = np.bitwise_or.reduceat(here, starts)
    return bits, sizes


def _lower(text: str) -> bytes:
    """Returns the words of a text, in lower case, with white space of ASCII alone between them."""
    if text.isascii():
        return text.lower().encode()
    return " ".join(text.lower().split()).encode("utf-8", "surrogatepass")
