"""The ledger of one set: counts, views by origin, content hashes, steps of training."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from obverse.errors import SettingError
from obverse.identity import text_uid
from obverse.mix.sizes import Tally, doc_uid, token_counter
from obverse.mix.views import kind_of
from obverse.records import Topic, View

Origin = tuple[str, str, str]
"""Kind (plain, original, reversed), method and lever of a view; ``-`` where its origin says nothing."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the ledger knows of one topic.

    Attributes:
        query: Content hash of the query.
        digest: Hash of all that is trained on: query, documents, instructions, labels.
        views: Origin of each view by the hash of its content (instruction and labels), without query.
    """

    query: int
    digest: str
    views: Mapping[str, Origin]


@dataclass(frozen=True, slots=True)
class Steps:
    """Optimiser steps of training on the set.

    Attributes:
        batch_size: Topics in a batch.
        epochs: How often each topic is seen.
        steps: Optimiser steps, by the rule of the training plan: full batches, and a smaller last one.
        views_per_step: Rows in a step, on average.
    """

    batch_size: int
    epochs: float
    steps: int
    views_per_step: float


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is in a set: enough to prove two sets size-matched.

    Attributes:
        topics: Information needs.
        views: Views: the rows of training.
        origins: Views by kind, method and lever.
        queries: Distinct queries, compared by content.
        documents: Distinct documents, compared by content.
        labels: Judgements by label.
        tokens: What an epoch reads, see :class:`obverse.mix.sizes.Tally`; None if not counted.
        counter: How tokens were counted.
        digest: Equal for equal sets (ids and content), whatever their order.
        entries: The topics by topic_id.
        steps: Steps of training, if a batch size was given.
    """

    topics: int
    views: int
    origins: Mapping[Origin, int]
    queries: int
    documents: int
    labels: Mapping[str, int]
    tokens: int | None
    counter: str
    digest: str
    entries: Mapping[str, Entry]
    steps: Steps | None = None

    @property
    def kinds(self) -> dict[str, int]:
        """Views by kind."""
        found: Counter[str] = Counter()
        for (kind, _, _), count in self.origins.items():
            found[kind] += count
        return dict(found)

    def to_json(self, *, hashes: bool = True) -> dict[str, Any]:
        """Returns the ledger as JSON values; the hashes of the topics can be left out."""
        row: dict[str, Any] = {
            "topics": self.topics,
            "views": self.views,
            "kinds": self.kinds,
            "origins": origin_rows(self.origins),
            "queries": self.queries,
            "documents": self.documents,
            "labels": dict(self.labels),
            "tokens": self.tokens,
            "tokens_by": self.counter,
            "digest": self.digest,
        }
        if self.steps is not None:
            row["training"] = {name: getattr(self.steps, name) for name in self.steps.__slots__}
        if hashes:
            row["hashes"] = {topic_id: entry.digest for topic_id, entry in self.entries.items()}
        return row


def ledger(
    topics: Iterable[Topic],
    *,
    tokens: str | None = "words",
    batch_size: int | None = None,
    epochs: float = 1,
) -> Ledger:
    """Returns the ledger of a set of topics.

    Args:
        topics: The set.
        tokens: How tokens are counted: ``words``, or an encoder, by its tokenizer; None counts none.
        batch_size: Topics in a batch, for the steps of training.
        epochs: How often each topic is seen.

    Raises:
        SettingError: If no step can be made.
        ModelError: If the encoder cannot be loaded.
    """
    tally = Tally(token_counter(tokens) if tokens else None)
    origins: Counter[Origin] = Counter()
    labels: Counter[str] = Counter()
    entries: dict[str, Entry] = {}
    for topic in topics:
        tally.add(topic)
        entry = _entry(topic)
        entries[topic.topic_id] = entry
        for view in topic.views:
            origins[origin_of(topic, view)] += 1
            labels.update(str(label) for label in view.labels.values())
    whole = repr(sorted((topic_id, entry.digest) for topic_id, entry in entries.items()))
    return Ledger(
        tally.topics,
        tally.views,
        dict(sorted(origins.items(), key=lambda item: (_place(item[0]), -item[1]))),
        tally.queries,
        tally.documents,
        dict(labels),
        tally.tokens if tokens else None,
        tokens or "not counted",
        _hash(whole),
        entries,
        None if batch_size is None else steps_of(tally.topics, tally.views, batch_size, epochs),
    )


def steps_of(topics: int, views: int, batch_size: int, epochs: float) -> Steps:
    """Returns the steps of training on so many topics and views.

    Raises:
        SettingError: If no step can be made.
    """
    if batch_size < 1 or not 0 < epochs < float("inf"):
        raise SettingError(
            f"{batch_size} topics a batch and {epochs:g} epochs make no step",
            fix="Give a batch size of at least 1 and epochs above 0",
        )
    size = min(batch_size, topics)
    seen = round(topics * epochs)
    steps = -(-seen // size) if size else 0
    return Steps(
        batch_size, epochs, steps, round(views / topics * seen / steps, 2) if seen else 0.0
    )


def origin_of(topic: Topic, view: View) -> Origin:
    """Returns a view's kind, method and lever."""
    method, lever = view.origin.get("method"), view.origin.get("lever")
    return kind_of(topic, view), str(method or "-"), str(lever or "-")


def origin_rows(origins: Mapping[Origin, int]) -> list[dict[str, Any]]:
    """Returns counts by origin as rows."""
    return [
        {"kind": kind, "method": method, "lever": lever, "views": count}
        for (kind, method, lever), count in origins.items()
    ]


def _place(origin: Origin) -> tuple[int, str]:
    return ("plain", "original", "reversed").index(origin[0]), origin[1]


def _entry(topic: Topic) -> Entry:
    uids = {doc.doc_id: doc_uid(doc) for doc in topic.docs}
    views: dict[str, Origin] = {}
    for view in topic.views:
        views[_distinct(_view_hash(view, uids), views)] = origin_of(topic, view)
    content = repr((topic.query, sorted(uids.values()), sorted(views)))
    return Entry(text_uid(topic.query), _hash(content), views)


def _view_hash(view: View, uids: Mapping[str, int]) -> str:
    labels = sorted((str(uids.get(d, d)), str(label)) for d, label in view.labels.items())
    teacher = view.checks.get("teacher")
    return _hash(repr((view.instruction, labels, teacher)))


def _distinct(name: str, taken: Mapping[str, Origin]) -> str:
    """Two equal views of one topic are two rows."""
    turn, found = 2, name
    while found in taken:
        found, turn = f"{name}#{turn}", turn + 1
    return found


def _hash(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def by_kind_and_method(origins: Iterable[Origin]) -> list[tuple[str, int]]:
    """Returns counts such as ``("original natural_dual_view", 12)``, largest first."""
    found = Counter(kind if method == "-" else f"{kind} {method}" for kind, method, _ in origins)
    return found.most_common()
