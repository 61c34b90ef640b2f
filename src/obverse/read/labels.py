"""From judgements to labels: one for each document of a view, what contradicts a positive taken away."""

from __future__ import annotations

import numpy as np

from obverse.identity import normalised, same_text_rule
from obverse.read.documents import Documents, full_text
from obverse.read.faults import Findings
from obverse.read.judgements import (
    INSTRUCTION_NEGATIVE,
    NEGATIVE,
    POSITIVE,
    Judgements,
    Labels,
    Mask,
    Numbers,
    Part,
    grouped,
    grouped_runs,
)


def as_said(
    part: Part, findings: Findings, documents: Documents, fields: tuple[str, str]
) -> Labels:
    """Returns the labels as given; a positive outweighs whatever else the document is called, which is noted.

    Args:
        fields: The names of the columns of positives and negatives, for the notes.
    """
    groups = grouped(part.views, part.docs)
    positive = part.kinds == POSITIVE
    has_positive = groups.any(positive)
    for at in _contradictions(part, groups.each, (has_positive & groups.any(~positive))):
        findings.note(
            "contradictory_labels",
            int(part.lines[at]),
            fields[0] if part.kinds[at] == POSITIVE else fields[1],
            f"document {documents.doc_id(int(part.docs[at]))!r} is positive and negative for one query",
        )
    last = np.zeros(len(groups.first), dtype=np.int64)
    last[groups.each] = part.kinds  # of several assignments the last one stays
    kinds = np.where(has_positive, POSITIVE, last)
    order = np.argsort(groups.first)
    rows = groups.first[order]
    return Labels(
        part.topics[rows], part.views[rows], part.docs[rows], kinds[order], part.lines[rows]
    )


def _contradictions(part: Part, group_of: Numbers, mixed: Mask) -> list[int]:
    """Returns the judgements that contradict what was said of the same document before."""
    found: list[int] = []
    said: dict[int, int] = {}
    for at in np.flatnonzero(mixed[group_of]).tolist():
        kind, group = int(part.kinds[at]), int(group_of[at])
        before = said.get(group, kind)
        if before != kind and POSITIVE in (before, kind):
            found.append(at)
        said[group] = POSITIVE if POSITIVE in (before, kind) else kind
    return found


class Cleaning:
    """Takes away negatives that are a positive's text again, or that were clicked elsewhere.

    Args:
        clicked: Views and documents of the clicks of queries that are asked in several views.
        asked: For each view the number of its query and instruction, as compared.
    """

    def __init__(
        self,
        findings: Findings,
        documents: Documents,
        topic_ids: list[str],
        clicked: Numbers | None = None,
        asked: Numbers | None = None,
    ) -> None:
        self._findings, self._documents, self._topic_ids = findings, documents, topic_ids
        self._twin = documents.twins()
        self._has_twin = np.bincount(self._twin, minlength=1)[self._twin] > 1
        self._clicked, self._asked = clicked, asked

    def __call__(self, labels: Labels, field: str) -> Labels:
        negative = (labels.kinds == NEGATIVE) | (labels.kinds == INSTRUCTION_NEGATIVE)
        positive = labels.kinds == POSITIVE
        views = grouped_runs(labels.views)
        judged = negative & views.any(positive)[views.each]
        twins = self._twins(labels, judged, positive, field)
        elsewhere = judged & ~twins
        if self._clicked is None or self._asked is None:
            elsewhere[:] = False
        else:
            keys = self._asked[labels.views] * len(self._documents) + labels.docs
            elsewhere &= np.isin(keys, self._clicked)
        for at in np.flatnonzero(elsewhere).tolist():
            name = self._documents.doc_id(int(labels.docs[at]))
            line = int(labels.lines[at])
            self._findings.note("clicked_elsewhere", line, field, f"document {name!r}")
        return labels.where(~twins & ~elsewhere)

    def _twins(self, labels: Labels, judged: Mask, positive: Mask, field: str) -> Mask:
        """Returns which negatives have the text of a positive of their view, each of them noted."""
        found = np.zeros(len(judged), dtype=bool)
        rows = np.flatnonzero(self._has_twin[labels.docs])
        if not judged[rows].any():
            return found
        texts = grouped(labels.views[rows], self._twin[labels.docs[rows]].astype(np.int64))
        found[rows] = judged[rows] & texts.any(positive[rows])[texts.each]
        if found.any():
            of_text = dict(
                zip(
                    texts.each[positive[rows]].tolist(),
                    labels.docs[rows][positive[rows]].tolist(),
                    strict=True,
                )
            )
            for text, at in zip(texts.each.tolist(), rows.tolist(), strict=True):
                if found[at]:
                    self._note_twin(labels, at, of_text[text], field)
        return found

    def _note_twin(self, labels: Labels, at: int, positive: int, field: str) -> None:
        right, wrong = self._documents.doc(positive), self._documents.doc(int(labels.docs[at]))
        rule = same_text_rule(full_text(right), full_text(wrong)) or "nfkc"
        line = int(labels.lines[at])
        self._findings.note(
            "same_text_two_ids",
            line,
            field,
            f"negative {wrong.doc_id!r} is the text of positive {right.doc_id!r} (same by: {rule})",
        )
        self._findings.drops.add(
            self._topic_ids[int(labels.topics[at])],
            "a negative with the text of a positive",
            positive=right.doc_id,
            negative=wrong.doc_id,
            rule=rule,
            file=self._findings.place,
            line=line,
        )


def clicked_elsewhere(
    judgements: Judgements,
    queries: list[str],
    instructions: list[str],
    topics: list[int],
    docs: int,
) -> tuple[Numbers, Numbers] | None:
    """Returns what :class:`Cleaning` needs to know of clicks, or None where each query is asked in one view alone."""
    numbers: dict[tuple[str, str], int] = {}
    compared = [normalised(query) for query in queries]
    asked = [
        numbers.setdefault((compared[topic], instruction), len(numbers))
        for topic, instruction in zip(topics, instructions, strict=True)
    ]
    if len(numbers) == len(asked):
        return None
    asked_by_view = np.asarray(asked, dtype=np.int64)
    views, clicked = judgements.clicked()
    shared = np.bincount(asked_by_view)[asked_by_view[views]] > 1
    keys = asked_by_view[views[shared]] * docs + clicked[shared]
    return np.unique(keys), asked_by_view


def with_instruction_negatives(labels: Labels, positives: Labels, instructed: Mask) -> Labels:
    """Returns the labels in which what answers the topic under another view, and not under this one, fails the
    instruction alone.

    Args:
        positives: All labels of the topics before anything was taken away.
        instructed: Whether each view has an instruction, by its number.
    """
    able = (labels.kinds == NEGATIVE) & instructed[labels.views]
    if not able.any():
        return labels
    said = positives.where(positives.kinds == POSITIVE)
    width = int(max(labels.docs.max(), positives.docs.max())) + 1
    able &= np.isin(labels.topics * width + labels.docs, said.topics * width + said.docs)
    return labels.of_kind(np.where(able, INSTRUCTION_NEGATIVE, labels.kinds))
