"""The query x document matrix of a batch: what each document is to each query, by content."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from obverse.records import Label
from obverse.training.topic_set import Row, TopicSet

Codes = NDArray[np.int8]


class Relation(IntEnum):
    """What a document is to a query. From :attr:`IGNORED` on, the pair takes no part in the loss."""

    IN_BATCH = 0
    POSITIVE = 1
    INSTRUCTION_NEGATIVE = 2
    NEGATIVE = 3
    POOL = 4
    IGNORED = 10
    UNLABELLED = 11
    SAME_QUERY = 12
    SWITCHED_OFF = 13


MASKED = Relation.IGNORED
"""Codes from here on are masked."""

REASONS = {
    Relation.IGNORED: "labelled ignore",
    Relation.UNLABELLED: "its own topic's document, not judged under this view",
    Relation.SAME_QUERY: "another topic's document, whose query is the same",
    Relation.SWITCHED_OFF: "another topic's document, in-batch negatives are off",
}

_BY_LABEL = {
    Label.POSITIVE: Relation.POSITIVE,
    Label.INSTRUCTION_NEGATIVE: Relation.INSTRUCTION_NEGATIVE,
    Label.NEGATIVE: Relation.NEGATIVE,
    Label.IGNORE: Relation.IGNORED,
}


def relations(
    topics: TopicSet,
    rows: Sequence[Row],
    docs: Sequence[int],
    pool: Sequence[int] = (),
    *,
    in_batch: bool | Mapping[str, bool] = True,
) -> Codes:
    """Returns the :class:`Relation` of every document to every query, by the document's content.

    A label of the row decides. A document of the row's topic without one is masked, and so are the documents of
    another topic of the batch that has the same query. All others are negatives, unless in-batch negatives are off.
    An instruction negative is never masked.

    Args:
        topics: The set that the rows belong to.
        rows: The queries of the batch.
        docs: The documents of the batch, each once.
        pool: Further documents, columns after ``docs``.
        in_batch: Whether documents of other topics are negatives; or that by the row's source, with ``""`` for
            rows of any other source.

    Returns:
        int8 ``[q, u]``: q queries; u documents, those of the pool last.
    """
    column = {uid: place for place, uid in enumerate([*docs, *pool])}
    codes = np.zeros((len(rows), len(column)), dtype=np.int8)
    codes[:, len(docs) :] = Relation.POOL
    same_query: dict[int, set[int]] = defaultdict(set)
    for topic in dict.fromkeys(row.topic for row in rows):
        same_query[topics.queries[topic]].update(topics.own[topic])
    for line, row in zip(codes, rows, strict=True):
        if not _allowed(in_batch, row.source):
            line[:] = Relation.SWITCHED_OFF
        _set(line, column, same_query[topics.queries[row.topic]], Relation.SAME_QUERY)
        _set(line, column, topics.own[row.topic], Relation.UNLABELLED)
        for uid, label in row.labels.items():
            if (place := column.get(uid)) is not None:
                line[place] = _BY_LABEL[label]
    return codes


def _set(line: Codes, column: Mapping[int, int], uids: Iterable[int], code: Relation) -> None:
    for uid in uids:
        if (place := column.get(uid)) is not None:
            line[place] = code


def _allowed(in_batch: bool | Mapping[str, bool], source: str) -> bool:
    if isinstance(in_batch, bool):
        return in_batch
    return in_batch.get(source, in_batch.get("", True))
