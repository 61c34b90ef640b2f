"""Promptriever's way: a long instruction for the positive, and written documents that break it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from pydantic import BaseModel, Field

from obverse.records import Doc, Label, Topic, View
from obverse.synthesis.dialogue import Dialogue, Prompt, Rejected, Skip
from obverse.synthesis.documents import Shown, plain_positive, show
from obverse.synthesis.generated import Written, as_doc, ask_fits, check_written, with_documents
from obverse.synthesis.labels import ignoring
from obverse.synthesis.promoted_negative import texts
from obverse.synthesis.prompts import LONG_INSTRUCTION, SYSTEM, VIOLATIONS
from obverse.synthesis.wording import check_instruction, said

STYLES: dict[str, str] = {
    "plain": "says what counts, point by point, without saying who asks",
    "negation": "says mostly what does not count, with at least one outright exclusion",
    "background": "begins with the situation behind the query and lets the conditions follow from it",
    "persona": "in the first person, by somebody with a certain job or aim",
}
LENGTHS: dict[str, tuple[str, int, int]] = {
    "short": ("one or two sentences", 3, 70),
    "medium": ("three to five sentences", 7, 150),
    "long": ("six to nine sentences", 12, 300),
}
"""What the prompt says, and the most sentences and words that are let through."""

WAYS: tuple[str, ...] = (
    "it reads the query in another sense or for another case than the instruction means",
    "it leaves out something that the instruction demands",
    "it brings in something that the instruction shuts out",
)


class Instruction(BaseModel):
    """The instruction."""

    instruction: str | None = Field(description="the instruction, or null to decline")


class Violations(BaseModel):
    """Documents that fit the query and fail the instruction."""

    documents: list[Written] = Field(description="each with a title and a text")


def promptriever(topic: Topic, rng: Random, count: int = 3) -> Dialogue[Topic]:
    """Returns the topic with an instructed view that keeps its positive, and written instruction negatives.

    The LLM writes an instruction in a drawn style and length; then documents that fit the query and fail the
    instruction, each in another way; then judges all of them and the positive, in a drawn order and without roles.
    A written document stays only if it fits the query and fails the instruction.

    After Weller et al. (2024), *Promptriever: Instruction-Trained Retrievers Can Be Prompted Like Language Models*,
    https://arxiv.org/abs/2409.11136. Differences: positives that fail the check are rejected instead of replaced by
    written ones; one LLM can do all three steps; the topic's real negatives stay, those with the label ``negative``
    being unchecked under the new instruction.

    Args:
        topic: A topic with a plain view.
        rng: Draws style, length and the order of the check.
        count: How many documents are written.

    Raises:
        Skip: If no positive has a text, or no written document passes.
        Rejected: With the code ``positive-broken``, if the positive fails its own instruction.
    """
    shown = show(topic)
    positive = plain_positive(topic, shown)
    topic = ignoring(topic, shown.hidden(topic))
    style, length = rng.choice(list(STYLES)), rng.choice(list(LENGTHS))
    number = shown.numbers[positive]
    question = LONG_INSTRUCTION.format(
        positive=number, style=STYLES[style], length=LENGTHS[length][0]
    )
    answer: Instruction = yield Prompt(
        "instruct", SYSTEM, f"{shown.text}\n\n{question}", Instruction, _check(topic, length)
    )
    instruction = said(answer.instruction)
    made: Violations = yield _violations(topic, shown, number, instruction, count)
    written = [as_doc(topic, one) for one in made.documents]
    docs = [topic.doc(positive), *written]
    verdicts = yield from ask_fits(topic.query, instruction, docs, rng)
    if not verdicts[positive].instruction:
        raise Rejected("positive-broken", "the positive does not meet its instruction")
    kept = [
        doc
        for doc in written
        if doc.doc_id in verdicts
        and verdicts[doc.doc_id].query
        and not verdicts[doc.doc_id].instruction
    ]
    if not kept:
        raise Skip("no written document fits the query and fails the instruction")
    origin = {
        "method": "promptriever",
        "side": "keep",
        "lever": style,
        "length": length,
        "written": [len(kept), len(written)],
        **shown.note,
    }
    grown = with_documents(topic, kept)
    view = View(instruction, _labels(topic, positive, kept), origin)
    return grown.with_views([*grown.views, view])


def _violations(
    topic: Topic, shown: Shown, number: int, instruction: str, count: int
) -> Prompt[Violations]:
    ways = "\n".join(f"  {n}. {WAYS[(n - 1) % len(WAYS)]}" for n in range(1, count + 1))
    question = VIOLATIONS.format(
        instruction=instruction,
        positive=number,
        count=count,
        ways=ways,
        words=typical_words(topic),
    )

    def check(answer: Violations) -> None:
        if len(answer.documents) != count:
            raise Rejected("wrong-documents", f"{len(answer.documents)} instead of {count}")
        check_written(answer.documents, topic)

    user = f"{shown.text}\n\n{question}"
    return Prompt("violate", SYSTEM, user, Violations, check, max_tokens=4_096, temperature=0.7)


def _check(topic: Topic, length: str) -> Callable[[Instruction], None]:
    _, sentences, words = LENGTHS[length]

    def check(answer: Instruction) -> None:
        check_instruction(
            said(answer.instruction),
            query=topic.query,
            texts=texts(topic),
            max_sentences=sentences,
            max_words=words,
        )

    return check


def _labels(topic: Topic, positive: str, kept: list[Doc]) -> dict[str, Label]:
    """What fails the query fails any instruction to it; other positives are unknown."""
    plain = topic.plain_view
    labels = dict(plain.labels) if plain else {}
    labels = {
        doc_id: Label.IGNORE if label == Label.POSITIVE and doc_id != positive else label
        for doc_id, label in labels.items()
    }
    return labels | {doc.doc_id: Label.INSTRUCTION_NEGATIVE for doc in kept}


def typical_words(topic: Topic) -> int:
    """Returns the middle length of the topic's documents, in words, rounded, from 20 to 200."""
    lengths = sorted(len(doc.text.split()) for doc in topic.docs if doc.text.strip())
    return min(200, max(20, round(lengths[len(lengths) // 2], -1)))
