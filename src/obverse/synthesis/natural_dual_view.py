"""Natural dual views: two instructions under which the positive and a natural negative swap places."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from pydantic import BaseModel, Field

from obverse.records import Label, Topic, View
from obverse.synthesis.classification import Classified, classify
from obverse.synthesis.dialogue import Dialogue, Prompt
from obverse.synthesis.documents import Shown, show
from obverse.synthesis.labels import ignoring, instructed_labels
from obverse.synthesis.levers import VOICES, check_lever, draw_levers, offer
from obverse.synthesis.promoted_negative import (
    check_numbers,
    other_positives,
    promoted_labels,
    texts,
)
from obverse.synthesis.prompts import INSTRUCT, RULES, SYSTEM
from obverse.synthesis.wording import check_instruction, said


class Pair(BaseModel):
    """Both instructions, and which other documents meet each."""

    lever: str | None = Field(None, description="the name of the lever taken")
    keep_instruction: str | None = Field(description="the first instruction, or null to decline")
    promote_instruction: str | None = Field(description="the second, or null to decline")
    also_satisfy_keep: list[int] = Field(description="other documents that meet the first")
    also_satisfy_promote: list[int] = Field(description="other documents that meet the second")


def natural_dual_view(topic: Topic, rng: Random) -> Dialogue[Topic]:
    """Returns the topic with two more views: one keeps the positive, one promotes a natural negative.

    No document is written: both are real. Under the first instruction the negative is ruled out, under the second
    the positive is. Ours; it joins the two-sidedness of Zeng et al. (2026), *Dual-View Training for
    Instruction-Following Information Retrieval*, https://arxiv.org/abs/2604.18845, with the natural negatives of
    *Natural Hard-Negative Mining from Positives for Instruction-Following Retrieval*.

    Raises:
        Skip: If the topic has no usable negative.
    """
    shown = show(topic)
    found = yield from classify(topic, shown)
    promoted, idea = found.choose(rng, topic)
    voices, levers = rng.sample(VOICES, 2), draw_levers(rng)
    question = INSTRUCT.format(
        positive=shown.numbers[found.positive],
        promoted=shown.numbers[promoted],
        idea=idea or "none yet",
        levers=offer(levers),
        keep_voice=voices[0],
        promote_voice=voices[1],
        rules=RULES,
    )
    pair: Pair = yield Prompt(
        "instruct",
        SYSTEM,
        f"{shown.text}\n\n{question}",
        Pair,
        _check(topic, shown, {promoted, found.positive}, levers),
    )
    keep, promote = said(pair.keep_instruction), said(pair.promote_instruction)
    cleaned = ignoring(topic, found.false_negatives | shown.hidden(topic))
    also = shown.doc_ids(pair.also_satisfy_promote)
    views = (
        View(
            keep,
            kept_labels(cleaned, found, promoted, shown.doc_ids(pair.also_satisfy_keep)),
            _origin("keep", pair, levers, voices[0], shown),
        ),
        View(
            promote,
            promoted_labels(cleaned, found, promoted, also),
            _origin("promote", pair, levers, voices[1], shown),
        ),
    )
    return cleaned.with_views([*cleaned.views, *views])


def kept_labels(
    cleaned: Topic, found: Classified, demoted: str, also: set[str]
) -> dict[str, Label]:
    """Returns the labels under the instruction that keeps the plain positive right.

    What answers the query may well meet an instruction that its positive meets: false negatives stay ignored.
    """
    plain = cleaned.plain_view
    assert plain is not None  # classify has asked about its positive
    return instructed_labels(
        plain,
        positive=found.positive,
        demoted=demoted,
        ignored={*also, *plain.ids(Label.IGNORE), *other_positives(plain, found.positive)},
    )


def _origin(
    side: str, pair: Pair, levers: list[str], voice: str, shown: Shown
) -> dict[str, object]:
    return {
        "method": "natural_dual_view",
        "side": side,
        "lever": pair.lever,
        "asked_for": {"levers": levers, "voice": voice},
        **shown.note,
    }


def _check(
    topic: Topic, shown: Shown, taken: set[str], levers: list[str]
) -> Callable[[Pair], None]:
    def check(pair: Pair) -> None:
        keep, promote = said(pair.keep_instruction), said(pair.promote_instruction)
        sources = texts(topic)
        check_instruction(keep, query=topic.query, texts=sources)
        check_instruction(promote, query=topic.query, texts=sources, original=keep)
        check_numbers(pair.also_satisfy_keep, shown, taken)
        check_numbers(pair.also_satisfy_promote, shown, taken)
        check_lever(pair.lever, levers)

    return check
