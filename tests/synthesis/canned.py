"""A canned LLM for tests: drives a method with answers that are already there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from obverse.records import Doc, Label, Topic, View
from obverse.sampling import rng_for
from obverse.synthesis import METHODS
from obverse.synthesis.dialogue import Prompt


def method_named(name: str) -> Callable[..., Any]:
    module, function = METHODS[name].split(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def drive(
    name: str,
    topic: Topic,
    replies: Mapping[str, str],
    asked: list[Prompt[Any]] | None = None,
    seed: int = 0,
) -> Any:
    """Returns what the method makes of the replies, by stage; the prompts are added to ``asked``."""
    dialogue = method_named(name)(topic, rng_for(seed, name, topic.topic_id))
    try:
        prompt = next(dialogue)
        while True:
            if asked is not None:
                asked.append(prompt)
            answer = prompt.answer.model_validate_json(replies[prompt.stage])
            if prompt.check:
                prompt.check(answer)
            prompt = dialogue.send(answer)
    except StopIteration as stop:
        return stop.value


def topic_of(positive: str, *negatives: str, query: str = "mountain bike") -> Topic:
    """Returns a topic with a plain view; its documents are called a, b, c, ..."""
    docs = tuple(Doc("abcdefgh"[n], text) for n, text in enumerate([positive, *negatives]))
    labels = {doc.doc_id: Label.NEGATIVE for doc in docs} | {"a": Label.POSITIVE}
    return Topic("t", query, docs, (View("", labels),))
