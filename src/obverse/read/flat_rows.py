"""Flat impressions at speed: blocks of rows that are all in order go column by column, the others the long way.

What the long way decides, the short way must decide alike; a test reads the same log both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np

from obverse.read.documents import mark_of
from obverse.read.gathering import Gathering
from obverse.read.json_rows import Block, Row
from obverse.read.judgements import CLICKED, NO_POSITION, SHOWN
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
    _places: dict[Any, tuple[int, int]] = field(default_factory=dict)

    def take(self, block: Block) -> None:
        """Adds the rows of a block."""
        columns = self._columns(block.rows)
        if columns is None:
            for line, row in block.each(self.gathering.findings):
                self.long_way(line, row)
            return
        queries, ids, texts = columns["query"], columns["doc_id"], columns["text"]
        keys = (
            zip(queries, columns["instruction"], strict=True)
            if "instruction" in columns
            else queries
        )
        titles = columns.get("title")
        marks = list(map(mark_of, titles, texts)) if titles else list(map(hash, texts))
        documents = self.gathering.documents
        known, stored, places = documents.numbers.get, documents.marks, self._places.get
        topics: list[int] = []
        views: list[int] = []
        docs: list[int] = []
        start = 0
        for at, (key, doc_id, mark) in enumerate(zip(keys, ids, marks, strict=True)):
            place, doc = places(key), known(doc_id, -1)
            if place is None or doc < 0 or stored[doc] != mark:
                passage = (doc_id, titles[at] if titles else "", texts[at])
                if not _is_fine(queries[at], passage):
                    self._add(block.lines[start:at], columns, slice(start, at), topics, views, docs)
                    topics, views, docs, start = [], [], [], at + 1
                    self.gathering.findings.raw = block.raws[at] if block.raws else b""
                    self.long_way(block.lines[at], block.rows[at])
                    continue
                place = place or self._place(key, block.lines[at])
                doc = documents.number(passage, block.lines[at], "text")
            topics.append(place[0])
            views.append(place[1])
            docs.append(doc)
        self._add(block.lines[start:], columns, slice(start, None), topics, views, docs)

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
        if min(columns.get("position", (0,))) < 0:
            return None
        self.gathering.positive_field = named["clicked"]
        return columns

    def _place(self, key: Any, line: int) -> tuple[int, int]:
        query, instruction = key if type(key) is tuple else (key, "")
        topic = self.gathering.topic_of_query(query, line, rows=0)  # counted with its block
        view = self.gathering.view(topic, (instruction or "").strip() and instruction)
        self._places[key] = topic, view
        return topic, view

    def _add(
        self,
        lines: Sequence[int],
        columns: dict[str, tuple[Any, ...]],
        rows: slice,
        topics: list[int],
        views: list[int],
        docs: list[int],
    ) -> None:
        gathering, count = self.gathering, len(docs)
        if not count:
            return
        gathering.findings.rows += count
        gathering.more_rows(topics)
        kinds = [CLICKED if value > 0 else SHOWN for value in columns["clicked"][rows]]
        positions = columns["position"][rows] if "position" in columns else [NO_POSITION] * count
        sessions = [0] * count
        if "session" in columns:
            numbers = self.sessions
            sessions = [0 if name is None else numbers[name] for name in columns["session"][rows]]
        gathering.judgements.add_rows(views, docs, kinds, lines, positions, sessions)
        if "time" in columns:
            times = np.asarray(columns["time"][rows], dtype=np.float64)  # NaN for None
            times = np.where(abs(times) > 1e11, times / 1000, times)
            there = ~np.isnan(times)
            gathering.all_seen(np.asarray(topics)[there], times[there])


def _is_fine(query: str, passage: tuple[str, str, str]) -> bool:
    doc_id, _, text = passage
    if not (query and doc_id and text) or query[0] == _MARK or text[0] == _MARK:
        return False
    return not (is_blank(query) or is_blank(text))
