"""Documents that an LLM wrote: how they join a topic, and the blind question that checks them."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from pydantic import BaseModel, Field

from obverse.identity import normalised
from obverse.records import Doc, Label, Topic
from obverse.synthesis.dialogue import Prompt, Rejected
from obverse.synthesis.documents import show
from obverse.synthesis.prompts import FITS, SYSTEM

_FEWEST_WORDS = 12


class Written(BaseModel):
    """A document that the LLM wrote."""

    title: str
    text: str


class Fit(BaseModel):
    """What one document fits."""

    document: int
    fits_query: bool
    fits_instruction: bool


class Fits(BaseModel):
    """What every document fits."""

    documents: list[Fit] = Field(description="one entry for each document")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a document fits the query alone, and the instruction."""

    query: bool
    instruction: bool


def as_doc(topic: Topic, written: Written) -> Doc:
    """Returns the document with an id that depends on topic and text alone."""
    text = f"{topic.topic_id}\0{written.title}\0{written.text}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return Doc(f"written-{digest}", written.text.strip(), written.title.strip())


def check_written(written: Sequence[Written], topic: Topic) -> None:
    """Checks documents that the LLM wrote.

    Raises:
        Rejected: With the code ``empty-document``, ``same-document`` or ``copies-passage``.
    """
    known = {normalised(doc.text) for doc in topic.docs}
    for one in written:
        text = normalised(one.text)
        if len(text.split()) < _FEWEST_WORDS:
            raise Rejected("empty-document", one.text[:80])
        if text in known:
            raise Rejected("same-document", one.text[:80])
        known.add(text)


def ask_fits(
    query: str, instruction: str, docs: Sequence[Doc], rng: Random, stage: str = "check"
) -> Generator[Prompt[Any], Any, dict[str, Verdict]]:
    """Asks, in a drawn order and without roles, what each document fits; returns the verdicts by doc_id."""
    order = list(docs)
    rng.shuffle(order)
    shown = show(Topic("", query, tuple(order), ()))

    def check(answer: Fits) -> None:
        judged = sorted(fit.document for fit in answer.documents)
        if judged != sorted(shown.numbers.values()):
            raise Rejected("wrong-documents", f"judged {judged}")

    user = f"{shown.text}\n\n{FITS.format(instruction=instruction)}"
    answer: Fits = yield Prompt(stage, SYSTEM, user, Fits, check)
    by_number = {
        fit.document: Verdict(fit.fits_query, fit.fits_instruction) for fit in answer.documents
    }
    return {doc_id: by_number[number] for doc_id, number in shown.numbers.items()}


def with_documents(topic: Topic, docs: Sequence[Doc]) -> Topic:
    """Returns the topic with written documents, which its other views ignore.

    They were written to fit the query, so they are no negatives where no instruction rules them out.
    """
    labels: Mapping[str, Label] = {doc.doc_id: Label.IGNORE for doc in docs}
    return replace(
        topic,
        docs=(*topic.docs, *docs),
        views=tuple(replace(view, labels={**view.labels, **labels}) for view in topic.views),
    )
