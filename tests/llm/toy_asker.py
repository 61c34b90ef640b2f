"""A one-question method for tests of the lanes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from pydantic import BaseModel

from obverse.records import Doc, Label, Topic, View
from obverse.synthesis.dialogue import Dialogue, Prompt


class Condition(BaseModel):
    instruction: str


def condition(topic: Topic, rng: Random) -> Dialogue[list[View]]:
    answer = yield Prompt("write", "Write a condition.", topic.query, Condition, max_tokens=64)
    return [View(answer.instruction, {"b": Label.POSITIVE, "a": Label.INSTRUCTION_NEGATIVE})]


def two_steps(topic: Topic, rng: Random) -> Dialogue[list[View]]:
    first = yield Prompt("first", "Write.", topic.query, Condition, max_tokens=64)
    second = yield Prompt(
        "second", "Improve.", f"{topic.query}: {first.instruction}", Condition, max_tokens=64
    )
    return [View(second.instruction, {"b": Label.POSITIVE})]


def topics(count: int, start: int = 0) -> Iterator[Topic]:
    docs = (Doc("a", "new"), Doc("b", "old"))
    for number in range(start, start + count):
        view = View("", {"a": Label.POSITIVE, "b": Label.NEGATIVE})
        yield Topic(f"t{number}", f"thing {number}", docs, (view,))
