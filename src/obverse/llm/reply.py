"""What came back for a request: the raw reply, kept as it came, with what it cost in tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply; what the server did not say stays None, never zero.

    Attributes:
        prompt: Tokens read, cached ones included.
        cached: Those of them that came from a prompt cache.
        completion: Tokens written, reasoning included.
        reasoning: Those of them that were thinking.
    """

    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    reasoning: int | None = None

    def row(self) -> dict[str, int]:
        """Returns what is known, as it stands in the journal."""
        counts = {key: getattr(self, key) for key in self.__slots__}
        return {key: count for key, count in counts.items() if count is not None}


@dataclass(frozen=True, slots=True)
class Reply:
    """One raw reply.

    Attributes:
        text: The content, untouched.
        reasoning: The thinking, where the server sends it apart.
        finish_reason: Why it ended: ``stop``, ``length``, ``content_filter``; None where unknown.
        usage: Tokens.
        endpoint: Who served it.
        lane: ``live``, ``recorded``, ``batch`` or ``local``.
        seconds: How long it took; None where unknown.
        logprobs: Token log-probabilities as the server sent them, where they were asked for.
    """

    text: str
    reasoning: str = ""
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    endpoint: str = ""
    lane: str = "live"
    seconds: float | None = None
    logprobs: Any = None

    def row(self) -> dict[str, Any]:
        """Returns the reply as it stands in the journal; what is empty is left out."""
        row: dict[str, Any] = {"text": self.text, "usage": self.usage.row()}
        for key in ("reasoning", "finish_reason", "endpoint", "lane", "seconds", "logprobs"):
            if (value := getattr(self, key)) not in ("", None):
                row[key] = value
        return row


def reply_from_row(row: Mapping[str, Any]) -> Reply:
    """Returns the reply that a journal record holds."""
    known = {key: row[key] for key in Reply.__slots__ if key in row and key != "usage"}
    return Reply(**known, usage=Usage(**row.get("usage", {})))


def reply_from_response(response: Any, **where: Any) -> Reply:
    """Returns the reply in the body of a chat completion.

    Raises:
        ValueError: If the body is no chat completion.
    """
    try:
        choice = response["choices"][0]
        message = choice.get("message") or {}
        content = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("is no chat completion: it lacks choices[0].message") from None
    if isinstance(content, list):  # parts, as some servers send them
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    thinking = message.get("reasoning_content") or message.get("reasoning") or ""
    refusal = message.get("refusal")
    return Reply(
        text=_encodable(content or ""),
        reasoning=thinking if isinstance(thinking, str) else "",
        finish_reason="refusal" if refusal else choice.get("finish_reason"),
        usage=usage_from_response(response.get("usage")),
        logprobs=choice.get("logprobs"),
        **where,
    )


def _encodable(text: str) -> str:
    """A lone surrogate has no UTF-8 form, so nothing could be written that holds it."""
    return text.encode("utf-8", "replace").decode()


def usage_from_response(usage: Any) -> Usage:
    """Returns the token counts of a ``usage`` object; unknown where it is missing or odd."""
    if not isinstance(usage, dict):
        return Usage()
    read = usage.get("prompt_tokens_details") or {}
    wrote = usage.get("completion_tokens_details") or {}
    return Usage(
        prompt=_count(usage.get("prompt_tokens")),
        cached=_count(read.get("cached_tokens")) if isinstance(read, dict) else None,
        completion=_count(usage.get("completion_tokens")),
        reasoning=_count(wrote.get("reasoning_tokens")) if isinstance(wrote, dict) else None,
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
