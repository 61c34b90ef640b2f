"""Judgements in columns: what was said of which document under which view, a number each."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
SHOWN, CLICKED = 0, 1
NEGATIVE, POSITIVE, INSTRUCTION_NEGATIVE, IGNORE = 0, 1, 2, 3
NO_POSITION = -1
LAST_POSITION = 2**31 - 1
_TOPICS_AT_ONCE = 20_000
_TYPES: dict[str, type] = {"b": np.int8, "i": np.int32}


def line_numbers(lines: Sequence[int]) -> NDArray[np.int32]:
    """Returns the numbers of lines, ``[n]``; a range need not be counted through."""
    if isinstance(lines, range):
        return np.arange(lines.start, lines.stop, lines.step, dtype=np.int32)
    return np.asarray(lines, dtype=np.int32)


class Judgements:
    """Judgements in the order in which they were read.

    ``kinds`` holds CLICKED or SHOWN in a click log, else one of NEGATIVE, POSITIVE, INSTRUCTION_NEGATIVE, IGNORE.
    """

    def __init__(self) -> None:
        self.views = array("i")
        self.docs = array("i")
        self.kinds = array("b")
        self.lines = array("i")
        self.positions = array("i")
        self.sessions = array("i")

    def __len__(self) -> int:
        return len(self.views)

    def add(
        self,
        view: int,
        doc: int,
        kind: int,
        line: int,
        position: int = NO_POSITION,
        session: int = 0,
    ) -> None:
        """Adds one judgement, with the line where it stands."""
        self.views.append(view)
        self.docs.append(doc)
        self.kinds.append(kind)
        self.lines.append(line)
        self.positions.append(position)
        self.sessions.append(session)

    def add_alike(self, view: int, docs: list[int], kind: int, line: int) -> None:
        """Adds one judgement for each document, all of one kind and line."""
        count = len(docs)
        self.docs.extend(docs)
        self.views.extend(array("i", (view,)) * count)
        self.kinds.extend(array("b", (kind,)) * count)
        self.lines.extend(array("i", (line,)) * count)
        self.positions.extend(array("i", (NO_POSITION,)) * count)
        self.sessions.extend(array("i", (0,)) * count)

    def add_rows(self, **columns: Any) -> None:
        """Adds one judgement for each row, column by column, each under its attribute's name."""
        columns["lines"] = line_numbers(columns["lines"])
        for name, column in columns.items():
            own: array[int] = getattr(self, name)
            own.frombytes(np.asarray(column, dtype=_TYPES[own.typecode]).tobytes())

    @property
    def has_positions(self) -> bool:
        return bool((np.frombuffer(self.positions, dtype=np.int32) != NO_POSITION).any())

    def clicked(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Returns views and documents of all clicks (or positives), beside each other."""
        here = np.frombuffer(self.kinds, dtype=np.int8) == POSITIVE
        views, docs = (np.frombuffer(part, dtype=np.int32) for part in (self.views, self.docs))
        return views[here], docs[here]

    def by_topic(self, topic_of_view: array[int], topics: int) -> Iterator[Part]:
        """Yields the judgements in parts of whole topics, ordered by topic, view and reading."""
        views = np.frombuffer(self.views, dtype=np.int32)
        owner = np.frombuffer(topic_of_view, dtype=np.int32)
        of_topic = owner[views] if len(views) else views
        in_order = bool((of_topic[1:] >= of_topic[:-1]).all())
        order = None if in_order else np.argsort(of_topic, kind="stable")
        bounds = np.searchsorted(
            of_topic if order is None else of_topic[order],
            np.append(np.arange(0, topics, _TOPICS_AT_ONCE), topics),
        )
        columns: list[NDArray[Any]] = [
            np.frombuffer(column, dtype=_TYPES[column.typecode])
            for column in (self.docs, self.kinds, self.lines, self.positions, self.sessions)
        ]
        for number, (low, high) in enumerate(pairwise(bounds)):
            rows = np.arange(low, high) if order is None else order[low:high]
            rows = rows[np.lexsort((views[rows], of_topic[rows]))]
            first = number * _TOPICS_AT_ONCE
            yield Part(
                first,
                min(first + _TOPICS_AT_ONCE, topics),
                of_topic[rows].astype(np.int64),
                views[rows].astype(np.int64),
                *(column[rows].astype(np.int64) for column in columns),
            )


@dataclass(frozen=True, slots=True)
class Part:
    """Judgements of the topics from ``first`` to ``end``, ordered; columns ``[n]``."""

    first: int
    end: int
    topics: Numbers
    views: Numbers
    docs: Numbers
    kinds: Numbers
    lines: Numbers
    positions: Numbers
    sessions: Numbers


@dataclass(frozen=True, slots=True)
class Labels:
    """One label for each document of a view, in the order in which they will stand; columns ``[n]``."""

    topics: Numbers
    views: Numbers
    docs: Numbers
    kinds: Numbers
    lines: Numbers

    def where(self, rows: Mask | Numbers | slice) -> Labels:
        """Returns the labels at a mask, at indices or in a slice."""
        return Labels(
            self.topics[rows], self.views[rows], self.docs[rows], self.kinds[rows], self.lines[rows]
        )

    def of_kind(self, kinds: Numbers) -> Labels:
        """Returns the same labels with other kinds."""
        return Labels(self.topics, self.views, self.docs, kinds, self.lines)


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows that share a key.

    Attributes:
        each: The number of each row's group, ``[n]``.
        first: The first row of each group, ``[groups]``.
    """

    each: Numbers
    first: Numbers

    def any(self, rows: Mask) -> Mask:
        """Whether some row of each group is marked, ``[groups]``."""
        return self.count(rows) > 0

    def count(self, rows: Mask) -> Numbers:
        """Returns how many rows of each group are marked, ``[groups]``."""
        return np.bincount(self.each[rows], minlength=len(self.first))

    def first_of(self, rows: Mask) -> Numbers:
        """Returns the first marked row of each group that has one, ``[groups with one]``, in the order of rows."""
        at = np.flatnonzero(rows)
        _, first = np.unique(self.each[at], return_index=True)
        return np.sort(at[first])


def grouped(*columns: Numbers) -> Groups:
    """Returns the groups of rows that have the same values in all columns."""
    key = columns[0]
    for column in columns[1:]:
        low = int(column.min(initial=0))
        key = key * (int(column.max(initial=0)) - low + 1) + (column - low)
    _, first, each = np.unique(key, return_index=True, return_inverse=True)
    return Groups(each, first)


def grouped_runs(column: Numbers) -> Groups:
    """Returns the groups of neighbouring rows that have the same value."""
    starts = np.ones(len(column), dtype=bool)
    starts[1:] = column[1:] != column[:-1]
    return Groups(np.cumsum(starts) - 1, np.flatnonzero(starts))
