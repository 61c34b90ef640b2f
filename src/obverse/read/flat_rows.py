"""Flat impressions at speed: rows that are all in order take a short way, the others the long one.

What the long way decides, the short way must decide alike; a test reads the same log both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from obverse.read.gathering import CLICKED, NO_POSITION, SHOWN, Gathering
from obverse.read.passages import is_blank

Names = tuple[str, ...]
_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a row has what; None where it has no such column.

    Attributes:
        values: Gets query, id, text and clicked at once.
    """

    values: Callable[[dict[str, Any]], tuple[Any, ...]]
    title: str | None
    position: str | None
    session: str | None
    time: str | None
    others: tuple[str, ...]


@dataclass(slots=True)
class FlatRows:
    """Adds flat rows to a gathering where nothing about them needs a closer look.

    Attributes:
        names: The names that each column may have, by role, in the order in which they count.
        sessions: The numbers of sessions, shared with the long way.
    """

    gathering: Gathering
    names: dict[str, Names]
    sessions: dict[Any, int]
    _plans: dict[tuple[str, ...], Columns | None] = field(default_factory=dict)
    _topics: dict[str, int] = field(default_factory=dict)
    _views: dict[int, int] = field(default_factory=dict)

    def add(self, line: int, row: dict[str, Any]) -> bool:
        """Adds the row and returns True, or returns False and leaves it to the long way."""
        keys = tuple(row)
        try:
            plan = self._plans[keys]
        except KeyError:
            plan = self._plans[keys] = self._plan(keys)
        if plan is None:
            return False
        query, doc_id, text, clicked = plan.values(row)
        if not (type(query) is type(doc_id) is type(text) is str and query and doc_id and text):
            return False
        if query[0] == _MARK or text[0] == _MARK or is_blank(query) or is_blank(text):
            return False
        title = row[plan.title] if plan.title else ""
        position = row[plan.position] if plan.position else NO_POSITION
        time = row[plan.time] if plan.time else None
        if (
            type(title) is not str
            or type(clicked) not in (bool, int)
            or type(position) is not int
            or position < (0 if plan.position else NO_POSITION)
            or type(time) not in (int, type(None))
            or any(row[other] is not None for other in plan.others)
        ):
            return False
        self._judge(line, query, (doc_id, title, text), clicked > 0, position, time, plan, row)
        return True

    def _judge(
        self,
        line: int,
        query: str,
        passage: tuple[str, str, str],
        clicked: bool,
        position: int,
        time: int | None,
        plan: Columns,
        row: dict[str, Any],
    ) -> None:
        gathering = self.gathering
        gathering.findings.rows += 1
        topic = self._topics.get(query)
        if topic is None:
            topic = self._topics[query] = gathering.topic_of_query(query, line)
            self._views[topic] = gathering.view(topic, "")
        else:
            gathering.another_row(topic)
        session = 0
        if plan.session is not None:
            name = row[plan.session]
            if name is not None:
                session = self.sessions.setdefault(name, len(self.sessions) + 1)
        if time is not None:
            gathering.seen(topic, time / 1000 if abs(time) > 1e11 else float(time))
        doc = gathering.documents.number(passage, line, "text")
        kind = CLICKED if clicked else SHOWN
        gathering.judge(self._views[topic], doc, kind, line, position, session)

    def _plan(self, keys: tuple[str, ...]) -> Columns | None:
        """Returns the columns of rows with these keys, or None where they are not plainly flat."""
        first: dict[str, str | None] = {
            role: next((name for name in names if name in keys), None)
            for role, names in self.names.items()
        }
        needed = [first[role] for role in ("query", "doc_id", "text", "clicked")]
        if None in needed or first["lists"] or first["topic_id"] or needed[0] == needed[2]:
            return None
        others = tuple(name for name in ("instruction",) if name in keys)
        self.gathering.positive_field = needed[3] or ""
        values = itemgetter(*[str(name) for name in needed])
        return Columns(
            values, first["title"], first["position"], first["session"], first["time"], others
        )
