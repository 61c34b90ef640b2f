"""Topics as training sees them: input strings, and labels by the content of a document instead of its id."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from obverse.errors import InputError, SettingError
from obverse.identity import text_uid
from obverse.inputs import Shortened, Template, fit
from obverse.records import Doc, Label, Topic, View

_STRENGTH = (Label.POSITIVE, Label.IGNORE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE)


@dataclass(frozen=True, slots=True)
class Row:
    """One view of one topic: a line of the query x document matrix.

    Attributes:
        topic: The topic's number in its set.
        view: The view's number in its topic.
        text: The encoder's input.
        plain: Whether the view has no instruction.
        labels: Label by content hash. One text under two ids has one label, the strongest.
        source: Where the view comes from (``origin["source"]``, else ``origin["method"]``), for settings by source.
        teacher: A teacher's scores by content hash (``checks["teacher"]``), for distillation.
    """

    topic: int
    view: int
    text: str
    plain: bool
    labels: Mapping[int, Label]
    source: str = ""
    teacher: Mapping[int, float] = field(default_factory=dict)

    def ids(self, *labels: Label) -> list[int]:
        """Returns the content hashes with one of the labels."""
        return [uid for uid, label in self.labels.items() if label in labels]


@dataclass(slots=True)
class TopicSet:
    """All topics of a training run.

    Attributes:
        topics: The topics.
        rows: The rows of each topic.
        docs: The input string of each distinct document, by content hash.
        samples: One document of each content, for whoever needs more than its string.
        queries: A content hash of each topic's query.
        own: The documents of each topic, by content hash, labelled or not.
        lost: What shortening took from instructions.
        contradictions: Texts that one view has both as a positive and as a negative, under two ids.
    """

    topics: list[Topic]
    rows: list[list[Row]]
    docs: dict[int, str]
    samples: dict[int, Doc]
    queries: list[int]
    own: list[frozenset[int]]
    lost: Shortened
    contradictions: int = 0

    @property
    def digest(self) -> str:
        """A hash of everything that training reads of the topics."""
        found = hashlib.sha256()
        for topic, rows, own in zip(self.topics, self.rows, self.own, strict=True):
            found.update(topic.topic_id.encode("utf-8", "surrogatepass"))
            found.update(repr(sorted(own)).encode())
            for row in rows:
                found.update(row.text.encode("utf-8", "surrogatepass") + b"\0")
                found.update(row.source.encode("utf-8", "surrogatepass") + b"\0")
                # In their order, in which they are picked and encoded.
                found.update(repr([*row.labels.items()]).encode())
                found.update(repr(sorted(row.teacher.items())).encode())
        for uid in sorted(self.docs):
            found.update(self.docs[uid].encode("utf-8", "surrogatepass"))
        return found.hexdigest()[:16]

    @property
    def views(self) -> int:
        return sum(map(len, self.rows))

    def is_plain(self, topic: int) -> bool:
        """Whether a topic has no instructed view."""
        return all(row.plain for row in self.rows[topic])


def topic_set(
    topics: Iterable[Topic], template: Template, max_tokens: int, count: Callable[[str], int]
) -> TopicSet:
    """Returns the topics prepared for training.

    Args:
        topics: Topics with their documents.
        template: Builds the input strings.
        max_tokens: The limit of an input.
        count: Counts the tokens of a string, special tokens included.

    Raises:
        InputError: If there is no topic, a topic has no documents or no positive, or a query alone is too long.
    """
    made = TopicSet([], [], {}, {}, [], [], Shortened())
    for topic in trainable(topics):
        uids = {}
        for doc in topic.docs:
            text = template.doc(doc)
            uids[doc.doc_id] = text_uid(text)
            made.docs.setdefault(uids[doc.doc_id], text)
            made.samples.setdefault(uids[doc.doc_id], doc)
        number = len(made.topics)
        rows = []
        for place, view in enumerate(topic.views):
            try:
                text = fit(template, topic.query, view.instruction, max_tokens, count, made.lost)
            except InputError as error:
                raise error.at(f"topic {topic.topic_id}") from None
            labels, contradicted = _by_content(view, uids)
            made.contradictions += contradicted
            rows.append(
                Row(
                    number,
                    place,
                    text,
                    view.is_plain,
                    labels,
                    str(view.origin.get("source") or view.origin.get("method") or ""),
                    _teacher(view, uids, topic.topic_id),
                )
            )
        made.topics.append(topic)
        made.queries.append(text_uid(topic.query))
        made.rows.append(rows)
        made.own.append(frozenset(uids.values()))
    return made


def trainable(topics: Iterable[Topic]) -> Iterator[Topic]:
    """Yields the topics, looked at as far as that needs no encoder.

    Raises:
        InputError: If there is no topic, or a topic has no documents or no positive.
    """
    topic = None
    for topic in topics:
        if not topic.docs:
            raise InputError(
                "has no documents",
                where=f"topic {topic.topic_id}",
                fix="Give topics with their docs, or a folder with corpus.jsonl and topics.jsonl",
            )
        for place, view in enumerate(topic.views):
            if not view.positives:
                raise InputError(
                    "no document is positive",
                    where=f"topic {topic.topic_id}, view {place}",
                    fix="Give every view at least one positive",
                )
        yield topic
    if topic is None:
        raise InputError("there is no topic to train on", fix="Give a topics file that holds some")


def _by_content(view: View, uids: Mapping[str, int]) -> tuple[dict[int, Label], int]:
    found: dict[int, Label] = {}
    contradictions = 0
    for doc_id, label in view.labels.items():
        uid = uids[doc_id]
        before = found.get(uid)
        if before is not None and before != label:
            contradictions += Label.POSITIVE in (before, label)
            label = min(before, label, key=_STRENGTH.index)
        found[uid] = label
    return found, contradictions


def _teacher(view: View, uids: Mapping[str, int], topic_id: str) -> dict[int, float]:
    scores = view.checks.get("teacher")
    if not scores:
        return {}
    if not isinstance(scores, Mapping):
        raise SettingError(
            "checks.teacher holds no scores by doc_id",
            where=f"topic {topic_id}",
            fix='Write {"teacher": {"d1": 0.9, ...}}',
        )
    found = {}
    for doc_id, score in scores.items():
        if (
            isinstance(score, bool)
            or not isinstance(score, int | float)
            or not math.isfinite(score)
        ):
            raise InputError(
                f"checks.teacher scores {doc_id!r} with {score!r}",
                where=f"topic {topic_id}",
                fix="Give a number, or leave the document out",
            )
        if doc_id in uids:
            found[uids[doc_id]] = float(score)
    return found
