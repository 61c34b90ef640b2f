"""The label matrix of a batch: every query of it against every distinct document of it.

Documents are the same where their contents are the same (:mod:`obverse.identity`), whatever their ids, so that each
counts once in every softmax and no query has its own positive among its negatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from obverse.identity import text_uid
from obverse.inputs import Template
from obverse.records import Label, Topic, View


class Relation(IntEnum):
    """What a document is to a query of the same batch."""

    MASKED = 0
    POSITIVE = 1
    INSTRUCTION_NEGATIVE = 2
    NEGATIVE = 3
    IN_BATCH = 4


OF_LABEL = {
    Label.POSITIVE: Relation.POSITIVE,
    Label.INSTRUCTION_NEGATIVE: Relation.INSTRUCTION_NEGATIVE,
    Label.NEGATIVE: Relation.NEGATIVE,
    Label.IGNORE: Relation.MASKED,
}
# Two documents with one content and two labels: the positive wins, doubt comes next.
_STRENGTH = (Label.POSITIVE, Label.IGNORE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE)


@dataclass(frozen=True, slots=True)
class Anchor:
    """One query of a batch: a view of a topic."""

    topic: Topic
    view: View


@dataclass(slots=True)
class Relations:
    """A batch: its anchors, its distinct documents, and what each is to each.

    Attributes:
        anchors: b views, those of a topic side by side.
        uids: Content hashes of the u distinct documents.
        texts: Their encoder inputs.
        matrix: ``[b, u]`` of :class:`Relation`: b anchors, u documents.
        reasons: Why a cell is masked, by (anchor, document).
    """

    anchors: list[Anchor]
    uids: list[int]
    texts: list[str]
    matrix: NDArray[np.int8]
    reasons: dict[tuple[int, int], str] = field(default_factory=dict)


Negatives = Callable[[Topic, View], Sequence[str]]


def relations(
    topics: Sequence[Topic],
    template: Template,
    *,
    negatives: Negatives = lambda topic, view: view.negatives,
    in_batch: bool = True,
    others: Mapping[int, str] | None = None,
) -> Relations:
    """Returns the label matrix of a batch of topics.

    A view's own labels decide about the documents of its topic; what the view does not label, or ignores, is masked.
    A document of another topic is a negative, unless it has the content of a document of the view's own topic, or
    the other topic has the same query. Instruction negatives are never masked.

    Args:
        topics: The topics of the batch, whole.
        template: Builds the documents' inputs, whose content is compared.
        negatives: Which negatives of a view take part.
        in_batch: Whether other topics' documents are negatives; else they are masked.
        others: More documents by content hash, as negatives of all (with ``in_batch``); their columns come first.
    """
    anchors = [Anchor(topic, view) for topic in topics for view in topic.views]
    contents = {topic.topic_id: _contents(topic, template) for topic in topics}
    used = {id(a): set(negatives(a.topic, a.view)) for a in anchors}
    texts: dict[int, str] = {}
    for anchor in anchors:
        taken = used[id(anchor)] | set(anchor.view.positives)
        for doc_id, (uid, text) in contents[anchor.topic.topic_id].items():
            if doc_id in taken:
                texts.setdefault(uid, text)
    if others:
        texts = {**others, **texts}
    column = {uid: place for place, uid in enumerate(texts)}
    rest = Relation.IN_BATCH if in_batch else Relation.MASKED
    found = Relations(
        anchors,
        list(texts),
        list(texts.values()),
        np.full((len(anchors), len(texts)), rest, np.int8),
    )
    queries = {topic.topic_id: text_uid(topic.query) for topic in topics}
    for row, anchor in enumerate(anchors):
        for topic in topics:
            if (
                topic is not anchor.topic
                and queries[topic.topic_id] == queries[anchor.topic.topic_id]
            ):
                _mask(
                    found,
                    row,
                    column,
                    contents[topic.topic_id],
                    "a document of another topic with this query",
                )
        _mask(found, row, column, contents[anchor.topic.topic_id], "the view does not label it")
        _label(found, row, column, anchor.view, contents[anchor.topic.topic_id], used[id(anchor)])
    return found


def _contents(topic: Topic, template: Template) -> dict[str, tuple[int, str]]:
    texts = {doc.doc_id: template.doc(doc) for doc in topic.docs}
    return {doc_id: (text_uid(text), text) for doc_id, text in texts.items()}


def _mask(
    found: Relations,
    row: int,
    column: Mapping[int, int],
    contents: Mapping[str, tuple[int, str]],
    reason: str,
) -> None:
    for uid, _ in contents.values():
        if (place := column.get(uid)) is not None:
            found.matrix[row, place] = Relation.MASKED
            found.reasons[row, place] = reason


def _label(
    found: Relations,
    row: int,
    column: Mapping[int, int],
    view: View,
    contents: Mapping[str, tuple[int, str]],
    used: set[str],
) -> None:
    strongest: dict[int, tuple[int, str]] = {}
    for doc_id, label in view.labels.items():
        uid = contents[doc_id][0]
        rank = _STRENGTH.index(label)
        if uid not in strongest or rank < strongest[uid][0]:
            strongest[uid] = (rank, doc_id)
    for uid, (rank, doc_id) in strongest.items():
        place = column.get(uid)
        if place is None:
            continue
        label = _STRENGTH[rank]
        if label == Label.IGNORE:
            found.reasons[row, place] = "the view ignores it"
        elif label == Label.POSITIVE or doc_id in used:
            found.matrix[row, place] = OF_LABEL[label]
            found.reasons.pop((row, place), None)
        else:
            found.reasons[row, place] = "beyond this epoch's quota of negatives"
