"""Documents by number: each text is kept once, in a temporary file, and memory holds ids and hashes."""

from __future__ import annotations

import mmap
import tempfile
import weakref
from array import array
from collections.abc import Callable
from functools import lru_cache
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.identity import normalised, text_uid
from obverse.read.faults import Findings
from obverse.read.passages import Passage, names_of
from obverse.records import Doc

KEPT = 256 << 20
"""Bytes of documents that are kept once they were made: topics name the same ones again and again."""

_DOC_SIZE = 200

HUGE = 32_000
"""Characters beyond which a document is reported: about 8,000 tokens, more than encoders read."""


class Documents:
    """Documents by number, their texts in a temporary file, each stored once."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self.numbers: dict[Any, int] = {}
        self.marks = array("q")
        self._ids: list[str] = []
        self._same = array("q")
        self._starts = array("q", [0])
        self._title_sizes = array("i")
        self._view: mmap.mmap | None = None
        self._made: dict[int, Doc] = {}
        self._made_size = 0

    def __len__(self) -> int:
        return len(self._ids)

    def number(self, passage: Passage, line: int, field: str) -> int:
        """Returns the document's number; a second text under one id becomes a document of its own."""
        doc_id, title, text = passage
        mark = mark_of(title, text)
        found = self.numbers.get(doc_id)
        if found is None:
            return self._add(passage, mark, line, field)
        if self.marks[found] == mark:
            return found
        return self._second_text(passage, mark, line, field)

    def known(self, items: list[Any]) -> list[int]:
        """Returns the number of each item that is an object with the id and text of a document seen before, else -1.

        What was looked at once, and found in order, need not be looked at again.
        """
        if set(map(type, items)) != {dict} or len(every := set(map(tuple, items))) != 1:
            return [self._known(item) for item in items]
        values, titled = _getter(next(iter(every)))
        if values is None:
            return [-1] * len(items)
        ids, texts, titles = zip(*map(values, items), strict=True)
        if not set(map(type, ids)) == set(map(type, texts)) == set(map(type, titles)) == {str}:
            return [self._known(item) for item in items]
        marks = map(mark_of, titles, texts) if titled and any(titles) else map(hash, texts)
        numbers, stored = map(self.numbers.get, ids, repeat(-1)), self.marks
        return [n if n >= 0 and stored[n] == mark else -1 for n, mark in zip(numbers, marks)]  # noqa: B905

    def are(self, numbers: NDArray[np.int64], marks: list[int]) -> NDArray[np.bool_]:
        """Returns whether each number is that of a document with this mark; -1 is none."""
        if not self.marks:
            return np.zeros(len(marks), dtype=bool)
        stored = np.frombuffer(self.marks, dtype=np.int64)
        found: NDArray[np.bool_] = (numbers >= 0) & (stored[numbers] == np.asarray(marks))
        return found

    def _known(self, item: Any) -> int:
        values, titled = _getter(tuple(item)) if type(item) is dict else (None, False)
        if values is None:
            return -1
        doc_id, text, title = values(item)
        if not type(doc_id) is type(text) is type(title) is str:
            return -1
        number = self.numbers.get(doc_id, -1)
        mark = mark_of(title, text) if titled else hash(text)
        return number if number >= 0 and self.marks[number] == mark else -1

    def _second_text(self, passage: Passage, mark: int, line: int, field: str) -> int:
        doc_id, title, text = passage
        for turn in range(2, 1_000_000):
            other = f"{doc_id}#{turn}"
            found = self.numbers.get(other)
            if found is None:
                self._findings.note(
                    "id_with_two_texts",
                    line,
                    field,
                    f"document {doc_id!r} has another text before; this one is called {other!r}",
                )
                return self._add((other, title, text), mark, line, field)
            if self.marks[found] == mark:
                return found
        raise AssertionError("unreachable")

    def _add(self, passage: Passage, mark: int, line: int, field: str) -> int:
        doc_id, title, text = passage
        number = len(self._ids)
        self.numbers[doc_id] = number
        self._ids.append(doc_id)
        self.marks.append(mark)
        whole = (title + text).encode("utf-8", "surrogatepass")
        self._file.write(whole)
        compared = f"{title} {text}" if title else text
        self._same.append(hash(normalised(compared)))
        self._title_sizes.append(len(title))
        if len(text) > HUGE:
            note_huge(self._findings, doc_id, len(text), line, field)
        self._starts.append(self._starts[-1] + len(whole))
        if self._findings.inspector is not None:
            uid = text_uid(compared)
            self._findings.inspector.document(doc_id, title, text, line, field, uid)
        return number

    def doc(self, number: int) -> Doc:
        """Returns a document; the same object again while it is kept. Once one was read, no more are added."""
        made = self._made.get(number)
        if made is not None:
            return made
        if self._view is None:
            self._file.flush()
            self._view = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        start, end = self._starts[number], self._starts[number + 1]
        text = str(self._view[start:end], "utf-8", "surrogatepass")
        cut = self._title_sizes[number]
        made = (
            Doc(self._ids[number], text[cut:], text[:cut]) if cut else Doc(self._ids[number], text)
        )
        self._made_size += end - start + _DOC_SIZE
        if self._made_size > KEPT:
            self._made.clear()
            self._made_size = end - start
        self._made[number] = made
        return made

    def twins(self) -> NDArray[np.int32]:
        """Returns for each document the number of the first one with the same text, as compared, ``[n]``."""
        _, first, each = np.unique(
            np.frombuffer(self._same, dtype=np.int64), return_index=True, return_inverse=True
        )
        return np.asarray(first[each], dtype=np.int32)

    def doc_id(self, number: int) -> str:
        return self._ids[number]


@lru_cache(maxsize=10_000)
def _getter(
    keys: tuple[str, ...],
) -> tuple[Callable[[dict[str, Any]], tuple[Any, ...]] | None, bool]:
    """Returns what gets id, text and title of an object with these keys, and whether there is a title."""
    doc_id, text, title = names_of(keys)
    if not doc_id or not text:
        return None, False
    return itemgetter(doc_id, text, title or text), bool(title)


def mark_of(title: str, text: str) -> int:
    """Returns what tells documents of one id apart within this process."""
    return hash((title, text)) if title else hash(text)


def full_text(doc: Doc) -> str:
    """Returns title and text as one string, as documents are compared."""
    return f"{doc.title} {doc.text}" if doc.title else doc.text


def note_huge(
    findings: Findings, doc_id: str, size: int, line: int | None, field: str | None
) -> None:
    """Notes a document longer than :data:`HUGE`, with how much is beyond it."""
    findings.note(
        "huge_document",
        line,
        field,
        f"document {doc_id!r} has {size:,} characters (about {size // 4:,} tokens), {size - HUGE:,} beyond {HUGE:,}",
    )
