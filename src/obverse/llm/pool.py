"""Several endpoints of one model and the requests that wait for a place at one of them."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from obverse.errors import ObverseError
from obverse.llm.lanes import NotAsked, Unfinished
from obverse.llm.limiter import Breaker, Limiter
from obverse.llm.pace import Pace


@dataclass(slots=True, eq=False)
class Endpoint:
    """One base URL with its limiter."""

    url: str
    limiter: Limiter

    @property
    def load(self) -> float:
        """Requests in flight as a share of the limit."""
        return self.limiter.in_flight / max(1.0, self.limiter.limit)


@dataclass(slots=True)
class Pool:
    """Hands out places; belongs to one event loop.

    Attributes:
        endpoints: The endpoints.
        max_stall: Without an answer for so many seconds, in spite of trying, the run ends.
        pace: How many requests and tokens a minute may have, over all endpoints.
    """

    endpoints: Sequence[Endpoint]
    max_stall: float = 600.0
    pace: Pace = field(default_factory=Pace)
    stopped: str | None = None
    broken: ObverseError | None = None
    _waiting: list[tuple[int, int, int, asyncio.Future[Endpoint]]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _last_answer: float = field(default_factory=time.monotonic)
    _failed_since: bool = False
    _timer: asyncio.TimerHandle | None = None
    _timer_at: float = math.inf
    _halted: asyncio.Event = field(default_factory=asyncio.Event)

    async def place(self, order: int, tokens: int = 0) -> Endpoint:
        """Returns an endpoint with a free place, which is taken by then; waits for one, lower orders first.

        Args:
            order: Of the request.
            tokens: What it may take at most, where tokens a minute are limited.

        Raises:
            NotAsked: If the run was stopped.
            Unfinished: If no endpoint has answered for too long.
        """
        self._raise_if_ended()
        now = time.monotonic()
        if not self._waiting and (free := self._free(now)) is not None:
            free.limiter.sent(now)
            self.pace.sent(now, tokens)
            return free
        future: asyncio.Future[Endpoint] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (order, next(self._numbers), tokens, future))
        self._dispatch()
        return await future

    def give_back(self, endpoint: Endpoint) -> None:
        """Frees a place from which nothing was sent, or nothing will come back."""
        endpoint.limiter.in_flight -= 1
        self._dispatch()

    def answered(self, endpoint: Endpoint, tokens: int | None) -> None:
        """Notes a reply."""
        now = time.monotonic()
        self._last_answer, self._failed_since = now, False
        endpoint.limiter.answered(now, tokens)
        self._dispatch()

    def settled(self, endpoint: Endpoint) -> None:
        """Notes a reply that says nothing about capacity."""
        self._last_answer, self._failed_since = time.monotonic(), False
        endpoint.limiter.settled(time.monotonic())
        self._dispatch()

    def refused(self, endpoint: Endpoint, sent_at: float, retry_after: float | None) -> None:
        """Notes a refusal for want of capacity."""
        self._failed_since = True
        endpoint.limiter.refused(time.monotonic(), sent_at, retry_after)
        self._dispatch()

    def broke(self, endpoint: Endpoint, *, fresh: bool) -> None:
        """Notes another failure; ``fresh`` is False where the request has failed before."""
        self._failed_since = True
        endpoint.limiter.broke(time.monotonic(), fresh=fresh)
        self._dispatch()

    async def rest(self, seconds: float) -> None:
        """Waits, without holding a place.

        Raises:
            NotAsked, Unfinished: As :meth:`place`.
        """
        try:
            await asyncio.wait_for(self._halted.wait(), seconds)
        except TimeoutError:
            return
        self._raise_if_ended()

    def stop(self, reason: str) -> None:
        """Gives out no more places; who waits is told."""
        if self.stopped is None:
            self.stopped = reason
            self._end()

    def cap(self, most: int) -> None:
        """Lets no endpoint have more requests at once; 0 sends nothing until there is another cap."""
        for endpoint in self.endpoints:
            endpoint.limiter.cap = float(most)
            endpoint.limiter.limit = min(endpoint.limiter.limit, max(1.0, float(most)))
        if most == 0:
            self._last_answer = time.monotonic()  # nobody is asked, so silence says nothing
        self._dispatch()

    def check_stall(self) -> None:
        """Ends the run where no endpoint has answered for too long."""
        silent = time.monotonic() - self._last_answer
        if self._failed_since and silent > self.max_stall and self.broken is None:
            self.broken = Unfinished(
                f"no endpoint has answered for {silent:.0f} s ({', '.join(e.url for e in self.endpoints)})",
                exit_status=75,
            )
            self._end()

    @property
    def open_breakers(self) -> list[str]:
        """The endpoints that are left in peace at the moment."""
        return [e.url for e in self.endpoints if e.limiter.breaker is not Breaker.CLOSED]

    def _raise_if_ended(self) -> None:
        if self.broken is not None:
            raise self.broken
        if self.stopped is not None:
            raise NotAsked(self.stopped)

    def _end(self) -> None:
        self._halted.set()
        waiting, self._waiting = self._waiting, []
        for *_, future in waiting:
            if not future.done():
                future.set_exception(self.broken or NotAsked(self.stopped or "stopped"))

    def _free(self, now: float) -> Endpoint | None:
        if now < self.pace.ready_at:
            return None
        if len(self.endpoints) == 1:
            only = self.endpoints[0]
            return only if only.limiter.may_send(now) else None
        return min(
            (e for e in self.endpoints if e.limiter.may_send(now)),
            key=lambda e: e.load,
            default=None,
        )

    def _dispatch(self) -> None:
        now = time.monotonic()
        while self._waiting and (free := self._free(now)) is not None:
            _, _, tokens, future = heapq.heappop(self._waiting)
            if not future.done():
                free.limiter.sent(now)
                self.pace.sent(now, tokens)
                future.set_result(free)
        if self._waiting:
            pauses = min(e.limiter.paused_until for e in self.endpoints)
            self._wake_at(max(pauses, self.pace.ready_at), now)

    def _wake_at(self, when: float, now: float) -> None:
        """Looks again when the first pause is over; answers wake it anyway."""
        if when <= now or when >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = when
        self._timer = asyncio.get_running_loop().call_later(when - now + 0.001, self._wake)

    def _wake(self) -> None:
        self._timer, self._timer_at = None, math.inf
        self._dispatch()
