"""What a form has no place for, counted while the topics pass and said in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from obverse.errors import InputError
from obverse.records import Label, Topic

_HOLDS = {
    "triplets": "",
    "n-tuples": "",
    "tevatron": "ids titles instructions views",
    "tevatron-ids": "ids titles instructions views",
    "promptriever": "ids titles instructions views kinds",
    "flag_embedding": "ids instructions views kinds",
    "swift": "instructions views",
    "arctic": "ids instructions views kinds",
    "beir": "ids titles instructions",
}
"""What each form keeps; ``views``: which belong to one topic; ``kinds``: instruction negatives and other negatives."""
_LOST = {
    "ids": "ids of {:,} topics and of their documents",
    "instructions": "{:,} instructions (joined to their queries)",
    "titles": "{:,} titles (joined to their texts)",
    "views": "{:,} topics of several views (each view becomes a query of its own)",
    "kinds": "{:,} labels instruction_negative (the documents stand first among the negatives)",
    "ignored": "{:,} documents labelled ignore (left out)",
    "unlabelled": "{:,} documents without a label (left out)",
    "origins": "origin or checks of {:,} views (left out)",
}
_GRADED = {"kinds": "{:,} labels instruction_negative (graded 0, as every negative)"}
"""What BEIR, which has grades, does instead."""


@dataclass(slots=True)
class Losses:
    """Counts what a form cannot hold.

    Attributes:
        format: The form.
        without: Views without a negative.
    """

    format: str
    lost: Counter[str] = field(default_factory=Counter)
    without: int = 0

    def watch(self, topics: Iterable[Topic]) -> Iterator[Topic]:
        """Passes the topics through and counts what they have.

        Raises:
            InputError: If there is none, before the file appears.
        """
        for topic in topics:
            self._count(topic)
            yield topic
        if not self.lost["ids"]:
            raise InputError("there is no topic to write", fix="Give topics")

    def _count(self, topic: Topic) -> None:
        labelled = {doc_id for view in topic.views for doc_id in view.labels}
        self.lost["ids"] += 1
        self.lost["views"] += len(topic.views) > 1
        self.lost["titles"] += sum(bool(doc.title) for doc in topic.docs)
        self.lost["unlabelled"] += sum(doc.doc_id not in labelled for doc in topic.docs)
        for view in topic.views:
            labels = Counter(view.labels.values())
            self.lost["instructions"] += bool(view.instruction)
            self.lost["kinds"] += labels[Label.INSTRUCTION_NEGATIVE]
            self.lost["ignored"] += labels[Label.IGNORE]
            self.lost["origins"] += bool(view.origin or view.checks)
            self.without += not labels[Label.NEGATIVE] + labels[Label.INSTRUCTION_NEGATIVE]

    def __str__(self) -> str:
        """What the form has no place for; empty where it holds all."""
        held = _HOLDS.get(self.format, "").split()
        phrases = _LOST | (_GRADED if self.format == "beir" else {})
        return "; ".join(
            phrase.format(self.lost[kind])
            for kind, phrase in phrases.items()
            if self.lost[kind] and kind not in held
        )
