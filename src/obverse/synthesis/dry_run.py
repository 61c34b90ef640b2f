"""The prompts that would be sent, without sending any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from obverse.llm.forms import Form, chat_body
from obverse.records import Topic
from obverse.sampling import rng_for
from obverse.synthesis.dialogue import Skip
from obverse.synthesis.methods import Method, load_method


def first_prompts(
    topics: Iterable[Topic],
    *,
    method: str | Method,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    form: Form = Form.TAGS,
    model: str = "",
) -> Iterator[dict[str, Any]]:
    """Yields the first prompt of each topic's dialogue as it would be sent.

    Yields:
        ``{"method", "topic_id", "stage", "messages", "max_tokens", "temperature", ...}``, or ``{"method",
        "topic_id", "skipped": reason}`` where the method asks nothing.
    """
    name, function = load_method(method, options)
    for topic in topics:
        row = {"method": name, "topic_id": topic.topic_id}
        dialogue = function(topic, rng_for(seed, name, topic.topic_id))
        try:
            prompt = next(dialogue)
        except StopIteration:
            yield {**row, "skipped": "asks nothing"}
        except Skip as skip:
            yield {**row, "skipped": str(skip)}
        else:
            yield {**row, "stage": prompt.stage, **chat_body(prompt, model=model, form=form)}
        finally:
            dialogue.close()
