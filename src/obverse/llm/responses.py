"""What a response of a server means: a reply, a refusal, a failure that may pass, or one that will not."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import orjson

from obverse.errors import ModelError

Kind = Literal["reply", "refused", "broken", "row", "fatal"]
_TOO_LONG = re.compile(
    r"context.{0,20}(length|window|size)|maximum.{0,20}(context|length)|too (long|many tokens)|exceeds?.{0,40}tokens",
    re.IGNORECASE,
)
_NO_MONEY = re.compile(r"insufficient[_ ]quota|billing|credit balance", re.IGNORECASE)
_RESET = re.compile(r"([\d.]+)(ms|h|m|s)")
_UNITS = {"h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a response means.

    Attributes:
        kind: ``reply``; ``refused`` for want of capacity; ``broken``: may pass; ``row``: this request will never
            work; ``fatal``: no request will.
        code: A fixed code.
        retry_after: Seconds to wait that the server asked for.
        body: The response as JSON, where it is a reply.
    """

    kind: Kind
    code: str = ""
    retry_after: float | None = None
    body: Any = None


def meaning(status: int, headers: Mapping[str, str], raw: bytes) -> Meaning:
    """Returns what a response means."""
    text = raw[:4_096].decode("utf-8", "replace")
    if status == 200:
        body = _parsed(raw)
        if isinstance(body, dict) and "choices" in body:
            return Meaning("reply", body=body, retry_after=_reset(headers))
        return Meaning("broken", "no-chat-completion")
    if status == 429 and _NO_MONEY.search(text):
        return Meaning("fatal", "no-quota")
    if status in (429, 503, 529):
        return Meaning("refused", f"status-{status}", _retry_after(headers))
    if status in (401, 403):
        return Meaning("fatal", "not-allowed")
    if status in (404, 405):
        return Meaning("fatal", "not-found")
    if status == 413 or (400 <= status < 500 and _TOO_LONG.search(text)):
        return Meaning("row", "prompt-too-long")
    if 400 <= status < 500 and status != 408:
        return Meaning("row", "bad-request")
    return Meaning("broken", f"status-{status}")


def fatal(code: str, url: str, model: str, detail: str) -> ModelError:
    """Returns the error that ends a run because no request will work."""
    told = {
        "not-allowed": (
            "refuses the key",
            "Put the key into the variable that --api-key-env names",
        ),
        "not-found": (
            f"knows no model {model!r}, or is no chat completions endpoint",
            "Check --model and that the URL ends in /v1",
        ),
        "no-quota": ("has no quota left for this key", "Top it up and run the same command again"),
    }
    what, fix = told[code]
    return ModelError(f"{what} ({' '.join(detail.split())[:160]})", where=url, fix=fix)


def _parsed(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(raw)  # takes lone surrogates
    except ValueError:
        return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("Retry-After", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _reset(headers: Mapping[str, str]) -> float | None:
    """Where the server says that nothing is left of the rate, the seconds until there is."""
    for what in ("requests", "tokens"):
        if headers.get(f"x-ratelimit-remaining-{what}", "").strip() == "0":
            parts = _RESET.findall(headers.get(f"x-ratelimit-reset-{what}", ""))
            return sum(float(number) * _UNITS[unit] for number, unit in parts) or None
    return None
