"""How a topic's documents stand in a prompt: numbered by their place in the topic, byte for byte.

A document's number is its place in ``topic.docs`` (from 1), whatever the labels say. So the documents of a topic
are the same string in every question of every method, servers can cache that prefix, and a recorded reply means
the same documents when it is read again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from obverse.identity import text_uid
from obverse.records import Doc, Label, Topic
from obverse.synthesis.dialogue import Skip

EXCERPT_CHARS = 8_000
"""Longer texts are shown up to here; the view's origin says so."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The documents of a topic as a prompt shows them.

    Attributes:
        text: The query and the numbered documents.
        numbers: The number of each shown document, by doc_id. Blank documents and copies of an earlier one are
            not shown.
        excerpts: Which documents were cut: ``{doc_id: [characters shown, characters in all]}``.
    """

    text: str
    numbers: dict[str, int]
    excerpts: dict[str, list[int]]

    def doc_ids(self, numbers: Iterable[int]) -> set[str]:
        """Returns the ids of the documents with these numbers."""
        wanted = set(numbers)
        return {doc_id for doc_id, number in self.numbers.items() if number in wanted}

    def enumerated(self, doc_ids: Iterable[str]) -> str:
        """Returns the numbers as a list for people: ``2, 3 and 5``."""
        numbers = [str(number) for number in sorted(self.numbers[doc_id] for doc_id in doc_ids)]
        return " and ".join(filter(None, [", ".join(numbers[:-1]), numbers[-1]]))

    def hidden(self, topic: Topic) -> set[str]:
        """Returns the ids of the documents that are not shown: nothing is known of them, so they are no negatives."""
        return {doc.doc_id for doc in topic.docs} - self.numbers.keys()

    @property
    def note(self) -> dict[str, dict[str, list[int]]]:
        """What a view's origin says about the documents: nothing, or which were cut."""
        return {"excerpts": self.excerpts} if self.excerpts else {}


def show(topic: Topic, excerpt_chars: int = EXCERPT_CHARS) -> Shown:
    """Returns the topic's documents for a prompt."""
    parts, numbers, excerpts = [f"Query: {topic.query}\n\nCandidate documents:"], {}, {}
    seen: set[int] = set()
    for number, doc in enumerate(topic.docs, start=1):
        uid = text_uid(doc.text)
        if not doc.text.strip() or uid in seen:
            continue
        seen.add(uid)
        numbers[doc.doc_id] = number
        mark = f"document {number}"
        if len(doc.text) > excerpt_chars:
            excerpts[doc.doc_id] = [excerpt_chars, len(doc.text)]
            parts.append(
                f"<{mark}, its first {excerpt_chars:,} of {len(doc.text):,} characters>\n"
                f"{_body(doc, excerpt_chars)}\n</{mark}>"
            )
        else:
            parts.append(f"<{mark}>\n{_body(doc, excerpt_chars)}\n</{mark}>")
    return Shown("\n\n".join(parts), numbers, excerpts)


def _body(doc: Doc, excerpt_chars: int) -> str:
    title = f"{doc.title[:excerpt_chars]}\n" if doc.title.strip() else ""
    return title + doc.text[:excerpt_chars]


def plain_positive(topic: Topic, shown: Shown) -> str:
    """Returns the positive of the plain view that the questions are about: the first one that is shown.

    Raises:
        Skip: If the topic has no plain view, or no positive with a text.
    """
    plain = topic.plain_view
    if plain is None:
        raise Skip("the topic has no view without instruction")
    found = next((doc_id for doc_id in plain.positives if doc_id in shown.numbers), None)
    if found is None:
        raise Skip("no positive with a text")
    return found


def candidates(topic: Topic, shown: Shown) -> list[str]:
    """Returns the shown documents that are not positive in the plain view, in the topic's order.

    Raises:
        Skip: If there is none with the label ``negative``.
    """
    labels = topic.plain_view.labels if topic.plain_view else {}
    found = [
        doc.doc_id
        for doc in topic.docs
        if doc.doc_id in shown.numbers and labels.get(doc.doc_id, Label.POSITIVE) != Label.POSITIVE
    ]
    if not any(labels[doc_id] in (Label.NEGATIVE, Label.INSTRUCTION_NEGATIVE) for doc_id in found):
        raise Skip("no own negative")
    return found
