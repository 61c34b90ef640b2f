"""InF-IR's way: a poisoned instruction and a poisoned query, each with a document that fits the wrong pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from pydantic import BaseModel, Field

from obverse.records import Doc, Label, Topic, View
from obverse.synthesis.dialogue import Dialogue, Prompt, Rejected
from obverse.synthesis.documents import plain_positive, show
from obverse.synthesis.generated import (
    Verdict,
    Written,
    as_doc,
    ask_fits,
    check_written,
    with_documents,
)
from obverse.synthesis.labels import ignoring
from obverse.synthesis.promoted_negative import texts
from obverse.synthesis.promptriever import Instruction, typical_words
from obverse.synthesis.prompts import LONG_INSTRUCTION, POISON, RULES, SYSTEM
from obverse.synthesis.wording import check_instruction, said


class NearMisses(BaseModel):
    """The opposite instruction and the opposite query, each with its document."""

    opposite_instruction: str | None = Field(description="for the same query; or null to decline")
    document_for_opposite_instruction: Written = Field(description="with a title and a text")
    opposite_query: str = Field(description="a query that the first instruction suits too")
    document_for_opposite_query: Written = Field(description="with a title and a text")


def inf_ir(topic: Topic, rng: Random) -> Dialogue[Topic]:
    """Returns the topic with two views: an instruction that keeps the positive, and its opposite.

    The LLM writes an instruction that the positive meets; then poisons the pair twice: an opposite instruction with a
    document that fits it, and an opposite query with a document that fits that query and the first instruction. Two
    blind questions judge the documents. The first document is the instruction negative of the first view and the
    positive of the second; the second document is a negative in both.

    After Zhuang et al. (2025), *Towards Better Instruction Following Retrieval Models*,
    https://arxiv.org/abs/2505.21439. Differences: the pair of opposite query and first instruction makes no topic of
    its own, its document serves as a negative; what the judge must say is fixed here.

    Raises:
        Skip: If no positive has a text.
        Rejected: With the code ``positive-broken`` or ``not-poisoned``, if a document does not fit what it should.
    """
    shown = show(topic)
    positive = plain_positive(topic, shown)
    topic = ignoring(topic, shown.hidden(topic))
    number = shown.numbers[positive]
    ask = LONG_INSTRUCTION.format(
        positive=number,
        style="says what is wanted, as a short order",
        length="one or two sentences",
    )
    answer: Instruction = yield Prompt(
        "instruct", SYSTEM, f"{shown.text}\n\n{ask}", Instruction, _check_instruction(topic)
    )
    instruction = said(answer.instruction)
    poison = POISON.format(
        instruction=instruction, positive=number, words=typical_words(topic), rules=RULES
    )
    misses: NearMisses = yield Prompt(
        "poison",
        SYSTEM,
        f"{shown.text}\n\n{poison}",
        NearMisses,
        _check_misses(topic, instruction),
        max_tokens=4_096,
        temperature=0.7,
    )
    opposite = said(misses.opposite_instruction)
    first = as_doc(topic, misses.document_for_opposite_instruction)
    second = as_doc(topic, misses.document_for_opposite_query)
    docs = [topic.doc(positive), first, second]
    under_first = yield from ask_fits(topic.query, instruction, docs, rng, "check")
    under_opposite = yield from ask_fits(topic.query, opposite, docs, rng, "check-opposite")
    _judge(under_first, under_opposite, positive, first, second)
    grown = with_documents(topic, [first])
    grown = _with_negative(grown, second)
    views = [
        _view(topic, instruction, "keep", positive, first.doc_id, second.doc_id),
        _view(topic, opposite, "promote", first.doc_id, positive, second.doc_id),
    ]
    return grown.with_views([*grown.views, *views])


def _judge(
    under_first: Mapping[str, Verdict],
    under_opposite: Mapping[str, Verdict],
    positive: str,
    first: Doc,
    second: Doc,
) -> None:
    if not under_first[positive].instruction or under_opposite[positive].instruction:
        raise Rejected("positive-broken", "the positive fits the wrong instruction")
    found = under_first.get(first.doc_id), under_opposite.get(first.doc_id)
    if found[0] is None or found[0].instruction or found[1] is None or not found[1].instruction:
        raise Rejected(
            "not-poisoned", "the document for the opposite instruction fits the wrong one"
        )
    other = under_first.get(second.doc_id)
    if other is None or other.query:
        raise Rejected("not-poisoned", "the document for the opposite query fits the query")


def _with_negative(topic: Topic, doc: Doc) -> Topic:
    """The judge said that this document does not fit the query: a negative in the plain view too."""
    grown = with_documents(topic, [doc])
    return grown.with_views(
        View(
            view.instruction, {**view.labels, doc.doc_id: Label.NEGATIVE}, view.origin, view.checks
        )
        if view.is_plain
        else view
        for view in grown.views
    )


def _view(
    topic: Topic, instruction: str, side: str, positive: str, demoted: str, off_topic: str
) -> View:
    plain = topic.plain_view
    labels: dict[str, Label] = {
        doc_id: Label.IGNORE if label == Label.POSITIVE else label
        for doc_id, label in (plain.labels if plain else {}).items()
    }
    labels |= {
        positive: Label.POSITIVE,
        demoted: Label.INSTRUCTION_NEGATIVE,
        off_topic: Label.NEGATIVE,
    }
    return View(instruction, labels, {"method": "inf_ir", "side": side, "lever": "opposite"})


def _check_instruction(topic: Topic) -> Callable[[Instruction], None]:
    def check(answer: Instruction) -> None:
        check_instruction(said(answer.instruction), query=topic.query, texts=texts(topic))

    return check


def _check_misses(topic: Topic, instruction: str) -> Callable[[NearMisses], None]:
    def check(answer: NearMisses) -> None:
        check_instruction(
            said(answer.opposite_instruction),
            query=topic.query,
            texts=texts(topic),
            original=instruction,
        )
        if not answer.opposite_query.strip():
            raise Rejected("empty-query")
        check_written(
            [answer.document_for_opposite_instruction, answer.document_for_opposite_query], topic
        )

    return check
