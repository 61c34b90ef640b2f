"""Live replies: OpenAI-compatible chat completions from one or several endpoints."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from obverse.llm.canary import choose_form
from obverse.llm.connection import FAILURES, NO_CONNECTION, Connection, checked_url, failure
from obverse.llm.forms import Form, Question, chat_body
from obverse.llm.journal import Journal
from obverse.llm.lanes import COST_REACHED, Failed, NotAsked, raise_if_stopped
from obverse.llm.limiter import Limiter
from obverse.llm.money import Budget
from obverse.llm.pace import Pace, tokens_at_most
from obverse.llm.pool import Endpoint, Pool
from obverse.llm.reply import Reply, reply_from_response
from obverse.llm.request import Request, Tags
from obverse.llm.responses import Meaning, fatal, meaning
from obverse.llm.schedule import Schedule
from obverse.llm.waiting import watch_waiting
from obverse.log import say

BUDGET_SECONDS = 0.05


class LLM:
    """The lane of live replies.

    Args:
        url: The base URL, such as ``http://localhost:8000/v1``, or several that serve the same model.
        model: The model's name there.
        api_key_env: The environment variable that holds the key; without one no key is sent.
        form: How the form of answers is asked for; by default the strictest that a canary sees kept.
        max_concurrency: Requests at once per endpoint, at most; how many it really gets is found out.
        timeout: Seconds from sending to reply; by default 60 and what the reply's length needs.
        retries: How often a request is sent again after failures that may pass.
        max_stall: Without any reply for so many seconds the run ends with exit status 75.
        extra: Further fields of each request, such as ``{"top_p": 0.9}``; they are part of its key. None takes a
            field away, such as ``max_tokens`` where a server wants another one.
        budget: What may be spent.
        pace: How many requests and tokens a minute may have.
        schedule: How many requests at once by day and hour.
        drain_seconds: How long a stopped run waits for what is in flight.

    Raises:
        SettingError: If a URL is none.
    """

    name = "live"

    def __init__(
        self,
        url: str | Sequence[str],
        model: str,
        *,
        api_key_env: str = "OPENAI_API_KEY",
        form: Form | None = None,
        max_concurrency: int = 512,
        timeout: float | None = None,
        retries: int = 5,
        max_stall: float = 600.0,
        extra: Mapping[str, Any] | None = None,
        budget: Budget | None = None,
        drain_seconds: float = 120.0,
        pace: Pace | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        self.urls = [checked_url(one) for one in ([url] if isinstance(url, str) else url)]
        self.model = model
        self.form = form
        self.timeout = timeout
        self.retries = retries
        self.max_stall = max_stall
        self.extra = dict(extra or {})
        self.budget = budget or Budget()
        self.drain_seconds = drain_seconds
        self.pace = pace or Pace()
        self.schedule = schedule or Schedule()
        self._max_concurrency = max_concurrency
        self._api_key = os.environ.get(api_key_env)
        self._connection: Connection | None = None
        self._pool: Pool | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watches: list[asyncio.Task[None]] = []

    def body(self, question: Question, tags: Tags) -> dict[str, Any]:
        """Returns the body of the chat completion for a question."""
        form = self.form or Form.TAGS
        return chat_body(question, model=self.model, form=form, extra=self.extra)

    async def open(self, journal: Journal) -> None:
        """Connects, and finds out which form of answers all endpoints keep.

        Raises:
            ModelError: If no endpoint can be reached, or one knows no such model or key.
        """
        self._loop = asyncio.get_running_loop()
        self._pool = Pool(
            [Endpoint(url, Limiter(cap=self._max_concurrency)) for url in self.urls],
            max_stall=self.max_stall,
            pace=self.pace,
        )
        self._connection = Connection(self._api_key, self.timeout)
        if self.form is None:
            self.form = await choose_form(
                self.model, self.urls, self._connection.post, journal, self.extra
            )
        self.budget.count_earlier(journal.records() if self.budget.price else ())
        self._keep_to_schedule()
        self._watches = [asyncio.create_task(self._watch_over())]
        for endpoint in self._pool.endpoints:
            self._watches.append(
                asyncio.create_task(watch_waiting(self._connection.session, endpoint))
            )

    async def send(self, request: Request, journal: Journal) -> Reply:
        """Returns the reply, which stands in the journal by then; every attempt does.

        Raises:
            Failed: If the request will never work, or failed too often.
            NotAsked: If the run was stopped or the cost limit is reached.
            ModelError: If no request will work: no such model, no key, no quota.
            Unfinished: If no endpoint has answered for too long.
        """
        assert self._pool is not None
        failures = tries = 0
        tokens = tokens_at_most(request) if self.pace.counts_tokens else 0
        while True:
            endpoint = await self._pool.place(request.order, tokens)
            if not self.budget.reserve(request):
                self._pool.give_back(endpoint)
                if self.budget.reserved:  # what is under way may cost less than its worst case
                    await self._pool.rest(BUDGET_SECONDS)
                    continue
                self._pool.stop(COST_REACHED)
                raise NotAsked(COST_REACHED)
            reply_or_code = await self._attempt(request, endpoint, journal, fresh=failures == 0)
            if isinstance(reply_or_code, Reply):
                self.pace.used(tokens, reply_or_code.usage)
                return reply_or_code
            if reply_or_code == "refused":
                continue
            tries += 1
            failures += reply_or_code != NO_CONNECTION  # that is not the request's fault
            if failures > self.retries:
                raise Failed(reply_or_code, f"failed {failures} times, last at {endpoint.url}")
            await self._pool.rest(min(30.0, 0.5 * 2**tries) * random.uniform(0.5, 1.0))

    async def _attempt(
        self, request: Request, endpoint: Endpoint, journal: Journal, *, fresh: bool
    ) -> Reply | str:
        """Sends once. Returns the reply, or why there is none and another try makes sense."""
        assert self._pool is not None and self._connection is not None
        journal.start(request, lane=self.name, endpoint=endpoint.url)
        sent_at = time.monotonic()
        try:
            status, headers, raw = await self._connection.post(endpoint.url, request.body)
        except FAILURES as error:
            code, billed = failure(error)
            journal.fail(
                request, code, body=repr(error), maybe_billed=billed, endpoint=endpoint.url
            )
            self.budget.settle(request, None, maybe_billed=billed)
            self._pool.broke(endpoint, fresh=fresh)
            return code
        except asyncio.CancelledError:
            self._pool.give_back(endpoint)
            raise
        told = meaning(status, headers, raw)
        if told.kind == "reply":
            return self._took(
                request, endpoint, journal, told, time.monotonic() - sent_at, fresh=fresh
            )
        self._note_failure(request, endpoint, journal, told, status, raw)
        if told.kind == "refused":
            self._pool.refused(endpoint, sent_at, told.retry_after)
            return "refused"
        if told.kind == "broken":
            self._pool.broke(endpoint, fresh=fresh)
            return told.code
        self._pool.settled(endpoint)
        detail = raw[:300].decode("utf-8", "replace")
        if told.kind == "row":
            raise Failed(told.code, detail)
        self._pool.stop("stopped")
        raise fatal(told.code, endpoint.url, self.model, detail)

    def _took(
        self,
        request: Request,
        endpoint: Endpoint,
        journal: Journal,
        told: Meaning,
        seconds: float,
        *,
        fresh: bool,
    ) -> Reply | str:
        assert self._pool is not None and self._connection is not None
        try:
            reply = reply_from_response(
                told.body, endpoint=endpoint.url, lane=self.name, seconds=round(seconds, 3)
            )
        except ValueError:
            journal.fail(request, "no-chat-completion", maybe_billed=True, endpoint=endpoint.url)
            self.budget.settle(request, None, maybe_billed=True)
            self._pool.broke(endpoint, fresh=fresh)
            return "no-chat-completion"
        journal.done(request, reply)
        self.budget.settle(request, reply.usage)
        tokens = reply.usage.completion
        self._connection.took(seconds, tokens)
        if told.retry_after is not None:
            endpoint.limiter.pause(time.monotonic() + told.retry_after)
        self._pool.answered(endpoint, tokens)
        return reply

    def _note_failure(
        self,
        request: Request,
        endpoint: Endpoint,
        journal: Journal,
        told: Meaning,
        status: int,
        raw: bytes,
    ) -> None:
        journal.fail(
            request,
            told.code,
            status=status,
            body=raw[:4_096].decode("utf-8", "replace"),
            maybe_billed=told.kind == "broken",
            endpoint=endpoint.url,
        )
        self.budget.settle(request, None, maybe_billed=told.kind == "broken")

    async def _watch_over(self) -> None:
        assert self._pool is not None
        told: list[str] = []
        while True:
            await asyncio.sleep(min(1.0, self.max_stall / 4))
            self._keep_to_schedule()
            self._pool.check_stall()
            for url in self._pool.open_breakers:
                if url not in told:
                    say(f"{url} fails again and again: left in peace, tried every 30 s")
            told = self._pool.open_breakers

    def _keep_to_schedule(self) -> None:
        assert self._pool is not None
        if self.schedule.spans:
            self._pool.cap(self.schedule.cap(datetime.now(), self._max_concurrency))

    def stop(self, reason: str) -> None:
        """Sends nothing more; what is in flight may come back."""
        if self._pool is not None and self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(self._pool.stop, reason)

    async def close(self) -> None:
        """Closes the connections."""
        for watch in self._watches:
            watch.cancel()
        if self._connection is not None:
            await self._connection.close()

    def finish(self, unfinished: Mapping[str, int]) -> None:
        """Raises where somebody stopped the run; a cost limit only lets the output lack topics.

        Raises:
            Unfinished: If the run was stopped.
        """
        raise_if_stopped(unfinished)

    @property
    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints with their limiters, for the status."""
        return self._pool.endpoints if self._pool is not None else []
