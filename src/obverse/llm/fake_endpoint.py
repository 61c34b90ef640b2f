"""A fake OpenAI-compatible endpoint: for dry runs before money is spent, and for our own tests.

It answers in the form asked for, and on demand as badly as real servers do: refuses above a cap, queues, breaks,
hangs, cuts replies off, loops on white space, answers in the reasoning field or in no form at all.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from obverse.llm.fake_answers import fake_answer, fake_logprobs
from obverse.llm.fake_batches import FakeBatches
from obverse.llm.forms import Form
from obverse.llm.request import canonical

FAULTS = (
    "bad-json",
    "cut-off",
    "whitespace-loop",
    "reasoning-field",
    "prose",
    "refusal",
    "error-500",
    "hang",
)


@dataclass
class FakeEndpoint:
    """The settings and the counts of a fake endpoint.

    Attributes:
        seconds: How long a reply takes.
        cap: Requests at once; further ones get a 429.
        retry_after: What a 429 asks for, in seconds.
        slots: Requests worked on at once; further ones wait.
        faults: The share of requests in [0, 1] that meet a fault, drawn evenly from ``kinds``.
        kinds: Which faults.
        forms: The forms that it accepts; a request with another one gets a 400.
        seed: Draws depend on it, the request, and how often that came.
        log: A file that gets the digest of each request when it arrives.
        reply: Makes the content of replies instead.
        logprobs: Whether log-probabilities are sent where they are asked for.
        batches: Its batches.
        counts: What happened, by name.
    """

    seconds: float = 0.05
    cap: int | None = None
    retry_after: float | None = None
    slots: int | None = None
    faults: float = 0.0
    kinds: tuple[str, ...] = FAULTS
    forms: tuple[Form, ...] = tuple(Form)
    seed: int = 0
    log: str | None = None
    reply: Callable[[dict[str, Any]], str] | None = None
    logprobs: bool = True
    batches: FakeBatches | None = None
    counts: Counter[str] = field(default_factory=Counter)
    _times: Counter[str] = field(default_factory=Counter)
    _busy: int = 0
    _most: int = 0
    _log_file: int | None = None
    _places: asyncio.Semaphore | None = None

    def app(self) -> web.Application:
        """Returns the server."""
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self.complete)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/counts", self.show_counts)
        self.batches = self.batches or FakeBatches(self._answer)
        self.batches.add_to(app)
        if self.log:
            self._log_file = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._places = asyncio.Semaphore(self.slots) if self.slots else None
        return app

    async def models(self, request: web.Request) -> web.Response:
        return _json({"object": "list", "data": [{"id": "fake", "object": "model"}]})

    async def show_counts(self, request: web.Request) -> web.Response:
        return _json({**self.counts, "most at once": self._most})

    async def complete(self, request: web.Request) -> web.Response:
        """Answers one chat completion."""
        self.counts["requests"] += 1
        if self.cap is not None and self._busy >= self.cap:
            self.counts["refused"] += 1
            wait = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
            return _error(429, "too many requests at once", headers=wait)
        self._busy += 1
        self._most = max(self._most, self._busy)
        try:
            return await self._answer(orjson.loads(await request.read()))
        finally:
            self._busy -= 1

    async def _answer(self, body: dict[str, Any]) -> web.Response:
        digest = hashlib.blake2b(canonical([self.seed, body]), digest_size=8).hexdigest()
        if self._log_file is not None:
            os.write(self._log_file, f"{digest}\n".encode())
        if _form(body) not in self.forms:
            return _error(400, "this response_format is not supported")
        self._times[digest] += 1
        draw = random.Random(f"{digest} {self._times[digest]}")
        fault = draw.choice(self.kinds) if draw.random() < self.faults else ""
        if self._places is None:
            await asyncio.sleep(3_600 if fault == "hang" else self.seconds)
        else:
            async with self._places:
                await asyncio.sleep(self.seconds)
        self.counts["answered"] += 1
        self.counts[fault or "good"] += 1
        if fault == "error-500":
            return _error(500, "something broke")
        text = self.reply(body) if self.reply else fake_answer(body, draw)
        completion = _completion(body, *_spoilt(text, fault))
        if self.logprobs and body.get("logprobs") and not fault:
            completion["choices"][0]["logprobs"] = fake_logprobs(text)
        return _json(completion)


def _spoilt(text: str, fault: str) -> tuple[str, str, str]:
    """Returns content, reasoning and finish_reason."""
    if fault == "bad-json":
        return text.replace("}", ",}").replace("</", "<"), "", "stop"
    if fault == "cut-off":
        return text[: len(text) // 2], "", "length"
    if fault == "whitespace-loop":
        return text[:1] + " \n" * 500, "", "length"
    if fault == "reasoning-field":
        return "", text, "stop"
    if fault == "prose":
        return "Let me say it in other words: it depends.", "", "stop"
    if fault == "refusal":
        return "", "", "content_filter"
    return text, "", "stop"


def _completion(body: dict[str, Any], text: str, reasoning: str, finish: str) -> dict[str, Any]:
    read = sum(len(str(message.get("content"))) for message in body["messages"]) // 4
    wrote = max(1, len(text + reasoning) // 4)
    message = {"role": "assistant", "content": text}
    if reasoning:
        message["reasoning_content"] = reasoning
    return {
        "id": "fake",
        "object": "chat.completion",
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": wrote,
            "total_tokens": read + wrote,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    }


def _form(body: dict[str, Any]) -> Form:
    if "structured_outputs" in body:
        return Form.VLLM
    kind = (body.get("response_format") or {}).get("type")
    return Form(kind) if kind in tuple(Form) else Form.TAGS


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")


def _error(status: int, message: str, *, headers: dict[str, str] | None = None) -> web.Response:
    response = _json({"error": {"message": message}}, status)
    response.headers.update(headers or {})
    return response


async def serve(fake: FakeEndpoint, port: int = 0) -> tuple[web.AppRunner, str]:
    """Starts a fake endpoint on the loopback address; returns its runner and its base URL."""
    runner = web.AppRunner(fake.app(), access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=4_096)
    await site.start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}/v1"


def serve_forever(fake: FakeEndpoint, port: int = 0) -> None:
    """Runs a fake endpoint until it is interrupted; its base URL is the first line on stdout."""

    async def run() -> None:
        runner, url = await serve(fake, port)
        print(url, flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    asyncio.run(run())
