"""Promoted negatives: an instruction that makes a natural negative the right result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from pydantic import BaseModel, Field

from obverse.records import Label, Topic, View
from obverse.synthesis.classification import Classified, classify
from obverse.synthesis.dialogue import Dialogue, Prompt, Rejected, Skip
from obverse.synthesis.documents import Shown, show
from obverse.synthesis.labels import ignoring, instructed_labels
from obverse.synthesis.levers import check_lever, draw_levers, draw_voice, offer
from obverse.synthesis.prompts import PROMOTE, RULES, SYSTEM
from obverse.synthesis.wording import check_instruction, said


class Promotion(BaseModel):
    """The final instruction, and which other documents meet it."""

    lever: str | None = Field(None, description="the name of the lever taken")
    instruction: str | None = Field(description="the final instruction, or null to decline")
    also_satisfy: list[int] = Field(description="the numbers of the other documents that meet it")


def promoted_negative(topic: Topic, rng: Random) -> Dialogue[Topic]:
    """Returns the topic with one more view, in which a natural negative is the positive.

    The LLM first tells false negatives, convertible and other candidates apart, all in one question; the code picks
    a convertible one; the LLM writes the instruction that makes it right and the old positive wrong. False negatives
    are ignored in the plain view from then on; candidates that meet the instruction too are ignored under it.

    After *Natural Hard-Negative Mining from Positives for Instruction-Following Retrieval*; levers and tones that the
    code draws are ours, and the other documents that meet the instruction are asked for in the same question.

    Raises:
        Skip: If the topic has no usable negative.
    """
    shown = show(topic)
    found = yield from classify(topic, shown)
    promoted, idea = found.choose(rng, topic)
    levers, voice = draw_levers(rng), draw_voice(rng)
    question = PROMOTE.format(
        promoted=shown.numbers[promoted],
        positive=shown.numbers[found.positive],
        idea=idea or "none yet",
        levers=offer(levers),
        voice=voice,
        rules=RULES,
    )
    answer: Promotion = yield Prompt(
        "promote",
        SYSTEM,
        f"{shown.text}\n\n{question}",
        Promotion,
        _check(topic, shown, {promoted, found.positive}, levers),
    )
    cleaned = ignoring(topic, found.false_negatives | shown.hidden(topic))
    view = View(
        said(answer.instruction),
        promoted_labels(cleaned, found, promoted, shown.doc_ids(answer.also_satisfy)),
        {
            "method": "promoted_negative",
            "side": "promote",
            "lever": answer.lever,
            "asked_for": {"levers": levers, "voice": voice},
            **shown.note,
        },
    )
    return cleaned.with_views([*cleaned.views, view])


def promoted_labels(
    cleaned: Topic, found: Classified, promoted: str, also: Iterable[str]
) -> dict[str, Label]:
    """Returns the labels under the instruction that promotes a candidate.

    A false negative was asked about like any other candidate: where it is not said to meet the instruction it is a
    negative here.
    """
    plain = _plain(cleaned)
    unsure = set(plain.ids(Label.IGNORE)) - found.false_negatives
    return instructed_labels(
        plain,
        positive=promoted,
        demoted=found.positive,
        ignored={*also, *unsure, *other_positives(plain, found.positive)},
    )


def other_positives(plain: View, positive: str) -> set[str]:
    """Returns the plain view's positives that no question was about; what an instruction makes of them is unknown."""
    return set(plain.positives) - {positive}


def _plain(topic: Topic) -> View:
    if topic.plain_view is None:
        raise Skip("the topic has no view without instruction")
    return topic.plain_view


def check_numbers(numbers: Iterable[int], shown: Shown, taken: set[str]) -> None:
    """Checks that an answer lists documents that were shown, and none whose role is fixed.

    Raises:
        Rejected: With the code ``wrong-documents`` or ``contradiction``.
    """
    unknown = set(numbers) - set(shown.numbers.values())
    if unknown:
        raise Rejected("wrong-documents", f"no document has the number {min(unknown)}")
    fixed = set(numbers) & {shown.numbers[doc_id] for doc_id in taken}
    if fixed:
        raise Rejected("contradiction", f"document {min(fixed)} cannot be among the others")


def _check(
    topic: Topic, shown: Shown, taken: set[str], levers: list[str]
) -> Callable[[Promotion], None]:
    def check(answer: Promotion) -> None:
        check_instruction(said(answer.instruction), query=topic.query, texts=texts(topic))
        check_numbers(answer.also_satisfy, shown, taken)
        check_lever(answer.lever, levers)

    return check


def texts(topic: Topic) -> list[str]:
    """Returns what no instruction may copy from: titles and texts."""
    return [f"{doc.title}\n{doc.text}" for doc in topic.docs]
