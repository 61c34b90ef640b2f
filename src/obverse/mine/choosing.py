"""Chooses negatives among ranked documents: none that the topic has, no text twice; starvation is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from obverse.identity import text_uid
from obverse.mine.windows import Window
from obverse.records import Doc, Label, Topic, View
from obverse.sampling import rng_for
from obverse.stages import Drops


class Scores(Protocol):
    """Scores single documents for a query."""

    def scores(self, query: str, docs: Sequence[Doc]) -> list[float]:
        """Returns the scores of documents that need not be in the corpus."""
        ...


@dataclass(slots=True)
class Starved:
    """How many topics got fewer negatives than asked for, and what the candidates were refused for.

    Attributes:
        asked: Negatives per topic.
        room: How many candidates of a topic the rank window can let through.
    """

    asked: int
    room: int
    topics: int = 0
    short: int = 0
    missing: int = 0
    examples: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)

    def count(self, topic_id: str, got: int) -> None:
        self.topics += 1
        if got < self.asked:
            self.short += 1
            self.missing += self.asked - got
            if len(self.examples) < 5:
                self.examples.append(f"{topic_id} ({got})")

    def __str__(self) -> str:
        refused = "; ".join(f"{count:,} {why}" for why, count in self.refused.most_common())
        passed = f"; passed over: {refused}" if refused else ""
        if self.asked > self.room:
            passed = f"; the rank window has room for {self.room:,}{passed}"
        if not self.short:
            return f"every topic got {self.asked} negatives{passed}"
        return (
            f"starved: {self.short:,} of {self.topics:,} topics got fewer than {self.asked} negatives "
            f"({self.missing:,} missing, never topped up at random): {', '.join(self.examples)}{passed}"
        )


@dataclass(slots=True)
class Miner:
    """Chooses among ranked documents, of as many ``rankings`` for each topic."""

    docs: Sequence[Doc]
    window: Window
    take: int
    pick: str
    seed: int
    drops: Drops
    rankings: int = 1
    uids: dict[int, tuple[int, int]] = field(default_factory=dict)
    starved: Starved = field(init=False)

    def __post_init__(self) -> None:
        ranks = self.window.last_rank - self.window.first_rank + 1
        self.starved = Starved(self.take, ranks * self.rankings)

    def allowed(self, topic: Topic, index: Scores, hits: Sequence[tuple[int, float]]) -> list[int]:
        """Returns the candidates of one ranking that the window lets through and the topic does not have."""
        labelled = {doc_id for view in topic.views for doc_id in view.labels}
        unlabelled = {doc.doc_id for doc in topic.docs} - labelled
        ceiling = self.window.ceiling(self._lowest_positive(topic, index))
        found = []
        for rank, (number, score) in enumerate(hits, start=1):
            doc_id = self.docs[number].doc_id
            if doc_id in labelled:
                continue
            why = self.window.refusal(rank, score, ceiling)
            if doc_id in unlabelled:
                why = "among the topic's own documents, without a label"
            if why is None:
                found.append(number)
            else:
                self.starved.refused[why] += 1
        return found

    def _lowest_positive(self, topic: Topic, index: Scores) -> float | None:
        if self.window.below_positive is None:
            return None
        telling = {doc_id for view in _taking(topic) for doc_id in view.positives}
        positives = [doc for doc in topic.docs if doc.doc_id in telling]
        return min(index.scores(topic.query, positives), default=None)

    def choose(self, topic: Topic, ranked: Sequence[list[int]]) -> list[int]:
        """Returns the chosen candidates, taken from the rankings in turn; no text twice."""
        known = _Texts()
        for doc in topic.docs:
            known.add(doc, _uids(doc))
        if self.pick == "random":
            rng = rng_for(self.seed, "mine", topic.topic_id)
            ranked = [rng.sample(candidates, len(candidates)) for candidates in ranked]
        chosen: list[int] = []
        for number in dict.fromkeys(_in_turn(ranked)):
            if len(chosen) == self.take:
                break
            doc = self.docs[number]
            uids = self.uids.get(number) or self.uids.setdefault(number, _uids(doc))
            twin = known.twin(doc, uids)
            if twin is None:
                known.add(doc, uids)
                chosen.append(number)
            else:
                self.drops.add(
                    topic.topic_id,
                    "a candidate with the text of one of the topic's documents",
                    candidate=doc.doc_id,
                    same_as=twin,
                )
        self.starved.count(topic.topic_id, len(chosen))
        return chosen


@dataclass(slots=True)
class _Texts:
    """The texts that a topic has. A document without a title is also the same as one with a title and its text."""

    whole: dict[int, str] = field(default_factory=dict)
    bodies: dict[int, str] = field(default_factory=dict)

    def add(self, doc: Doc, uids: tuple[int, int]) -> None:
        self.whole.setdefault(uids[0], doc.doc_id)
        self.bodies.setdefault(uids[1], doc.doc_id)

    def twin(self, doc: Doc, uids: tuple[int, int]) -> str | None:
        """Returns the id of a document with the same text, or None."""
        whole, body = uids
        return self.whole.get(whole) or (
            self.whole.get(body) if doc.title else self.bodies.get(body)
        )


def _uids(doc: Doc) -> tuple[int, int]:
    """Returns the content hashes of title and text, and of the text alone."""
    body = text_uid(doc.text)
    return (text_uid(full_text(doc)) if doc.title else body), body


def _in_turn(ranked: Sequence[list[int]]) -> Iterator[int]:
    for place in range(max(map(len, ranked), default=0)):
        for candidates in ranked:
            if place < len(candidates):
                yield candidates[place]


def _taking(topic: Topic) -> tuple[View, ...]:
    """Returns the views that get the negatives: the plain one, or all where there is none."""
    return tuple(view for view in topic.views if view.is_plain) or topic.views


def with_negatives(topic: Topic, docs: Sequence[Doc], origin: Mapping[str, object]) -> Topic:
    """Returns the topic with documents added as negatives of its plain view, else of all its views."""
    added = {doc.doc_id: Label.NEGATIVE for doc in docs}
    taking = _taking(topic)

    def grown(view: View) -> View:
        if not any(view is each for each in taking):
            return view
        return replace(view, labels={**view.labels, **added}, origin={**view.origin, **origin})

    return replace(
        topic, docs=(*topic.docs, *docs), views=tuple(grown(view) for view in topic.views)
    )


def full_text(doc: Doc) -> str:
    """Returns title and text as one string, as documents are compared."""
    return f"{doc.title} {doc.text}" if doc.title else doc.text
