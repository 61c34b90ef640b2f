"""Rows gathered to topics: each document's text is kept once, on disk; memory holds numbers.

Two million judgements take about 40 MB, and an id about 150 bytes; texts go to a temporary file.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.files import to_json
from obverse.identity import normalised, text_uid
from obverse.read.documents import Documents
from obverse.read.faults import Findings
from obverse.read.judgements import Judgements, Labels, Numbers, Part
from obverse.read.kept import Kept, Unlike, kept, unlike
from obverse.read.labels import (
    Cleaning,
    as_said,
    clicked_elsewhere,
    with_instruction_negatives,
)
from obverse.records import Label, Topic, View

LABELS = (Label.NEGATIVE, Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.IGNORE)

Rule = Callable[[Part], Labels]
"""Turns judgements into one label for each document of a view."""


class Gathering:
    """Collects rows and gives back topics: one for each key, with one view for each instruction.

    Attributes:
        rule: Decides the labels from the judgements; by default they are as given.
        clicks: Whether a document clicked under the same query elsewhere is no negative.
        close: Called when all topics were given back.
    """

    def __init__(self, findings: Findings, method: str) -> None:
        self.findings = findings
        self.method = method
        self.rule: Rule | None = None
        self.clicks = False
        self.close: Callable[[], None] | None = None
        self.origin: dict[str, Any] = {}
        self.documents = Documents(findings)
        self.judgements = Judgements()
        self._topics: dict[str, int] = {}
        self.topic_ids: list[str] = []
        self.queries: list[str] = []
        self._lines = array("i")
        self._rows = array("i")
        self._views: dict[tuple[int, str], int] = {}
        self._plain_views = array("i")
        self._view_topics = array("i")
        self.instructions: list[str] = []
        self._reasons: dict[int, str] = {}
        self._times = array("d")
        self.positive_field, self.negative_field = "positive", "negative"

    def topic(self, key: str, topic_id: str, query: str, line: int, rows: int = 1) -> int:
        """Returns the number of the topic with this key, and counts so many rows to it."""
        number = self._topics.get(key)
        if number is not None and self.queries[number] != query and key == topic_id:  # noqa: SIM102
            if normalised(self.queries[number]) != normalised(query):
                self.findings.note(
                    "query_id_with_two_queries",
                    line,
                    "query_id",
                    f"{topic_id!r} is {self.queries[number][:40]!r} before and {query[:40]!r} here",
                )
                topic_id = key = f"{topic_id}#{query_id(query)}"
                number = self._topics.get(key)
        if number is None:
            number = self._topics[key] = len(self.queries)
            self.topic_ids.append(topic_id)
            self.queries.append(query)
            self._lines.append(line)
            self._rows.append(0)
            self._times.append(-inf)
            self._plain_views.append(-1)
        self._rows[number] += rows
        return number

    def topic_of_query(self, query: str, line: int, rows: int = 1) -> int:
        """Returns the number of the topic of a query's text, and counts so many rows to it."""
        name = query_id(query)
        return self.topic(name, name, query, line, rows)

    def topics_of(self, views: Numbers) -> Numbers:
        """Returns the topic of each view."""
        return np.frombuffer(self._view_topics, dtype=np.int32)[views].astype(np.int64)

    def more_rows(self, topics: Numbers) -> None:
        """Counts one more row to each of the topics."""
        # A plain 1 would be cast for each row.
        np.add.at(np.frombuffer(self._rows, dtype=np.int32), topics, np.int32(1))

    def view(self, topic: int, instruction: str) -> int:
        """Returns the number of the topic's view under an instruction."""
        if not instruction:
            number = self._plain_views[topic]
            if number >= 0:
                return number
            self._plain_views[topic] = len(self.instructions)
        else:
            found = self._views.setdefault((topic, instruction), len(self.instructions))
            if found < len(self.instructions):
                return found
        self._view_topics.append(topic)
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def seen(self, topic: int, time: float) -> None:
        """Remembers when the topic was last seen, in seconds since 1970."""
        self._times[topic] = max(time, self._times[topic])

    def all_seen(self, topics: Numbers, times: NDArray[np.float64]) -> None:
        """Remembers when each of the topics was last seen."""
        np.maximum.at(np.frombuffer(self._times, dtype=np.float64), topics, times)

    def because(self, topic: int, reason: str) -> None:
        """Remembers why a row of the topic has no positive, should no other row give one."""
        self._reasons.setdefault(topic, reason)

    def __iter__(self) -> Iterator[Topic]:
        """Yields the topics in the order of their first rows."""
        for found in self.parts():
            starts = found.starts.tolist()
            docs, kinds = found.labels.docs.tolist(), found.labels.kinds.tolist()
            views = [
                (number, docs[low:high], kinds[low:high])
                for number, (low, high) in zip(found.views.tolist(), pairwise(starts), strict=True)
            ]
            bounds = pairwise(found.view_starts.tolist())
            for topic, (low, high) in zip(found.topics.tolist(), bounds, strict=True):
                yield self._topic(topic, views[low:high])

    def made(self, found: Kept, place: int) -> Topic:
        """Returns the topic at a place of a part."""
        views = []
        for view in range(*found.view_starts[place : place + 2].tolist()):
            rows = slice(*found.starts[view : view + 2].tolist())
            docs, kinds = found.labels.docs[rows], found.labels.kinds[rows]
            views.append((int(found.views[view]), docs.tolist(), kinds.tolist()))
        return self._topic(int(found.topics[place]), views)

    def parts(self) -> Iterator[Kept]:
        """Yields the topics in columns, in the order of their first rows."""
        self.findings.close_documents()
        known = (
            clicked_elsewhere(
                self.judgements,
                self.queries,
                self.instructions,
                self._view_topics.tolist(),
                len(self.documents),
            )
            if self.clicks
            else None
        )
        clean = Cleaning(self.findings, self.documents, self.topic_ids, *(known or ()))
        instructed = np.asarray([bool(text) for text in self.instructions], dtype=bool)
        rows = np.frombuffer(self._rows, dtype=np.int32)
        for part in self.judgements.by_topic(self._view_topics, len(self.queries)):
            said = (
                self.rule(part)
                if self.rule
                else as_said(
                    part, self.findings, self.documents, (self.positive_field, self.negative_field)
                )
            )
            cleaned = clean(said, self.negative_field)
            found = kept(with_instruction_negatives(cleaned, said, instructed))
            self._note_unlike(unlike(part, found))
            self.findings.usable += int(rows[found.topics].sum())
            if self.findings.inspector is not None:
                self.findings.inspector.topics(self, found)
            if len(found.topics):
                yield found
        if self.close is not None:
            self.close()

    def _note_unlike(self, topics: list[Unlike]) -> None:
        """Notes what topics lack; those without a positive are set aside."""
        for lacking in topics:
            for _ in range(lacking.without_negative):
                self._note_no_negative(lacking.topic)
            for _ in range(lacking.without_positive if lacking.judged > 1 else 0):
                self._set_aside(lacking.topic, "a view without a positive")
            if lacking.without_positive == lacking.judged:
                self._without_positive(lacking.topic)

    def _topic(self, topic: int, found: list[tuple[int, list[int], list[int]]]) -> Topic:
        origin = self.origin_of(topic)
        doc = self.documents.doc
        if len(found) == 1:
            view, numbers, kinds = found[0]
            docs = tuple(map(doc, numbers))
            labels = {doc.doc_id: LABELS[kind] for doc, kind in zip(docs, kinds, strict=True)}
            views: tuple[View, ...] = (View(self.instructions[view], labels, origin),)
        else:
            used = {number: doc(number) for _, numbers, _ in found for number in numbers}
            docs = tuple(used.values())
            made = [
                View(
                    self.instructions[view],
                    {used[n].doc_id: LABELS[kind] for n, kind in zip(numbers, kinds, strict=True)},
                    origin,
                )
                for view, numbers, kinds in found
            ]
            views = tuple(sorted(made, key=_plain_first))
        return Topic(self.topic_ids[topic], self.queries[topic], docs, views)

    def origin_of(self, topic: int) -> dict[str, Any]:
        """Returns how the views of a topic were made."""
        origin = {"method": self.method, **self.origin}
        if self._times[topic] != -inf:
            origin["time"] = self._times[topic]
        return origin

    def origins(self, topics: Numbers) -> list[str]:
        """Returns :meth:`origin_of` of many topics as JSON, the times written all at once."""
        bare = to_json({"method": self.method, **self.origin}).decode()
        times = np.frombuffer(self._times, dtype=np.float64)[topics]
        texts = to_json(times.tolist()).decode()[1:-1].split(",")  # -inf is null
        return [
            bare if text == "null" else f'{bare[:-1]},"time":{text}}}'
            for text in texts[: len(times)]
        ]

    def line_of(self, topic: int) -> int:
        """Returns the line of a topic's first row."""
        return self._lines[topic]

    def _note_no_negative(self, topic: int) -> None:
        message = f"topic {self.topic_ids[topic]!r}"
        self.findings.note("no_negative", self._lines[topic], self.negative_field, message)

    def _without_positive(self, topic: int) -> None:
        reason = self._reasons.get(topic, "no positive")
        message = f"topic {self.topic_ids[topic]!r}: {reason}"
        self.findings.note("no_positive", self._lines[topic], self.positive_field, message)
        self._set_aside(topic, reason)

    def _set_aside(self, topic: int, reason: str) -> None:
        self.findings.set_aside(self.topic_ids[topic], reason, self._lines[topic])


def _plain_first(view: View) -> bool:
    return not view.is_plain


def query_id(query: str) -> str:
    """Returns an id made from a query's normalised text."""
    return f"query-{text_uid(query):016x}"
