"""What a process that works ahead does: it makes stretches of a file ready in which nothing needs a closer look."""

from __future__ import annotations

import contextlib
import pickle
import struct
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from obverse.files import BOM
from obverse.read.documents import Passages, found_among
from obverse.read.faults import Looks
from obverse.read.json_rows import Row, plain_rows
from obverse.read.judgements import Numbers
from obverse.read.numbered import DocNumbers
from obverse.read.rows import with_names

_KNOWN = 1_000_000


class Part(Protocol):
    """Rows whose documents have numbers."""

    lines: Sequence[int]
    docs: Numbers


class Shorter(Protocol):
    """A shorter way from lines to a part, where lines are like those before.

    It is given the lines as they stand in the file, and where each ends, ``[n]``.
    """

    def part(self, data: bytes, ends: Numbers, documents: DocNumbers) -> Part | None: ...


class Work(Protocol):
    """What is to be done with rows: they become a part, if nothing about them needs a closer look.

    Attributes:
        path: The file.
        columns: Its columns under obverse's names.
        looks: What the inspector wants to know.
    """

    path: str
    columns: dict[str, str]
    looks: Looks | None

    def part(self, rows: list[Row], lines: Sequence[int], documents: DocNumbers) -> Part | None: ...

    def shorter(self, rows: list[Row]) -> Shorter | None:
        """Returns a shorter way for rows like these, if there is one."""


@dataclass(slots=True)
class Ready:
    """What became of a stretch.

    Attributes:
        count: Its lines.
        found: Its rows, with the helper's own numbers of documents, from line 1 on; None if they need a closer look.
        fresh: The documents that have got numbers since the answer before, in their order.
        shape: How the rows are shaped.
        marks: What tells the lines apart.
    """

    count: int
    found: Part | None
    fresh: Passages
    shape: Any = None
    marks: bytes = b""


@dataclass(slots=True)
class Seen:
    """Documents that a helper has met, by number; the texts go out with the next answer."""

    _numbers: dict[str, int] = field(default_factory=dict)
    _marks: array[int] = field(default_factory=lambda: array("q"))
    _others: dict[tuple[str, int], int] = field(default_factory=dict)
    _fresh: Passages = field(default_factory=lambda: _empty())

    def found(self, ids: Sequence[str], marks: Sequence[int]) -> Numbers:
        """Returns the number of each document that was met before, else -1, ``[n]``."""
        return found_among(self._numbers, self._marks, ids, marks)

    def numbers_of(self, passages: Passages, found: Numbers) -> Numbers:
        """Returns the number of each document, ``[n]``."""
        fresh: list[int] = []
        for at in np.flatnonzero(found < 0).tolist():
            doc_id, mark = passages.ids[at], passages.marks[at]
            number = self._numbers.get(doc_id)
            if number is not None and self._marks[number] != mark:
                number = self._others.get((doc_id, mark))  # a second text under one id
                if number is None:
                    self._others[doc_id, mark] = len(self._marks)
            elif number is None:
                self._numbers[doc_id] = len(self._marks)
            if number is None:
                number = len(self._marks)
                self._marks.append(mark)
                fresh.append(at)
            found[at] = number
        self._fresh = passages.these(fresh)
        return found

    def fresh(self) -> Passages:
        """Returns the documents that got numbers since the last call."""
        made, self._fresh = self._fresh, _empty()
        if len(self._numbers) > _KNOWN:
            self._numbers.clear()  # they are sent again when they come again
            self._others.clear()
        return made


def _empty() -> Passages:
    return Passages([], [], [], [], [], [])


class Readying:
    """Makes stretches of whole lines ready, one after the other."""

    def __init__(self, work: Work) -> None:
        self._work, self._seen = work, Seen()
        self._shorter: Shorter | None = None
        self._shape: Any = None

    def ready(self, data: bytes) -> Ready:
        """Returns what becomes of a stretch."""
        ends = line_ends(data)
        made = Ready(len(ends), None, _empty())
        if not ends[0] or (np.diff(ends) == 1).any() or b"\r" in data or _has_mark(data):
            return made
        raws: list[bytes] = []
        if self._shorter is not None:
            made.found = self._shorter.part(data, ends, self._seen)
        if made.found is None or self._work.looks is not None:
            raws = data.removesuffix(b"\n").split(b"\n")
        if made.found is None:
            made.found = self._parsed(raws, range(1, made.count + 1))
        made.fresh = self._seen.fresh()
        if self._work.looks is not None and made.found is not None:
            made.shape = self._shape
            made.marks = self._work.looks.raws(raws)
        return made

    def _parsed(self, raws: list[bytes], lines: Sequence[int]) -> Part | None:
        self._shorter = None
        rows = plain_rows(raws)
        if rows is None:
            return None
        rows = with_names(rows, self._work.columns) if self._work.columns else rows
        found = self._work.part(rows, lines, self._seen)
        if self._work.looks is not None:
            self._shape = self._work.looks.rows(rows)
        if found is not None and not self._work.columns:
            self._shorter = self._work.shorter(rows)
        return found


def line_ends(data: bytes) -> Numbers:
    """Returns where each line ends, ``[n]``: many times quicker than to count line by line."""
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
    return ends if data.endswith(b"\n") else np.append(ends, len(data))


def _has_mark(data: bytes) -> bool:
    return not data.isascii() and BOM in data


def serve() -> None:
    """Answers on standard output what is asked on standard input, until that ends."""
    sys.modules.setdefault("pandas", None)  # type: ignore[arg-type]  # Arrow would import it, for a third of a second
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError, EOFError):
        work: Work = pickle.load(asked)
        readying = Readying(work)
        with open(work.path, "rb") as stream:
            while len(bounds := asked.read(16)) == 16:
                start, end = struct.unpack("<qq", bounds)
                stream.seek(start)
                answer = pickle.dumps(readying.ready(stream.read(end - start)), protocol=5)
                answers.write(struct.pack("<q", len(answer)))
                answers.write(answer)
                answers.flush()
