"""What is sent to an LLM, and the key that says when two requests are the same one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

KEY_VERSION = 1
_PARTS = {
    "model": "model",
    "messages": "prompt",
    "response_format": "answer form",
    "structured_outputs": "answer form",
    "recorded": "recorded reply",
}


@dataclass(frozen=True, slots=True)
class Tags:
    """What a request is for; not part of its key, so equal requests are paid once whoever asks.

    Attributes:
        method: The synthesis method or filter that asks.
        stage: The question's name within it.
        topic_id: The topic.
        sample: How often this dialogue has asked this stage before.
        repair: Whether it is the one second try after an unusable reply.
    """

    method: str
    stage: str
    topic_id: str
    sample: int = 0
    repair: bool = False

    @property
    def place(self) -> str:
        """A text that is the same for the same question of the same topic, whatever is sent."""
        return orjson.dumps(
            [self.method, self.stage, self.topic_id, self.sample, self.repair]
        ).decode()

    def row(self) -> dict[str, Any]:
        """Returns the tags as they stand in the journal."""
        row: dict[str, Any] = {
            "method": self.method,
            "stage": self.stage,
            "topic_id": self.topic_id,
        }
        if self.sample:
            row["sample"] = self.sample
        if self.repair:
            row["repair"] = True
        return row


@dataclass(frozen=True, slots=True)
class Request:
    """One chat completion to be asked for.

    Attributes:
        body: The JSON object that is sent.
        tags: What it is for.
        key: The hash of all that is sent and the sample number, in hex.
        order: Requests with a lower number go first when several wait; not part of the key.
    """

    body: Mapping[str, Any]
    tags: Tags
    key: str
    order: int = 0

    @property
    def digest(self) -> bytes:
        """The key as bytes."""
        return bytes.fromhex(self.key)

    @property
    def max_tokens(self) -> int:
        """The limit of the reply, in tokens."""
        return int(self.body.get("max_tokens") or self.body.get("max_completion_tokens") or 1_024)


def make_request(body: Mapping[str, Any], tags: Tags, *, order: int = 0) -> Request:
    """Returns the request with its key."""
    return Request(body, tags, request_key(body, sample=tags.sample), order)


def request_key(body: Mapping[str, Any], *, sample: int = 0) -> str:
    """Returns the SHA-256, in hex, of everything that is sent and the sample number.

    The order of keys does not matter; every byte of a text does.
    """
    return hashlib.sha256(canonical([KEY_VERSION, "chat", sample, body])).hexdigest()


def canonical(value: Any) -> bytes:
    """Returns the value as JSON bytes that do not depend on the order of keys."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a lone surrogate has no UTF-8 form; escaped it has one
        return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def parts(body: Mapping[str, Any]) -> dict[str, str]:
    """Returns short digests of what a request consists of, by the name a person knows it by.

    By them a resumed run can say *what* has changed. The model stands in clear text.
    """
    grouped: dict[str, dict[str, Any]] = {}
    for field, value in body.items():
        grouped.setdefault(_PARTS.get(field, "sampling"), {})[field] = value
    return {
        name: str(fields["model"]) if name == "model" else _short(fields)
        for name, fields in grouped.items()
    }


def _short(value: Any) -> str:
    return hashlib.blake2b(canonical(value), digest_size=6).hexdigest()
