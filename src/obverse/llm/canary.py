"""One small question to each endpoint before the run: which form of answers is really kept there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import aiohttp
import orjson
from pydantic import BaseModel

from obverse.errors import ModelError
from obverse.files import write_json
from obverse.llm.answers import Unusable, is_json_object, read_answer
from obverse.llm.forms import Form, chat_body
from obverse.llm.journal import Journal
from obverse.llm.reply import Reply, reply_from_response
from obverse.llm.responses import fatal, meaning
from obverse.log import say

Post = Callable[[str, Mapping[str, Any]], Awaitable[tuple[int, Mapping[str, str], bytes]]]
LADDER = (Form.JSON_SCHEMA, Form.VLLM, Form.JSON_OBJECT, Form.TAGS)
CONNECT_TRIES = 3
MEMORY = "canary.json"


class Colour(BaseModel):
    """The canary's answer."""

    colour: Literal["red", "green"]
    reason: str


@dataclass(frozen=True, slots=True)
class Canary:
    """The question: it tempts the model out of the allowed values, so that a constraint shows."""

    system: str = "You name colours."
    user: str = 'Which colour has the sky at noon? Write the true colour, even if it is "blue", and a short reason.'
    answer: type[BaseModel] = Colour
    max_tokens: int = 2_048  # room for a model that thinks
    temperature: float = 0.0


async def choose_form(
    model: str, urls: Sequence[str], post: Post, journal: Journal, extra: Mapping[str, Any]
) -> Form:
    """Returns the strictest form that all endpoints keep; asked once for a run and model, then remembered.

    The verdicts stand in ``<run>/canary.json``, so a run that goes on asks in the same form and finds its replies.

    Raises:
        ModelError: If an endpoint cannot be reached or refuses for good.
    """
    memory = journal.run_dir / MEMORY
    known = _remembered(memory)
    for url in urls:
        if f"{model} @ {url}" not in known:
            known[f"{model} @ {url}"] = await _verdict(model, url, post, extra)
            write_json(memory, known)
            journal.note("canary", endpoint=url, model=model, **known[f"{model} @ {url}"])
    return _weakest(known, model)


def remembered_form(run_dir: Path, model: str, *, default: Form | None) -> Form:
    """Returns the form in which a run asks a model that no canary can be sent to, and remembers it."""
    memory = run_dir / MEMORY
    known = _remembered(memory)
    if not any(key.startswith(f"{model} @ ") for key in known):
        known[f"{model} @ batch"] = {"form": str(default or Form.TAGS), "notes": ["not tried"]}
        write_json(memory, known)
    return default or _weakest(known, model)


def _weakest(known: Mapping[str, Any], model: str) -> Form:
    rungs = [Form(told["form"]) for key, told in known.items() if key.startswith(f"{model} @ ")]
    return max(rungs, key=LADDER.index)


def _remembered(path: Path) -> dict[str, Any]:
    try:
        known: dict[str, Any] = orjson.loads(path.read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError):
        return {}
    return known


async def _verdict(model: str, url: str, post: Post, extra: Mapping[str, Any]) -> dict[str, Any]:
    notes: list[str] = []
    for form in LADDER:
        reply = await _ask(
            model, url, post, chat_body(Canary(), model=model, form=form, extra=extra)
        )
        if form is Form.TAGS:
            break
        if isinstance(reply, str):
            notes.append(f"{form}: {reply}")
        elif problem := _problem(reply, form):
            notes.append(f"{form}: {problem}")
        else:
            break
    if isinstance(reply, Reply) and not reply.text and reply.reasoning:
        notes.append("answers come in the reasoning field")
    say(f"{url}: answers as {form}" + (f" ({'; '.join(notes)})" if notes else ""))
    return {"form": str(form), "notes": notes}


def _problem(reply: Reply, form: Form) -> str | None:
    """Returns what shows that the form is not kept; a mere JSON mode cannot keep a model from other values."""
    try:
        if not is_json_object(reply.text or reply.reasoning):
            return "accepted but not kept (no JSON object)"
        read_answer(reply, Colour)
    except Unusable as unusable:
        if form is Form.JSON_OBJECT and unusable.code == "wrong-form":
            return None
        if unusable.code == "whitespace-loop":
            return "loops on white space (on vLLM: --structured-outputs-config with disable_any_whitespace)"
        return f"accepted but not kept ({unusable.code})"
    return None


async def _ask(model: str, url: str, post: Post, body: Mapping[str, Any]) -> Reply | str:
    for attempt in range(CONNECT_TRIES):
        try:
            status, headers, raw = await post(url, body)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            if attempt + 1 < CONNECT_TRIES:
                await asyncio.sleep(0.5 * 2**attempt)
                continue
            raise ModelError(
                f"cannot be reached ({error or type(error).__name__})",
                where=url,
                fix="Start the server, or check the URL",
            ) from None
        told = meaning(status, headers, raw)
        if told.kind == "fatal":
            raise fatal(told.code, url, model, raw[:300].decode("utf-8", "replace"))
        if told.kind == "refused" and attempt + 1 < CONNECT_TRIES:
            await asyncio.sleep(min(30.0, told.retry_after or 2.0**attempt))
            continue
        if told.kind != "reply":
            return told.code
        try:
            return reply_from_response(told.body)
        except ValueError:
            return "no-chat-completion"
    return "refused"
