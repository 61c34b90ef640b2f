"""Flat impressions at speed: blocks of rows that are all in order go column by column, the others the long way.

What the long way decides, the short way must decide alike; a test reads the same log both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.read.documents import Passages, marks_of
from obverse.read.faults import Looks
from obverse.read.gathering import Gathering
from obverse.read.helper import Ready
from obverse.read.json_rows import Block, Row
from obverse.read.judgements import CLICKED, LAST_POSITION, NO_POSITION, SHOWN, Numbers
from obverse.read.numbered import DocNumbers, is_odd, odd_among

_TYPES: dict[str, set[type]] = {
    "query": {str},
    "doc_id": {str},
    "text": {str},
    "title": {str},
    "clicked": {bool, int},
    "position": {int},
    "session": {str, int, type(None)},
    "time": {int, type(None)},
    "instruction": {str, type(None)},
}
_NEEDED = ("query", "doc_id", "text", "clicked")

Names = dict[str, tuple[str, ...]]
"""The names that each column may have, by role, in the order in which they count."""

Columns = dict[str, Sequence[Any]]


class Numbering(dict[Any, int]):
    """Gives each new key the next number, from 1."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self) + 1
        return number

    def of(self, keys: Sequence[Any]) -> Numbers:
        """Returns the number of each key, ``[n]``."""
        return np.fromiter(map(self.__getitem__, keys), np.int64, len(keys))


@dataclass(slots=True)
class FlatPart:
    """Neighbouring rows as columns ``[n]``; what stands often is numbered from 1.

    Attributes:
        lines: The line of each row.
        asked: The different pairs of query and instruction.
        ask_of: Which of them each row has.
        sessions: The different sessions; empty where the rows have none.
        session_of: Which of them each row has.
        times: Seconds since 1970, NaN where there is none; empty where the rows have none.
        clicked_name: The column that says what was clicked.
    """

    lines: Sequence[int]
    asked: list[tuple[str, str]]
    ask_of: Numbers
    docs: Numbers
    kinds: NDArray[np.int8]
    positions: NDArray[np.int32]
    sessions: list[Any]
    session_of: Numbers
    times: NDArray[np.float64]
    clicked_name: str


def flat_part(
    columns: Columns,
    lines: Sequence[int],
    marks: Sequence[int],
    found: Numbers,
    documents: DocNumbers,
    clicked: str,
) -> FlatPart:
    """Returns rows that are all in order as a part, their documents numbered."""
    count = len(lines)
    instructions = columns.get("instruction")
    asked, sessions = Numbering(), Numbering()
    asks = columns["query"]
    ask_of = asked.of(list(zip(asks, instructions, strict=True)) if instructions else asks)
    names = columns.get("session")
    times = np.asarray(columns.get("time", ()), dtype=np.float64)  # NaN for None
    passages = Passages(
        columns["doc_id"], columns.get("title", ()), columns["text"], marks, lines, ["text"] * count
    )
    return FlatPart(
        lines,
        [(query, (instruction or "").strip() and instruction) for query, instruction in asked]
        if instructions
        else [(query, "") for query in asked],
        ask_of,
        documents.numbers_of(passages, found),
        np.where(np.asarray(columns["clicked"]) > 0, CLICKED, SHOWN).astype(np.int8),
        np.asarray(columns.get("position", [NO_POSITION] * count), dtype=np.int32),
        list(sessions) if names is None else _all(sessions, names),
        np.zeros(count, dtype=np.int64) if names is None else sessions.of(names),
        in_seconds(times),
        clicked,
    )


