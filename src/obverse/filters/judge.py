"""An LLM as judge of finished views: blind, in two orders, with evidence that must stand in the document."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from obverse.errors import SettingError
from obverse.filters.dropping import keep_views
from obverse.identity import normalised
from obverse.llm.yes_no import YesNo
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops, Stage
from obverse.synthesis.dialogue import Dialogue, Prompt, Rejected, Skip
from obverse.synthesis.documents import EXCERPT_CHARS, Shown, show
from obverse.synthesis.prompts import JUDGE, JUDGE_ONE, SYSTEM

if TYPE_CHECKING:
    from obverse.llm.lanes import Lane

POSITIVE_FAILS = "judge: the positive does not satisfy the instruction"
NEGATIVE_PASSES = "judge: an instruction negative satisfies the instruction"
DISAGREES = "judge: the two orders disagree"
NO_VERDICT = "judge: no usable verdict"
ALSO_SATISFIES = "judge: a negative satisfies the instruction (now ignored)"

Verdicts = Mapping[str, str]
Scoring = Literal["text", "logprobs"]


class Judgement(BaseModel):
    """What one document is."""

    document: int
    evidence: str
    verdict: Literal["satisfies", "breaks", "off_topic"]


class Judgements(BaseModel):
    """What every document is."""

    documents: list[Judgement] = Field(description="one entry for each document")


def judge(
    llm: Lane,
    run_dir: str | os.PathLike[str],
    seed: int = 0,
    same_model: bool = False,
    scoring: Scoring = "text",
    yes_at: float = 0.5,
) -> Stage:
    """Returns the stage that asks an LLM about every instructed view and drops those that it finds wrong.

    The judge sees query, instruction and documents, in a drawn order and in its reverse, and nothing of labels,
    methods or other views. A view stays where, both times, its positives satisfy the instruction and no instruction
    negative does; further negatives that satisfy it either time become ``ignore``. Each "satisfies" needs a span of
    the document as evidence, which must stand in it. The verdict is stored in ``checks["judge"]``. Replies go through
    the engine: journal, repair and rejects as in synthesis.

    With ``scoring="logprobs"`` each document is asked about alone, yes or no, and satisfies where the probability of
    yes reaches ``yes_at``; where the endpoint sends no log-probabilities, the view is judged by text.

    Args:
        llm: Where replies come from.
        run_dir: The run's folder with its journal.
        seed: Draws the orders.
        same_model: Whether a model may judge what it wrote itself.
        scoring: ``text`` or ``logprobs``.
        yes_at: From which probability of yes a document satisfies.

    Raises:
        SettingError: If a view was written by the judging model and ``same_model`` is not set, or a setting makes no
            sense.
    """
    if scoring not in ("text", "logprobs"):
        raise SettingError(f"unknown scoring {scoring!r}", fix="Use text or logprobs")
    if not 0.0 < yes_at < 1.0:
        raise SettingError(f"yes_at is {yes_at}", fix="Give a number between 0 and 1")
    options = {"scoring": scoring, "yes_at": yes_at} if scoring == "logprobs" else {}

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        from obverse.synthesis.engine import synthesize

        before: dict[str, Topic] = {}
        checked = _refusing_own(topics, llm.model, same_model, before)
        for judged in synthesize(
            checked,
            Drops(),
            method=judge_views,
            llm=llm,
            run_dir=run_dir,
            seed=seed,
            options=options,
        ):
            topic = _with_verdicts(before.pop(judged.topic_id), judged)
            if (left := decide(topic, drops, llm.model)) is not None:
                yield left

    return stage


def _with_verdicts(topic: Topic, judged: Topic) -> Topic:
    """The engine notes model and replies as the origin of what a method returns; a judge is no origin."""
    return topic.with_views(
        replace(view, checks=after.checks)
        for view, after in zip(topic.views, judged.views, strict=True)
    )


def _refusing_own(
    topics: Iterable[Topic], model: str, same_model: bool, before: dict[str, Topic]
) -> Iterator[Topic]:
    for topic in topics:
        before[topic.topic_id] = topic
        if not same_model and any(view.origin.get("model") == model for view in topic.views):
            raise SettingError(
                f"{model} would judge what it wrote itself",
                where=f"topic {topic.topic_id!r}",
                fix="Name another model for the judge, or allow it with --same-model",
            )
        yield topic


def judge_views(
    topic: Topic, rng: Random, scoring: Scoring = "text", yes_at: float = 0.5
) -> Dialogue[Topic]:
    """Returns the topic with the judge's verdicts in the checks of its instructed views.

    Args:
        topic: The topic.
        rng: Draws the orders.
        scoring: ``text``, or ``logprobs`` where the endpoint sends them.
        yes_at: From which probability of yes a document satisfies.

    Raises:
        Skip: If there is no instructed view.
    """
    if not topic.instructed_views:
        raise Skip("no instructed view")
    views = []
    for view in topic.views:
        if view.is_plain:
            views.append(view)
            continue
        docs = [doc for doc in topic.docs if doc.doc_id in view.labels and doc.text.strip()]
        rng.shuffle(docs)
        try:
            if scoring == "logprobs":
                sure = yield from _probabilities(topic.query, view.instruction, docs)
                if sure is not None:
                    views.append(view.checked(judge={"probabilities": sure, "yes_at": yes_at}))
                    continue
            forward = yield from _ask(topic.query, view.instruction, docs)
            backward = yield from _ask(topic.query, view.instruction, docs[::-1])
        except Rejected as unusable:
            views.append(view.checked(judge={"unusable": unusable.code}))
            continue
        views.append(view.checked(judge={"forward": dict(forward), "backward": dict(backward)}))
    return topic.with_views(views)


def _probabilities(
    query: str, instruction: str, docs: Sequence[Doc]
) -> Generator[Prompt[Any], Any, dict[str, float] | None]:
    """Returns how likely each document satisfies the instruction, or None where the endpoint does not say."""
    found: dict[str, float] = {}
    for doc in docs:
        shown = show(Topic("", query, (doc,), ()))
        user = f"{shown.text}\n\n{JUDGE_ONE.format(instruction=instruction)}"
        try:
            answer: YesNo = yield Prompt(
                "judge-one", SYSTEM, user, YesNo, max_tokens=4, yes_no=True
            )
        except Rejected:  # such as a model that thinks first
            return None
        if not answer.measured:
            return None
        found[doc.doc_id] = round(answer.probability, 6)
    return found


def _ask(
    query: str, instruction: str, docs: Sequence[Doc]
) -> Generator[Prompt[Any], Any, Verdicts]:
    shown = show(Topic("", query, tuple(docs), ()))
    user = f"{shown.text}\n\n{JUDGE.format(instruction=instruction)}"
    check = _check(shown, {doc.doc_id: doc for doc in docs})
    answer: Judgements = yield Prompt("judge", SYSTEM, user, Judgements, check, max_tokens=2_048)
    by_number = {one.document: one.verdict for one in answer.documents}
    return {doc_id: by_number[number] for doc_id, number in shown.numbers.items()}


def _check(shown: Shown, docs: Mapping[str, Doc]) -> Callable[[Judgements], None]:
    texts = {
        number: normalised(f"{docs[doc_id].title}\n{docs[doc_id].text[:EXCERPT_CHARS]}")
        for doc_id, number in shown.numbers.items()
    }

    def check(answer: Judgements) -> None:
        if sorted(one.document for one in answer.documents) != sorted(texts):
            raise Rejected("wrong-documents", f"asked about {sorted(texts)}")
        for one in answer.documents:
            span = normalised(one.evidence).strip(" .\"'“”…")
            if one.verdict == "satisfies" and not span:
                raise Rejected("no-evidence", f"document {one.document}")
            if span and span not in texts[one.document]:
                raise Rejected(
                    "evidence-not-found", f"document {one.document}: {one.evidence[:80]}"
                )

    return check


def decide(topic: Topic, drops: Drops, model: str = "") -> Topic | None:
    """Returns the topic without the views that its judge found wrong, or None where none is left."""
    kept = []
    for view in topic.views:
        if view.is_plain:
            kept.append(view)
            continue
        found = view.checks.get("judge") or {"unusable": "not judged"}
        reason, also = _reason(view, found)
        if reason:
            drops.add(topic.topic_id, reason, view=view, judge=found)
            continue
        labels = {d: Label.IGNORE if d in also else label for d, label in view.labels.items()}
        for doc_id in also:
            drops.add(topic.topic_id, ALSO_SATISFIES, view=view, doc_id=doc_id)
        kept.append(
            replace(view, labels=labels).checked(judge={**found, "valid": True, "model": model})
        )
    return keep_views(topic, kept, drops)


def _reason(view: View, found: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    """Returns why a view must go, or None and the negatives that satisfy its instruction too."""
    if "unusable" in found:
        return NO_VERDICT, []
    if "probabilities" in found:
        sure = {d for d, yes in found["probabilities"].items() if yes >= found["yes_at"]}
        return _verdict(view, [sure, sure])
    passes = [
        {doc_id for doc_id, verdict in found[order].items() if verdict == "satisfies"}
        for order in ("forward", "backward")
    ]
    return _verdict(view, passes)


def _verdict(view: View, passes: Sequence[set[str]]) -> tuple[str | None, list[str]]:
    both, either = passes[0] & passes[1], passes[0] | passes[1]
    right, wrong = set(view.positives), set(view.ids(Label.INSTRUCTION_NEGATIVE))
    if right - either:
        return POSITIVE_FAILS, []
    if wrong & both:
        return NEGATIVE_PASSES, []
    if right - both or wrong & either:
        return DISAGREES, []
    return None, [doc_id for doc_id in view.ids(Label.NEGATIVE) if doc_id in either]
