"""Requests and tokens a minute, where a provider sets them: a request goes out when both allow it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from obverse.errors import SettingError
from obverse.llm.reply import Usage
from obverse.llm.request import Request, canonical

BURST_SECONDS = 1.0
"""What was not used so long ago may still be. The rates are so much lower that no minute holds more than its limit."""
_MINUTE = 60.0 + BURST_SECONDS
BYTES_PER_TOKEN = 4.0


@dataclass(slots=True)
class Pace:
    """The pace of a run, over all endpoints.

    Tokens are set aside when a request goes out, its reply's limit included, and put right when the reply says what
    it took.

    Attributes:
        requests_per_minute: At most; None for no limit.
        tokens_per_minute: Read and written, at most; None for no limit.
        ready_at: No request before this time.
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    ready_at: float = -math.inf
    _request_at: float = -math.inf
    _tokens_at: float = -math.inf

    def __post_init__(self) -> None:
        for name in ("requests_per_minute", "tokens_per_minute"):
            if (rate := getattr(self, name)) is not None and not 0 < rate < math.inf:
                raise SettingError(f"{name} is {rate}", fix="Give a number above 0")

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens a minute are limited."""
        return self.tokens_per_minute is not None

    def sent(self, now: float, tokens: int = 0) -> None:
        """Notes that a request goes out which may take so many tokens."""
        if self.requests_per_minute is not None:
            self._request_at = _next(self._request_at, now, _MINUTE / self.requests_per_minute)
        if self.tokens_per_minute is not None:
            seconds = tokens * _MINUTE / self.tokens_per_minute
            self._tokens_at = _next(self._tokens_at, now, seconds)
        self.ready_at = max(self._request_at, self._tokens_at)

    def used(self, tokens: int, usage: Usage) -> None:
        """Puts right what a reply took, where the server says it."""
        if self.tokens_per_minute is None or usage.prompt is None or usage.completion is None:
            return
        more = usage.prompt + usage.completion - tokens
        self._tokens_at += more * _MINUTE / self.tokens_per_minute
        self.ready_at = max(self._request_at, self._tokens_at)


def _next(ready_at: float, now: float, seconds: float) -> float:
    """Returns when the next request may go out, if one that takes so many seconds of the pace goes out now."""
    return max(ready_at, now - max(0.0, BURST_SECONDS - seconds)) + seconds


def tokens_at_most(request: Request) -> int:
    """Returns about how many tokens a request can take: its own, and its reply's limit."""
    return math.ceil(len(canonical(request.body)) / BYTES_PER_TOKEN) + request.max_tokens
