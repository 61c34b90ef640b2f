"""Rows gathered to topics: each document's text is kept once, on disk; memory holds numbers.

Two million judgements take about 40 MB, and an id about 150 bytes; texts go to a temporary file.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.identity import normalised, same_text_rule, text_uid
from obverse.read.documents import Documents, first_word, full_text
from obverse.read.faults import Findings
from obverse.records import Doc, Label, Topic, View

SHOWN, CLICKED = 0, 1
NEGATIVE, POSITIVE, INSTRUCTION_NEGATIVE, IGNORE = 0, 1, 2, 3
_LABELS = (Label.NEGATIVE, Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.IGNORE)
NO_POSITION = -1
_TOPICS_AT_ONCE = 20_000


@dataclass(slots=True)
class Judgements:
    """The judgements of one view, in the order in which they were read; lists of the same length.

    ``kinds`` holds CLICKED or SHOWN in a click log, else one of NEGATIVE, POSITIVE, INSTRUCTION_NEGATIVE, IGNORE.
    """

    docs: list[int]
    kinds: list[int]
    lines: list[int]
    positions: list[int]
    sessions: list[int]


Judge = Callable[[Judgements], dict[int, int]]
"""Turns a view's judgements into kinds by document number."""


class Gathering:
    """Collects rows and gives back topics: one for each key, with one view for each instruction."""

    def __init__(self, findings: Findings, method: str) -> None:
        self.findings = findings
        self.method = method
        self.origin: dict[str, Any] = {}
        self.documents = Documents(findings)
        self._topics: dict[str, int] = {}
        self._topic_ids: list[str] = []
        self._queries: list[str] = []
        self._lines = array("i")
        self._rows = array("i")
        self._views: dict[tuple[int, str], int] = {}
        self._plain_views = array("i")
        self._view_topics = array("i")
        self._instructions: list[str] = []
        self._events = array("i")
        self._reasons: dict[int, str] = {}
        self._times: dict[int, float] = {}
        self.positive_field, self.negative_field = "positive", "negative"

    def topic(self, key: str, topic_id: str, query: str, line: int) -> int:
        """Returns the number of the topic with this key, and counts one row to it."""
        number = self._topics.get(key)
        if number is not None and self._queries[number] != query and key == topic_id:  # noqa: SIM102
            if normalised(self._queries[number]) != normalised(query):
                self.findings.note(
                    "query_id_with_two_queries",
                    line,
                    "query_id",
                    f"{topic_id!r} is {self._queries[number][:40]!r} before and {query[:40]!r} here",
                )
                topic_id = key = f"{topic_id}#{query_id(query)}"
                number = self._topics.get(key)
        if number is None:
            number = self._topics[key] = len(self._queries)
            self._topic_ids.append(topic_id)
            self._queries.append(query)
            self._lines.append(line)
            self._rows.append(0)
            self._plain_views.append(-1)
        self._rows[number] += 1
        return number

    def topic_of_query(self, query: str, line: int) -> int:
        """Returns the number of the topic of a query's text, and counts one row to it."""
        name = query_id(query)
        return self.topic(name, name, query, line)

    def another_row(self, topic: int) -> None:
        """Counts one more row to a topic."""
        self._rows[topic] += 1

    def view(self, topic: int, instruction: str) -> int:
        """Returns the number of the topic's view under an instruction."""
        if not instruction:
            number = self._plain_views[topic]
            if number >= 0:
                return number
            self._plain_views[topic] = len(self._instructions)
        else:
            found = self._views.setdefault((topic, instruction), len(self._instructions))
            if found < len(self._instructions):
                return found
        self._view_topics.append(topic)
        self._instructions.append(instruction)
        return len(self._instructions) - 1

    def judge(
        self,
        view: int,
        doc: int,
        kind: int,
        line: int,
        position: int = NO_POSITION,
        session: int = 0,
    ) -> None:
        """Adds one judgement, with the line where it stands."""
        self._events.extend((view, doc, kind, line, position, session))

    @property
    def _table(self) -> NDArray[np.int32]:
        """View, doc, kind, line, position, session: one row for each judgement, ``[n, 6]``."""
        return np.frombuffer(self._events, dtype=np.int32).reshape(-1, 6)

    def seen(self, topic: int, time: float) -> None:
        """Remembers when the topic was last seen, in seconds since 1970."""
        self._times[topic] = max(time, self._times.get(topic, time))

    def because(self, topic: int, reason: str) -> None:
        """Remembers why a row of the topic has no positive, should no other row give one."""
        self._reasons.setdefault(topic, reason)

    @property
    def has_positions(self) -> bool:
        return bool((self._table[:, 4] != NO_POSITION).any())

    @property
    def clicks_everywhere(self) -> dict[int, frozenset[int]]:
        """The clicked documents by view, of all topics with the same query and instruction."""
        groups: dict[tuple[str, str], list[int]] = {}
        for view, topic in enumerate(self._view_topics):
            key = (normalised(self._queries[topic]), self._instructions[view])
            groups.setdefault(key, []).append(view)
        shared = {view: views for views in groups.values() if len(views) > 1 for view in views}
        if not shared:
            return {}
        views, docs, kinds = self._table[:, 0], self._table[:, 1], self._table[:, 2]
        clicked = kinds == POSITIVE
        of_view: dict[int, set[int]] = {}
        for view, doc in zip(views[clicked].tolist(), docs[clicked].tolist(), strict=True):
            if view in shared:
                of_view.setdefault(view, set()).add(doc)
        return {
            view: frozenset().union(*(of_view.get(other, set()) for other in others))
            for view, others in shared.items()
        }

    def as_said(self, found: Judgements) -> dict[int, int]:
        """Returns the kinds as given; a positive outweighs whatever else the document is called, which is noted."""
        kinds: dict[int, int] = {}
        for doc, kind, line in zip(found.docs, found.kinds, found.lines, strict=True):
            before = kinds.get(doc, kind)
            if before != kind and POSITIVE in (before, kind):
                self.findings.note(
                    "contradictory_labels",
                    line,
                    self.negative_field if kind != POSITIVE else self.positive_field,
                    f"document {self.documents.doc_id(doc)!r} is positive and negative for one query",
                )
            kinds[doc] = POSITIVE if POSITIVE in (before, kind) else kind
        return kinds

    def topics(self, judge: Judge | None = None, *, clicks: bool = False) -> Iterator[Topic]:
        """Yields the topics in the order of their first rows.

        Args:
            judge: Decides each view's labels from its judgements; by default they are as given.
            clicks: Whether a document clicked under the same query elsewhere is no negative.
        """
        elsewhere = self.clicks_everywhere if clicks else {}
        for topic, views in self._grouped():
            made = self._topic(topic, views, judge or self.as_said, elsewhere)
            if made is not None:
                self.findings.usable += self._rows[topic]
                if self.findings.inspector is not None:
                    self.findings.inspector.topic(made, self._lines[topic])
                yield made

    def _grouped(self) -> Iterator[tuple[int, list[tuple[int, Judgements]]]]:
        """Yields each topic with its views' judgements; a block of topics is sorted at a time, to save memory."""
        table = self._table
        topics = np.asarray(self._view_topics, dtype=np.int32)[table[:, 0]]
        in_order = bool((topics[1:] >= topics[:-1]).all())
        order = None if in_order else np.argsort(topics, kind="stable")
        ordered = topics if order is None else topics[order]
        starts = np.searchsorted(ordered, np.arange(len(self._queries) + 1)).tolist()
        for first in range(0, len(self._queries), _TOPICS_AT_ONCE):
            bounds = starts[first : first + _TOPICS_AT_ONCE + 1]
            part = slice(bounds[0], bounds[-1])
            rows = table[part] if order is None else table[order[part]]
            for topic, (low, high) in enumerate(pairwise(bounds), start=first):
                yield topic, _by_view(rows[low - bounds[0] : high - bounds[0]])

    def _topic(
        self,
        topic: int,
        views: list[tuple[int, Judgements]],
        judge: Judge,
        elsewhere: dict[int, frozenset[int]],
    ) -> Topic | None:
        judged = [(view, judge(found), found) for view, found in views]
        topic_id, line = self._topic_ids[topic], self._lines[topic]
        used = dict.fromkeys(doc for _, kinds, _ in judged for doc in kinds)
        docs = {number: self.documents.doc(number) for number in used}
        positives = {
            doc for _, kinds, _ in judged for doc, kind in kinds.items() if kind == POSITIVE
        }
        made: list[View] = []
        when = {"time": self._times[topic]} if topic in self._times else {}
        for view, kinds, found in judged:
            labels = self._labels(topic_id, kinds, found, docs, elsewhere.get(view, frozenset()))
            instruction = self._instructions[view]
            if instruction:
                _mark_instruction_negatives(labels, positives)
            if POSITIVE not in labels.values():
                if len(judged) > 1:
                    self.findings.set_aside(topic_id, "a view without a positive", line)
                continue
            if len(labels) == sum(kind == POSITIVE for kind in labels.values()):
                self.findings.note("no_negative", line, self.negative_field, f"topic {topic_id!r}")
            made.append(
                View(
                    instruction,
                    {docs[doc].doc_id: _LABELS[kind] for doc, kind in labels.items()},
                    origin={"method": self.method, **self.origin, **when},
                )
            )
        if not made:
            reason = self._reasons.get(topic, "no positive")
            self.findings.note(
                "no_positive", line, self.positive_field, f"topic {topic_id!r}: {reason}"
            )
            self.findings.set_aside(topic_id, reason, line)
            return None
        kept = {doc_id for view in made for doc_id in view.labels}
        whole = len(kept) == len(docs)
        return Topic(
            topic_id,
            self._queries[topic],
            tuple(docs.values() if whole else (d for d in docs.values() if d.doc_id in kept)),
            tuple(sorted(made, key=_plain_first) if len(made) > 1 else made),
        )

    def _labels(
        self,
        topic_id: str,
        kinds: dict[int, int],
        found: Judgements,
        docs: dict[int, Doc],
        elsewhere: frozenset[int],
    ) -> dict[int, int]:
        """Takes away negatives that are the positive's text again, or that were clicked elsewhere."""
        positive = [doc for doc, kind in kinds.items() if kind == POSITIVE]
        if not positive:
            return kinds
        firsts = {first_word(docs[doc]) for doc in positive}
        uids: dict[int, int] = {}
        labels: dict[int, int] = {}
        for doc, kind in kinds.items():
            if kind in (NEGATIVE, INSTRUCTION_NEGATIVE):
                first = first_word(docs[doc])
                twin = None
                if first is None or first in firsts or None in firsts:
                    uids = uids or {self.documents.uid(doc, docs[doc]): doc for doc in positive}
                    twin = uids.get(self.documents.uid(doc, docs[doc]))
                if twin is not None:
                    self._note_twin(topic_id, _line_of(doc, found), docs[twin], docs[doc])
                    continue
                if doc in elsewhere:
                    self.findings.note(
                        "clicked_elsewhere",
                        _line_of(doc, found),
                        self.negative_field,
                        f"document {docs[doc].doc_id!r}",
                    )
                    continue
            labels[doc] = kind
        return labels

    def _note_twin(self, topic_id: str, line: int, positive: Doc, negative: Doc) -> None:
        rule = same_text_rule(full_text(positive), full_text(negative)) or "nfkc"
        self.findings.note(
            "same_text_two_ids",
            line,
            self.negative_field,
            f"negative {negative.doc_id!r} is the text of positive {positive.doc_id!r} (same by: {rule})",
        )
        self.findings.drops.add(
            topic_id,
            "a negative with the text of a positive",
            positive=positive.doc_id,
            negative=negative.doc_id,
            rule=rule,
            file=self.findings.place,
            line=line,
        )


