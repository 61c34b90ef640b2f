"""Flat impressions at speed: blocks of rows that are all in order go column by column, the others the long way.

What the long way decides, the short way must decide alike; a test reads the same log both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np

from obverse.read.documents import mark_of
from obverse.read.gathering import Gathering
from obverse.read.json_rows import Block, Row
from obverse.read.judgements import CLICKED, LAST_POSITION, NO_POSITION, SHOWN, Numbers
from obverse.read.passages import is_blank

_MARK = "\ufeff"
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


class Numbering(dict[Any, int]):
    """Gives each new key the next number, from 1."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self) + 1
        return number


@dataclass(slots=True)
class FlatRows:
    """Adds flat rows to a gathering where nothing about them needs a closer look.

    Attributes:
        names: The names that each column may have, by role, in the order in which they count.
        sessions: The numbers of sessions, shared with the long way.
        long_way: Adds a row that needs a closer look.
    """

    gathering: Gathering
    names: dict[str, tuple[str, ...]]
    sessions: Numbering
    long_way: Callable[[int, Row], None]
    _views: dict[Any, int] = field(default_factory=dict)

    def take(self, block: Block) -> None:
        """Adds the rows of a block."""
        columns = self._columns(block.rows)
        if columns is None:
            for line, row in block.each(self.gathering.findings):
                self.long_way(line, row)
            return
        queries, ids, texts = columns["query"], columns["doc_id"], columns["text"]
        keys = (
            list(zip(queries, columns["instruction"], strict=True))
            if "instruction" in columns
            else queries
        )
        titles = columns.get("title")
        documents = self.gathering.documents
        marks = list(map(mark_of, titles, texts) if titles else map(hash, texts))
        views = np.asarray(list(map(self._views.get, keys, repeat(-1))), dtype=np.int64)
        docs = np.asarray(list(map(documents.numbers.get, ids, repeat(-1))), dtype=np.int64)
        start = 0
        for at in np.flatnonzero((views < 0) | ~documents.are(docs, marks)).tolist():
            line = block.lines[at]
            passage = (ids[at], titles[at] if titles else "", texts[at])
            if _is_fine(queries[at], passage):
                view = self._views.get(keys[at], -1)
                views[at] = view if view >= 0 else self._view(keys[at], line)
                docs[at] = documents.number(passage, line, "text")
            else:
                self._add(block.lines, columns, slice(start, at), views, docs)
                self.gathering.findings.raw = block.raws[at] if block.raws else b""
                self.long_way(line, block.rows[at])
                start = at + 1
        self._add(block.lines, columns, slice(start, len(docs)), views, docs)

    def _columns(self, rows: list[Row]) -> dict[str, tuple[Any, ...]] | None:
        """Returns the columns by role, or None where the rows are not plainly flat or some value needs a look."""
        keys = tuple(rows[0])
        named = {
            role: name
            for role, names in self.names.items()
            if (name := next((name for name in names if name in keys), None)) is not None
        }
        if "instruction" in keys:
            named["instruction"] = "instruction"
        if (
            not all(role in named for role in _NEEDED)
            or named.keys() & {"lists", "topic_id"}
            or named["query"] == named["text"]
            or set(map(tuple, rows)) != {keys}
        ):
            return None
        values = map(itemgetter(*named.values()), rows)
        columns = dict(zip(named, zip(*values, strict=True), strict=True))
        if not all(set(map(type, column)) <= _TYPES[role] for role, column in columns.items()):
            return None
        positions, times = columns.get("position", (0,)), columns.get("time", ())
        if min(positions) < 0 or max(positions) > LAST_POSITION:
            return None
        if max((abs(time) for time in times if time is not None), default=0) > 1e17:
            return None
        self.gathering.positive_field = named["clicked"]
        return columns

    def _view(self, key: Any, line: int) -> int:
        query, instruction = key if type(key) is tuple else (key, "")
        topic = self.gathering.topic_of_query(query, line, rows=0)  # counted with its block
        view = self.gathering.view(topic, (instruction or "").strip() and instruction)
        self._views[key] = view
        return view

    def _add(
        self,
        lines: Sequence[int],
        columns: dict[str, tuple[Any, ...]],
        rows: slice,
        views: Numbers,
        docs: Numbers,
    ) -> None:
        """Adds rows whose view and document are known."""
        gathering, count = self.gathering, rows.stop - rows.start
        if not count:
            return
        topics = gathering.topics_of(views[rows])
        gathering.findings.rows += count
        gathering.more_rows(topics)
        sessions: list[int] | Numbers = np.zeros(count, dtype=np.int64)
        if "session" in columns:
            numbers = self.sessions
            sessions = [0 if name is None else numbers[name] for name in columns["session"][rows]]
        none = np.full(count, NO_POSITION)
        gathering.judgements.add_rows(
            views=views[rows],
            docs=docs[rows],
            kinds=np.where(np.asarray(columns["clicked"][rows]) > 0, CLICKED, SHOWN),
            lines=lines[rows],
            positions=columns["position"][rows] if "position" in columns else none,
            sessions=sessions,
        )
        if "time" in columns:
            times = np.asarray(columns["time"][rows], dtype=np.float64)  # NaN for None
            times = np.where(abs(times) > 1e11, times / 1000, times)
            there = ~np.isnan(times)
            gathering.all_seen(topics[there], times[there])


def _is_fine(query: str, passage: tuple[str, str, str]) -> bool:
    doc_id, _, text = passage
    if not (query and doc_id and text) or query[0] == _MARK or text[0] == _MARK:
        return False
    return not (is_blank(query) or is_blank(text))
