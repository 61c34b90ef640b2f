"""Topics in columns: of each part of the judgements, the views that have a positive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from obverse.read.judgements import (
    INSTRUCTION_NEGATIVE,
    NEGATIVE,
    POSITIVE,
    Labels,
    Mask,
    Numbers,
    Part,
    grouped_runs,
)


@dataclass(frozen=True, slots=True)
class Kept:
    """The views with a positive, ordered by topic and view, and their labels.

    Attributes:
        labels: The labels of these views, ``[n]``.
        views: The number of each view, ``[v]``.
        starts: Where the labels of each view begin, and their end, ``[v + 1]``.
        topics: The number of each topic, ``[t]``.
        view_starts: Where the views of each topic begin, and their end, ``[t + 1]``.
    """

    labels: Labels
    views: Numbers
    starts: Numbers
    topics: Numbers
    view_starts: Numbers

    @property
    def topic_of_label(self) -> Numbers:
        """Returns for each label the place of its topic among ``topics``, ``[n]``."""
        sizes = np.diff(self.starts[self.view_starts])
        return np.repeat(np.arange(len(self.topics)), sizes)

    def docs(self) -> tuple[Numbers, Numbers]:
        """Returns the documents of all topics, each once a topic, and where each topic's begin, ``[d], [t + 1]``."""
        if len(self.views) == len(self.topics):
            return self.labels.docs, self.starts
        topic = self.topic_of_label
        width = int(self.labels.docs.max(initial=0)) + 1
        _, first = np.unique(topic * width + self.labels.docs, return_index=True)
        first.sort()
        ends = np.cumsum(np.bincount(topic[first], minlength=len(self.topics)))
        return self.labels.docs[first], np.concatenate([[0], ends])

    def plain_first(self, instructed: Mask) -> Numbers:
        """Returns the places of the views in the order in which topics have them, the plain one first."""
        owner = np.repeat(np.arange(len(self.topics)), np.diff(self.view_starts))
        return np.lexsort((np.arange(len(owner)), instructed, owner))

    def rows_of(self, views: Numbers) -> tuple[Numbers, Numbers]:
        """Returns the labels of views in another order, and where each view's begin."""
        sizes = np.diff(self.starts)[views]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        shift = self.starts[:-1][views] - ends[:-1]
        return np.arange(ends[-1]) + np.repeat(shift, sizes), ends

    def slices(self, size: int) -> Iterator[Kept]:
        """Yields the topics in parts of so many."""
        for start in range(0, len(self.topics), size):
            topics = slice(start, start + size)
            bounds = self.view_starts[start : start + size + 1]
            first, end = int(bounds[0]), int(bounds[-1])
            starts = self.starts[first : end + 1]
            yield Kept(
                self.labels.where(slice(int(starts[0]), int(starts[-1]))),
                self.views[first:end],
                starts - starts[0],
                self.topics[topics],
                bounds - first,
            )

    def positives(self, view: int) -> list[int]:
        """Returns the positive documents of the view at a place."""
        rows = slice(*self.starts[view : view + 2])
        found: list[int] = self.labels.docs[rows][self.labels.kinds[rows] == POSITIVE].tolist()
        return found

    def pairs(self) -> tuple[Numbers, Numbers]:
        """Returns the label of each negative beside that of each positive of its view, ``[p], [p]``."""
        positive = np.flatnonzero(self.labels.kinds == POSITIVE)
        view = np.repeat(np.arange(len(self.views)), np.diff(self.starts))
        first = np.searchsorted(view[positive], np.arange(len(self.views) + 1))
        kinds = self.labels.kinds
        negative = np.flatnonzero((kinds == NEGATIVE) | (kinds == INSTRUCTION_NEGATIVE))
        each = np.diff(first)[view[negative]]
        rows = np.repeat(negative, each)
        turn = np.arange(len(rows)) - np.repeat(np.cumsum(each) - each, each)
        return rows, positive[first[view[rows]] + turn]


def joined(parts: list[Kept]) -> Kept:
    """Returns parts as one."""
    if len(parts) == 1:
        return parts[0]
    return Kept(
        Labels(
            *(
                np.concatenate([getattr(part.labels, name) for part in parts])
                for name in Labels.__slots__
            )
        ),
        np.concatenate([part.views for part in parts]),
        _after_each_other([part.starts for part in parts]),
        np.concatenate([part.topics for part in parts]),
        _after_each_other([part.view_starts for part in parts]),
    )


def _after_each_other(starts: list[Numbers]) -> Numbers:
    """Returns the bounds of parts, each from 0 on, as the bounds of all."""
    before = np.cumsum([0, *(each[-1] for each in starts)])
    moved = [each[:-1] + shift for each, shift in zip(starts, before, strict=False)]
    return np.concatenate([*moved, before[-1:]])


def kept(labels: Labels) -> Kept:
    """Returns the views that have a positive."""
    runs = grouped_runs(labels.views)
    answered = runs.any(labels.kinds == POSITIVE)
    labels = labels.where(answered[runs.each])
    views = grouped_runs(labels.views).first
    topics = grouped_runs(labels.topics[views]).first
    return Kept(
        labels,
        labels.views[views],
        np.append(views, len(labels.docs)),
        labels.topics[views][topics],
        np.append(topics, len(views)),
    )


@dataclass(frozen=True, slots=True)
class Unlike:
    """A topic of which something has to be said.

    Attributes:
        topic: Its number.
        without_negative: Views that have positives alone.
        without_positive: Views that have no positive.
        judged: All its views.
    """

    topic: int
    without_negative: int
    without_positive: int
    judged: int


def unlike(part: Part, found: Kept) -> list[Unlike]:
    """Returns the topics of a part that lack a positive or a negative somewhere, in order."""
    count = part.end - part.first
    judged = np.bincount(part.topics[grouped_runs(part.views).first] - part.first, minlength=count)
    owners = found.labels.topics[found.starts[:-1]] - part.first
    answered = np.bincount(owners, minlength=count)
    alone = np.bincount(owners[~_has_other(found)], minlength=count)
    odd = np.flatnonzero((alone > 0) | (judged != answered) | (answered == 0))
    return [
        Unlike(at + part.first, int(alone[at]), int(judged[at] - answered[at]), int(judged[at]))
        for at in odd.tolist()
    ]


def _has_other(found: Kept) -> Mask:
    """Whether each view has a label that is not positive, ``[v]``."""
    others = np.concatenate([[0], np.cumsum(found.labels.kinds != POSITIVE)])
    has: Mask = np.diff(others[found.starts]) > 0
    return has
