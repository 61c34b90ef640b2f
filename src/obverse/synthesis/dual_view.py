"""Dual views by polarity reversal: from an instruction to one under which positive and instruction negative swap."""

from __future__ import annotations

from collections.abc import Generator
from random import Random
from typing import Any

from pydantic import BaseModel, Field

from obverse.records import Label, Topic, View
from obverse.synthesis.dialogue import Dialogue, Prompt, Rejected, Skip
from obverse.synthesis.documents import Shown, show
from obverse.synthesis.labels import instructed_labels, with_ignored
from obverse.synthesis.levers import check_lever, draw_levers, draw_voice, offer
from obverse.synthesis.natural_dual_view import natural_dual_view
from obverse.synthesis.promoted_negative import check_numbers, other_positives, texts
from obverse.synthesis.prompts import REVERSE, RULES, SYSTEM, VERIFY
from obverse.synthesis.wording import check_instruction, said


class Reversal(BaseModel):
    """The reversed instruction, and which other documents meet it."""

    lever: str | None = Field(None, description="the name of the lever taken")
    new_instruction: str | None = Field(description="the new instruction, or null to decline")
    also_satisfy: list[int] = Field(
        [], description="the numbers of the other documents that meet it"
    )


class Satisfying(BaseModel):
    """Which documents satisfy the query and the instruction."""

    satisfying: list[int] = Field(description="their numbers")


def dual_view(topic: Topic, rng: Random) -> Dialogue[Topic | list[View]]:
    """Returns the reversed view of an instructed one; a topic without any gets a natural dual view.

    One instruction negative of an instructed view is chosen; the LLM writes an instruction under which it is right
    and the old positive is ruled out, or declines. Where other instruction negatives remain, a second question, which
    shows neither roles nor the old instruction, checks that they stay out.

    After Zeng, Yu, Mehta, Zhao, Samdani (2026), *Dual-View Training for Instruction-Following Information Retrieval*,
    https://arxiv.org/abs/2604.18845. Differences: the code draws the levers from a quota table, the LLM names the
    other documents that meet the new instruction (they are ignored under it), and the remaining instruction negatives
    are verified instead of only asked for.

    Raises:
        Skip: If there is nothing to reverse.
    """
    if not topic.instructed_views:
        found: Topic = yield from natural_dual_view(topic, rng)
        return found
    shown = show(topic)
    view, positive, promoted = _seed(topic, shown, rng)
    rest = [d for d in view.ids(Label.INSTRUCTION_NEGATIVE) if d != promoted and d in shown.numbers]
    levers, voice = draw_levers(rng), draw_voice(rng)
    asked = _question(shown, view, (positive, promoted), rest, levers, voice)
    answer = yield from _reverse(topic, shown, view, (positive, promoted), asked, levers)
    instruction = said(answer.new_instruction)
    also = shown.doc_ids(answer.also_satisfy)
    if rest:
        also |= yield from _verify(shown, instruction, positive, promoted)
    origin = {
        "method": "dual_view",
        "side": "reversed",
        "reversed": view.instruction,
        "lever": answer.lever,
        "asked_for": {"levers": levers, "voice": voice},
        **shown.note,
    }
    labels = with_ignored(_labels(topic, view, positive, promoted, also), shown.hidden(topic))
    return [View(instruction, labels, origin)]


def _seed(topic: Topic, shown: Shown, rng: Random) -> tuple[View, str, str]:
    """Returns the view to reverse, its positive and the instruction negative that becomes right."""
    seeds = []
    for view in topic.instructed_views:
        positives = [doc_id for doc_id in view.positives if doc_id in shown.numbers]
        demoted = [d for d in view.ids(Label.INSTRUCTION_NEGATIVE) if d in shown.numbers]
        for chosen in demoted:
            if positives and not _is_reversed(topic, positives[0], chosen):
                seeds.append((view, positives[0], chosen))
    if not any(view.ids(Label.INSTRUCTION_NEGATIVE) for view in topic.instructed_views):
        raise Skip("no instruction negative to reverse")
    if not seeds:
        raise Skip("every instructed view has its reversal")
    return rng.choice(seeds)


def _is_reversed(topic: Topic, positive: str, demoted: str) -> bool:
    return any(
        view.labels.get(demoted) == Label.POSITIVE
        and view.labels.get(positive) == Label.INSTRUCTION_NEGATIVE
        for view in topic.instructed_views
    )


def _question(
    shown: Shown,
    view: View,
    pair: tuple[str, str],
    rest: list[str],
    levers: list[str],
    voice: str,
) -> str:
    positive, promoted = pair
    numbers = shown.enumerated(rest) if rest else ""
    return REVERSE.format(
        original=view.instruction,
        positive=shown.numbers[positive],
        promoted=shown.numbers[promoted],
        rest=f"; so is document {numbers}" if rest else "",
        check=f", and document {numbers} still out" if rest else "",
        levers=offer(levers),
        voice=voice,
        rules=RULES,
    )


def _reverse(
    topic: Topic,
    shown: Shown,
    view: View,
    pair: tuple[str, str],
    question: str,
    levers: list[str],
) -> Generator[Prompt[Any], Any, Reversal]:
    def check(answer: Reversal) -> None:
        check_instruction(
            said(answer.new_instruction),
            query=topic.query,
            texts=texts(topic),
            original=view.instruction,
        )
        check_numbers(answer.also_satisfy, shown, set(pair))
        check_lever(answer.lever, levers)

    plain = topic.plain_view
    to_plain_positive = plain is not None and plain.labels.get(pair[1]) == Label.POSITIVE
    # Two names, because a topic can be reversed from either of its two views.
    stage = "reverse-to-positive" if to_plain_positive else "reverse"
    user = f"{shown.text}\n\n{question}"
    answer: Reversal = yield Prompt(stage, SYSTEM, user, Reversal, check)
    return answer


def _verify(
    shown: Shown, instruction: str, positive: str, promoted: str
) -> Generator[Prompt[Any], Any, set[str]]:
    """Asks, without roles, what satisfies the new instruction; returns the ids besides the new positive."""

    def check(answer: Satisfying) -> None:
        check_numbers(answer.satisfying, shown, set())

    user = f"{shown.text}\n\n{VERIFY.format(instruction=instruction)}"
    answer: Satisfying = yield Prompt("verify", SYSTEM, user, Satisfying, check)
    satisfying = shown.doc_ids(answer.satisfying)
    if promoted not in satisfying:
        raise Rejected("not-satisfied", "the new positive does not meet the new instruction")
    if positive in satisfying:
        raise Rejected("not-reversed", "the old positive meets the new instruction too")
    return satisfying - {promoted}


def _labels(
    topic: Topic, view: View, positive: str, promoted: str, also: set[str]
) -> dict[str, Label]:
    """Returns the labels of the reversed view.

    Whatever was not named is a negative, but for what nobody asked about, and, where the plain positive is right
    again, for what the plain view ignores: it may answer like its positive does.
    """
    plain = topic.plain_view
    ignored = set(also)
    if plain is not None:
        ignored |= other_positives(plain, plain.positives[0])
        if plain.labels.get(promoted) == Label.POSITIVE:
            ignored |= set(plain.ids(Label.IGNORE))
    return instructed_labels(view, positive=promoted, demoted=positive, ignored=ignored)