def _by_view(rows: NDArray[np.int32]) -> list[tuple[int, Judgements]]:
    """Returns the judgements of one topic by view, in the order of the views, each in the order of the file."""
    columns = rows.T.tolist()
    views = columns[0]
    if not views:
        return []
    if views[0] == views[-1] and len(set(views)) == 1:
        return [(views[0], Judgements(*columns[1:]))]
    if any(views[n] < views[n - 1] for n in range(1, len(views))):
        columns = rows[np.argsort(rows[:, 0], kind="stable")].T.tolist()
        views = columns[0]
    cuts = [n for n in range(1, len(views)) if views[n] != views[n - 1]]
    return [
        (views[a], Judgements(*(column[a:b] for column in columns[1:])))
        for a, b in pairwise([0, *cuts, len(views)])
    ]


def _plain_first(view: View) -> bool:
    return not view.is_plain


def _line_of(doc: int, found: Judgements) -> int:
    """The line where a view's document was judged otherwise than positive."""
    return next(
        line
        for line, judged, kind in zip(found.lines, found.docs, found.kinds, strict=True)
        if judged == doc and kind != POSITIVE
    )


def _mark_instruction_negatives(labels: dict[int, int], positives: set[int]) -> None:
    """What answers the topic under another view and not under this one fails the instruction alone."""
    for doc, kind in labels.items():
        if kind == NEGATIVE and doc in positives:
            labels[doc] = INSTRUCTION_NEGATIVE


def query_id(query: str) -> str:
    """Returns an id made from a query's normalised text."""
    return f"query-{text_uid(query):016x}"