def in_seconds(times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns times in seconds, where some are in milliseconds or microseconds, ``[n]``."""
    while (fine := abs(times) > 1e11).any():
        times = np.where(fine, times / 1000, times)
    return times


def session_name(session: Any) -> str:
    """Returns a session's id as the string it is: 7, 7.0 and "7" are one."""
    whole = isinstance(session, float) and session.is_integer()
    return str(int(session) if whole else session)


def _all(numbering: Numbering, keys: Sequence[Any]) -> list[Any]:
    numbering.of(keys)
    return list(numbering)


def roles(keys: tuple[str, ...], names: Names) -> dict[str, str] | None:
    """Returns the column of each role, or None where rows with these keys are not plainly flat."""
    named = {
        role: name
        for role, options in names.items()
        if (name := next((name for name in options if name in keys), None)) is not None
    }
    if "instruction" in keys:
        named["instruction"] = "instruction"
    if (
        not all(role in named for role in _NEEDED)
        or named.keys() & {"lists", "topic_id"}
        or named["query"] == named["text"]
    ):
        return None
    return named


def flat_columns(rows: list[Row], names: Names) -> tuple[Columns, str] | None:
    """Returns the columns by role and the name of the clicks, or None where some value needs a look."""
    keys = tuple(rows[0])
    named = roles(keys, names)
    if named is None or set(map(tuple, rows)) != {keys}:
        return None
    values = map(itemgetter(*named.values()), rows)
    columns: Columns = dict(zip(named, zip(*values, strict=True), strict=True))
    if not all(set(map(type, column)) <= _TYPES[role] for role, column in columns.items()):
        return None
    positions = columns.get("position", (0,))
    if min(positions) < 0 or max(positions) > LAST_POSITION:
        return None
    times = filter(None, columns.get("time", ()))
    if max(map(abs, times), default=0) > 1e17:
        return None
    return columns, named["clicked"]


def odd_rows(columns: Columns, found: Numbers) -> list[int]:
    """Returns the rows that need the long way: a query or a document is empty, blank or begins with a mark.

    Args:
        found: The number of each row's document, -1 where it was not met before.
    """
    queries, ids, texts = columns["query"], columns["doc_id"], columns["text"]
    bad = {query for query in set(queries) if is_odd(query)}
    odd: set[int] = {at for at, query in enumerate(queries) if query in bad} if bad else set()
    if "" in ids:
        odd.update(at for at, doc_id in enumerate(ids) if not doc_id)
    odd.update(odd_among(texts, np.flatnonzero(found < 0).tolist()))
    return sorted(odd)


@dataclass(slots=True)
class FlatWork:
    """What processes that work ahead do with flat rows."""

    names: Names
    path: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    looks: Looks | None = None

    def part(self, rows: list[Row], lines: Sequence[int], documents: DocNumbers) -> FlatPart | None:
        """Returns the rows as a part, or None where one needs a closer look."""
        found = flat_columns(rows, self.names)
        if found is None:
            return None
        columns, clicked = found
        marks = marks_of(columns.get("title"), columns["text"])
        known = documents.found(columns["doc_id"], marks)
        if odd_rows(columns, known):
            return None
        return flat_part(columns, lines, marks, known, documents, clicked)

    def shorter(self, rows: list[Row]) -> Any:
        """Returns the way over Arrow's columns, if Arrow is there and the rows are plain enough."""
        from obverse.read.arrow_rows import ArrowColumns

        return ArrowColumns.of(rows, self.names)


@dataclass(slots=True)
class FlatRows:
    """Adds flat rows to a gathering, column by column where nothing about them needs a closer look.

    Attributes:
        names: The names that each column may have.
        sessions: The numbers of sessions, shared with the long way.
        long_way: Adds a row that needs a closer look.
    """

    gathering: Gathering
    names: Names
    sessions: Numbering
    long_way: Callable[[int, Row], None]
    _views: dict[tuple[str, str], int] = field(default_factory=dict)

    def take(self, block: Block | Ready) -> None:
        """Adds the rows of a block, or of what was made of it ahead."""
        if isinstance(block, Ready):
            assert isinstance(block.found, FlatPart)
            self.add(block.found)
            return
        found, findings = flat_columns(block.rows, self.names), self.gathering.findings
        if found is None:
            for line, row in block.each(findings):
                self.long_way(line, row)
            return
        columns, clicked = found
        documents = self.gathering.documents
        marks = marks_of(columns.get("title"), columns["text"])
        known = documents.found(columns["doc_id"], marks)
        start = 0
        for at in [*odd_rows(columns, known), len(marks)]:
            if start < at:
                rows = slice(start, at)
                part = {role: column[rows] for role, column in columns.items()}
                lines = block.lines[rows]
                self.add(flat_part(part, lines, marks[rows], known[rows], documents, clicked))
            if at < len(marks):
                findings.raw = block.raws[at] if block.raws else b""
                self.long_way(block.lines[at], block.rows[at])
            start = at + 1

    def add(self, part: FlatPart) -> None:
        """Adds rows in columns."""
        gathering = self.gathering
        gathering.positive_field = gathering.negative_field = part.clicked_name
        first = np.unique(part.ask_of, return_index=True)[1].tolist()
        numbers = [
            self._view(ask, part.lines[at]) for ask, at in zip(part.asked, first, strict=True)
        ]
        views = np.asarray(numbers, dtype=np.int64)[part.ask_of - 1]
        topics = gathering.topics_of(views)
        gathering.findings.rows += len(views)
        gathering.more_rows(topics)
        names = part.sessions
        if not set(map(type, names)) <= {str, type(None)}:
            names = [None if name is None else session_name(name) for name in names]
        sessions = np.asarray([0, *(0 if name is None else self.sessions[name] for name in names)])
        gathering.judgements.add_rows(
            views=views,
            docs=part.docs,
            kinds=part.kinds,
            lines=part.lines,
            positions=part.positions,
            sessions=sessions[part.session_of],
        )
        if len(part.times):
            there = ~np.isnan(part.times)
            gathering.all_seen(topics[there], part.times[there])

    def _view(self, ask: tuple[str, str], line: int) -> int:
        view = self._views.get(ask)
        if view is None:
            query, instruction = ask
            topic = self.gathering.topic_of_query(query, line, rows=0)  # counted with its block
            view = self._views[ask] = self.gathering.view(topic, instruction)
        return view
