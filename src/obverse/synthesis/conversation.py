"""One topic's dialogue: prompts out, replies read, at most one repair turn, and a verdict that is never silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from obverse.llm.answers import Unusable, read_answer
from obverse.llm.asking import Asked, Asker
from obverse.llm.lanes import Failed, NotAsked
from obverse.llm.money import Price
from obverse.llm.reply import Reply, Usage
from obverse.llm.request import Tags
from obverse.llm.yes_no import read_yes_no
from obverse.records import Topic, View
from obverse.synthesis.dialogue import Dialogue, Prompt, Rejected, Skip

_FINAL = {"model-declined", "refused"}
_MORE_TOKENS = 1.5


@dataclass(frozen=True, slots=True)
class Attempt:
    """One reply that was read: which, for what, and why it was unusable, if it was."""

    tags: Tags
    key: str
    reply: Reply
    from_journal: bool
    code: str | None = None
    detail: str = ""

    @property
    def usage(self) -> Usage:
        return self.reply.usage

    def row(self, price: Price | None = None) -> dict[str, Any]:
        """Returns the attempt as it stands among the rejects: code, raw text, tokens, and cost where it is known."""
        cost = price.of(self.usage, self.reply.lane) if price is not None else None
        return {
            **self.tags.row(),
            "code": self.code,
            "detail": self.detail,
            "reply": self.reply.text,
            "usage": self.usage.row(),
            "cost": cost,
            "key": self.key,
        }


@dataclass(slots=True)
class Outcome:
    """What a topic became.

    Attributes:
        topic: The topic, with its new views if there are any.
        new_views: How many there are.
        reason: Why there is none: a code of :class:`Rejected` or the phrase of :class:`Skip`.
        details: What else the drop says.
        rejected: Whether it is an unusable reply that ended the dialogue.
        unfinished: Why the dialogue did not end, or None.
        attempts: All replies that were read.
    """

    topic: Topic
    new_views: int = 0
    reason: str | None = None
    details: dict[str, Any] = field(default_factory=dict)
    rejected: bool = False
    unfinished: str | None = None
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def rejects(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.code]


async def converse(
    topic: Topic,
    method: str,
    dialogue: Dialogue[list[View] | Topic],
    asker: Asker,
    *,
    order: int = 0,
    recorded_documents: Callable[[Tags], Sequence[str] | None] | None = None,
) -> Outcome:
    """Returns what a dialogue makes of a topic.

    Args:
        topic: The topic.
        method: The method's name.
        dialogue: What it does.
        asker: Where questions go.
        order: Of the topic in its run.
        recorded_documents: Says which documents a recorded reply is about, by their ids in the order of their numbers.

    Raises:
        ObverseError: If the whole run must end.
    """
    outcome = Outcome(topic)
    times: dict[str, int] = {}
    try:
        prompt = next(dialogue)
        while True:
            sample = times.get(prompt.stage, 0)
            times[prompt.stage] = sample + 1
            tags = Tags(method, prompt.stage, topic.topic_id, sample)
            try:
                if recorded_documents is not None:
                    _check_documents(topic, recorded_documents(tags))
                answer = await _answer(prompt, tags, asker, order, outcome.attempts)
            except (Rejected, Failed) as problem:
                rejected = Rejected(problem.code, problem.detail)
                outcome.details = _details(tags.stage, rejected, outcome.attempts)
                prompt = dialogue.throw(rejected)
            else:
                prompt = dialogue.send(answer)
    except StopIteration as end:
        _take(outcome, end.value, method, asker.lane.model)
    except Skip as skip:
        outcome.reason, outcome.details = str(skip) or "skipped", {}
    except Rejected as rejected:
        outcome.reason, outcome.rejected = rejected.code, True
        outcome.details = {**outcome.details, "detail": rejected.detail}
    except NotAsked as waiting:
        outcome.unfinished = waiting.reason
    except Exception as error:
        error.add_note(f"in the method {method}, topic {topic.topic_id!r}")
        raise
    finally:
        dialogue.close()
    return outcome


def _check_documents(topic: Topic, recorded: Sequence[str] | None) -> None:
    """A recorded reply speaks of documents by their numbers: in another topic, or another order, it means others.

    Raises:
        Rejected: With the code ``other-documents``.
    """
    ids = [doc.doc_id for doc in topic.docs]
    if recorded is None or ids[: len(recorded)] == list(recorded):
        return
    for number, then in enumerate(recorded, start=1):
        now = ids[number - 1] if number <= len(ids) else None
        if now != then:
            told = "is missing" if now is None else f"is {now!r} in the topic"
            raise Rejected("other-documents", f"document {number}, {then!r} in the replies, {told}")


async def _answer(
    prompt: Prompt[Any], tags: Tags, asker: Asker, order: int, attempts: list[Attempt]
) -> BaseModel:
    asked = await asker.ask(prompt, tags, order=order)
    try:
        return _read(asked, prompt, attempts)
    except Rejected as problem:
        if problem.code in _FINAL:
            raise
        first = problem
    try:
        again = await asker.ask(repair_turn(prompt, first), replace(tags, repair=True), order=order)
    except Failed as failed:
        if failed.code == "no-recorded-reply":
            raise first from None
        raise
    return _read(again, prompt, attempts)


def _read(asked: Asked, prompt: Prompt[Any], attempts: list[Attempt]) -> BaseModel:
    request, reply, known = asked.request, asked.reply, asked.from_journal
    try:
        answer: BaseModel = (
            read_yes_no(reply) if prompt.yes_no else read_answer(reply, prompt.answer)
        )
        if prompt.check is not None:
            prompt.check(answer)
    except (Unusable, Rejected) as problem:
        attempts.append(
            Attempt(request.tags, request.key, reply, known, problem.code, problem.detail)
        )
        raise Rejected(problem.code, problem.detail) from None
    attempts.append(Attempt(request.tags, request.key, reply, known))
    return answer


def repair_turn(prompt: Prompt[Any], problem: Rejected) -> Prompt[Any]:
    """Returns the one second try: the prompt as it was and what was wrong, never the dialogue so far.

    A reply that was cut off is asked for again with room for half as much more.
    """
    if problem.code == "cut-off":
        return replace(prompt, max_tokens=int(prompt.max_tokens * _MORE_TOKENS))
    wrong = f"{problem.code} ({problem.detail[:200]})" if problem.detail else problem.code
    hint = (
        f"An earlier reply to this could not be used: {wrong}. Reply anew, in the form asked for."
    )
    if problem.code == "whitespace-loop":
        hint = "Reply with compact JSON on a single line, without indentation."
    return replace(prompt, user=f"{prompt.user}\n\n{hint}")


def _details(stage: str, rejected: Rejected, attempts: list[Attempt]) -> dict[str, Any]:
    raw = attempts[-1].reply.text if attempts and attempts[-1].code == rejected.code else None
    details = {"stage": stage, "detail": rejected.detail}
    return details if raw is None else details | {"reply": raw}


def _take(outcome: Outcome, made: list[View] | Topic, method: str, model: str) -> None:
    """Puts the new views into the topic, each with its origin."""
    topic = outcome.topic
    if isinstance(made, Topic):
        known, result = set(map(id, topic.views)), made
        new = [view for view in made.views if id(view) not in known and view not in topic.views]
    else:
        new, result = list(made), topic.with_views([*topic.views, *made])
    if not new and result == topic:
        outcome.reason, outcome.details = "no view made", {}
        return
    used = {
        attempt.tags.stage: attempt.key[:16] for attempt in outcome.attempts if not attempt.code
    }
    origin: dict[str, Any] = {"method": method, **({"model": model} if model else {})}
    if used:
        origin["replies"] = used
    fresh = set(map(id, new))
    outcome.topic = result.with_views(
        replace(view, origin={**origin, **view.origin}) if id(view) in fresh else view
        for view in result.views
    )
    outcome.new_views = sum(not view.is_plain for view in new)  # a plain one is only cleaned
