"""One row for each view of each topic, with the documents by label: what most forms are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from obverse.errors import InputError
from obverse.inputs import Template
from obverse.log import say
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
        InputError: If a topic has no documents, as those of a topics benchmark, or two rows would have one id.
    """
    numbered: set[str] = set()
    for topic in topics:
        docs = {doc.doc_id: doc for doc in topic.docs}
        for number, view in enumerate(topic.views):
            if not docs:
                raise InputError(
                    f"topic {topic.topic_id!r} has no documents",
                    fix="Read it with its corpus first",
                )
            row_id = topic.topic_id if len(topic.views) == 1 else f"{topic.topic_id}#{number}"
            if "#" in row_id:
                if row_id in numbered:
                    raise InputError(
                        f"two views would have the id {row_id!r}",
                        where=f"topic {topic.topic_id!r}",
                        fix="Give the topic an id without a number sign",
                    )
                numbered.add(row_id)
            yield ViewRow(
                row_id,
                topic,
                view,
                template.query(topic.query, view.instruction),
                [docs[doc_id] for doc_id in view.positives],
                [docs[doc_id] for doc_id in view.ids(Label.INSTRUCTION_NEGATIVE)],
                [docs[doc_id] for doc_id in view.ids(Label.NEGATIVE)],
            )


@dataclass(slots=True)
class OwnIds:
    """The documents of all topics by id; a second text under a known id gets an id of its own.

    Attributes:
        docs: The documents, under their new ids.
        renamed: How many have one.
    """

    docs: dict[str, Doc] = field(default_factory=dict)
    renamed: int = 0

    def of(self, doc: Doc) -> str:
        """Returns the id under which a document stands."""
        name, turn = doc.doc_id, 2
        while (known := self.docs.get(name)) and (known.title, known.text) != (doc.title, doc.text):
            name, turn = f"{doc.doc_id}#{turn}", turn + 1
        if known is None:
            self.renamed += name != doc.doc_id
            self.docs[name] = replace(doc, doc_id=name)
        return name

    def say_renamed(self) -> None:
        if self.renamed:
            say(
                f"write: {self.renamed:,} ids stood for another text before; these documents got an id of their own"
            )
