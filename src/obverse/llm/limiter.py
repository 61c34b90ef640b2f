"""How many requests one endpoint gets at once, found out while it works, and when it is left in peace.

Pure bookkeeping with the time as an argument, so that a simulation can drive it as fast as it likes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

SHRINK = 0.8
"""What a refusal leaves of the requests that were in flight."""
GROWTH = 2.0
"""What the limit gains in each round of requests, away from the last refusal."""
CAREFUL_GROWTH = 0.1
"""The same, close to where the last refusal came."""
CLOSE = (0.97, 1.05)
SLOW_START = 1.0
"""What each answer adds before the first refusal."""
BREAKER_FAILURES = 20
BREAKER_SECONDS = 120.0
PROBE_SECONDS = 30.0
MAX_PAUSE = 30.0
KNEE_GAIN = 0.2
KNEE_STEP = 1.1
KNEE_CARE = 0.1
KNEE_WINDOWS = 3
KNEE_HOLD = 300.0


class Breaker(StrEnum):
    """Whether an endpoint is used: ``closed`` it is, ``open`` it is not, ``probing`` one request tries it."""

    CLOSED = "closed"
    OPEN = "open"
    PROBING = "probing"


@dataclass(slots=True)
class Limiter:
    """The limit of one endpoint.

    Slow start: twice as many each round, until the first refusal (429, 503, 529), a knee, or word from the server
    that requests wait there. A round with refusals cuts to 80 % of what was not refused; from there two more a
    round, and close to where the refusals came one more in ten rounds. After 20
    failures in a row, or 120 s of failures without an answer, the breaker opens: one request every 30 s tries the
    endpoint.

    Attributes:
        start: The limit to begin with.
        cap: The limit that is never passed.
        limit: The limit now.
        in_flight: Requests sent and not yet settled.
        paused_until: No request before this time.
        refusals: How many 429, 503 and 529 there were.
    """

    start: float = 8.0
    cap: float = 512.0
    limit: float = field(init=False)
    in_flight: int = 0
    answers: int = 0
    refusals: int = 0
    failures: int = 0
    paused_until: float = -math.inf
    breaker: Breaker = Breaker.CLOSED
    slow_start: bool = True
    waiting_there: bool = False
    knee: Knee = field(init=False)
    _refused_at: float = math.inf
    _last_cut: float = -math.inf
    _in_a_row: int = 0
    _refused_in_a_row: int = 0
    _failing_since: float | None = None

    def __post_init__(self) -> None:
        self.limit = min(self.start, self.cap)
        self.knee = Knee()

    def may_send(self, now: float) -> bool:
        """Whether one more request may go out."""
        if now < self.paused_until or self.cap < 1:
            return False
        if self.breaker is not Breaker.CLOSED:
            return self.in_flight == 0
        return self.in_flight < max(1, int(self.limit))

    def sent(self, now: float) -> None:
        """Notes that a request goes out."""
        self.in_flight += 1
        if self.breaker is Breaker.OPEN:
            self.breaker = Breaker.PROBING

    def answered(self, now: float, tokens: int | None = None) -> None:
        """Notes a reply of so many tokens."""
        was_full = self.in_flight >= 0.8 * int(self.limit)
        self.in_flight -= 1
        self.answers += 1
        self._in_a_row = self._refused_in_a_row = 0
        self._failing_since, self.breaker = None, Breaker.CLOSED
        refuses = self._refused_at < math.inf  # then it says itself when it is full
        held = None if refuses else self.knee.answered(now, tokens or 1, self.limit)
        if held is not None:
            self.limit, self.slow_start = held, False
        elif was_full and not self.waiting_there and not self.knee.holds(now):
            self.limit += self._growth()
        self.limit = min(self.limit, max(1.0, self.cap))

    def refused(self, now: float, sent_at: float, retry_after: float | None = None) -> None:
        """Notes a refusal for want of capacity.

        Args:
            now: The time, in seconds.
            sent_at: When the refused request went out, which tells the rounds apart.
            retry_after: What the server asked for, in seconds.
        """
        self.in_flight -= 1
        self.refusals += 1
        self._refused_in_a_row += 1
        self._fails(now)
        self.slow_start, self.knee = False, Knee()
        if sent_at >= self._last_cut:
            self._last_cut, self._refused_at = now, self.in_flight + 1.0
        else:  # of the same round: so much less was room for
            self._refused_at = max(1.0, self._refused_at - 1)
        self.limit = max(1.0, min(self.limit, SHRINK * self._refused_at))
        if retry_after is not None:
            self.pause(now + retry_after)
        elif self._refused_in_a_row > max(2, self.in_flight):
            self.pause(now + min(MAX_PAUSE, 0.05 * 2.0 ** min(10, self._refused_in_a_row)))

    def broke(self, now: float, *, fresh: bool = True) -> None:
        """Notes a failure that is not want of capacity: no connection, a time-out, a server error.

        Args:
            now: The time, in seconds.
            fresh: False for a request that has failed before: a few bad ones say nothing about the endpoint.
        """
        self.in_flight -= 1
        self.failures += 1
        self._in_a_row += fresh
        self._fails(now)
        if self.breaker is Breaker.PROBING or self._in_a_row >= BREAKER_FAILURES:
            self._open(now)

    def settled(self, now: float) -> None:
        """Notes a reply that says nothing about capacity, such as a prompt that is too long."""
        self.in_flight -= 1
        self._in_a_row = self._refused_in_a_row = 0
        self._failing_since, self.breaker = None, Breaker.CLOSED

    def pause(self, until: float) -> None:
        """Sends nothing before that time."""
        self.paused_until = max(self.paused_until, until)

    def _growth(self) -> float:
        """Returns what one answer adds to the limit."""
        if self.knee.in_doubt:
            return KNEE_CARE
        low, high = CLOSE
        if low * self._refused_at <= self.limit < high * self._refused_at:
            return CAREFUL_GROWTH / self.limit
        return SLOW_START if self.slow_start else GROWTH / self.limit

    def _fails(self, now: float) -> None:
        if self._failing_since is None:
            self._failing_since = now
        elif now - self._failing_since >= BREAKER_SECONDS:
            self._open(now)

    def _open(self, now: float) -> None:
        self.breaker, self.limit = Breaker.OPEN, max(1.0, min(self.limit, self.start))
        self.slow_start, self.knee = True, Knee()
        self.pause(now + PROBE_SECONDS)


@dataclass(slots=True)
class Knee:
    """Sees saturation where a server queues instead of refusing: more requests bring no more tokens a second.

    A window is one round of the limit. Where the limit rises by x %, the tokens a second should rise by a fifth of
    x % at least. Three windows that fall short: back to the smallest limit that was as good, held for five minutes.
    """

    best_rate: float = 0.0
    best_limit: float = 0.0
    hold_until: float = -math.inf
    _tokens: int = 0
    _answers: int = 0
    _limit_then: float = 0.0
    _since: float | None = None
    _flat: int = 0

    def holds(self, now: float) -> bool:
        """Whether the limit is to stay where it is."""
        return now < self.hold_until

    @property
    def in_doubt(self) -> bool:
        """Whether the last window fell short."""
        return self._flat > 0

    def answered(self, now: float, tokens: int, limit: float) -> float | None:
        """Takes note of an answer; returns the limit to go back to where the knee is found."""
        if self.holds(now):
            return None
        if self._since is None:
            self._since, self._limit_then = now, limit
        self._tokens, self._answers = self._tokens + tokens, self._answers + 1
        if self._answers < max(30.0, self._limit_then) or now <= self._since:
            return None
        rate = self._tokens / (now - self._since)
        self._since, self._tokens, self._answers = None, 0, 0
        return self._judged(now, rate, self._limit_then)

    def _judged(self, now: float, rate: float, limit: float) -> float | None:
        more = limit / self.best_limit - 1 if self.best_limit else 0.0
        if rate > self.best_rate * (1 + KNEE_GAIN * more):
            self.best_rate, self.best_limit, self._flat = rate, limit, 0
        elif more >= KNEE_STEP - 1:
            self._flat += 1
        if self._flat < KNEE_WINDOWS:
            return None
        self.hold_until, self._flat, self.best_rate = now + KNEE_HOLD, 0, 0.0
        return self.best_limit
