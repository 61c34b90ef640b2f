"""One row for each view of each topic, with the documents by label: what most forms are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from obverse.errors import InputError
from obverse.inputs import Template
from obverse.records import Doc, Label, Topic, View


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A view with its documents.

    Attributes:
        row_id: The topic's id, numbered where the topic has several views.
        query: Query and instruction, joined by the template.
    """

    row_id: str
    topic: Topic
    view: View
    query: str
    positives: list[Doc]
    instruction_negatives: list[Doc]
    negatives: list[Doc]

    @property
    def instruction(self) -> str:
        return self.view.instruction


def view_rows(topics: Iterable[Topic], template: Template) -> Iterator[ViewRow]:
    """Yields one row for each view. Documents labelled ``ignore`` are in none of the lists.

    Raises:
        InputError: If a topic has no documents, as those of a topics benchmark.
    """
    for topic in topics:
        docs = {doc.doc_id: doc for doc in topic.docs}
        for number, view in enumerate(topic.views):
            if not docs:
                raise InputError(
                    f"topic {topic.topic_id!r} has no documents",
                    fix="Read it with its corpus first",
                )
            yield ViewRow(
                topic.topic_id if len(topic.views) == 1 else f"{topic.topic_id}#{number}",
                topic,
                view,
                template.query(topic.query, view.instruction),
                [docs[doc_id] for doc_id in view.positives],
                [docs[doc_id] for doc_id in view.ids(Label.INSTRUCTION_NEGATIVE)],
                [docs[doc_id] for doc_id in view.ids(Label.NEGATIVE)],
            )
