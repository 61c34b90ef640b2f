"""What a journal's records say, by request; the replies themselves stay in the files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from obverse.llm.request import Request, Tags, parts

Place = tuple[int, int, int]
"""Segment number, offset and size of a record."""


@dataclass(slots=True)
class Index:
    """What stands in a journal.

    Attributes:
        done: Where the first reply to a key stands.
        open: How many attempts of a key have neither reply nor failure.
        batched: Keys that were last written to a batch file.
        asked: The last request for a question of a topic: its key and what it consisted of.
        duplicates: Further replies to a key.
    """

    done: dict[bytes, Place] = field(default_factory=dict)
    open: dict[bytes, int] = field(default_factory=dict)
    batched: set[bytes] = field(default_factory=set)
    asked: dict[Tags, tuple[bytes, Mapping[str, str]]] = field(default_factory=dict)
    duplicates: int = 0

    def take(self, record: Mapping[str, Any], place: Place) -> None:
        """Takes in a record as it stands in a file."""
        kind = record["kind"]
        if kind == "note":
            return
        key = bytes.fromhex(record["key"])
        if kind == "fail":
            self.failed(key)
            return
        tags = Tags(**record["tags"])
        if kind == "start":
            self.started(tags, key, record["parts"], lane=record["lane"])
        elif kind == "done":
            self.replied(tags, key, record["parts"], place)

    def started(self, tags: Tags, key: bytes, made_of: Mapping[str, str], *, lane: str) -> None:
        """Notes that a request goes out."""
        self.open[key] = self.open.get(key, 0) + 1
        if lane == "batch":
            self.batched.add(key)
        else:
            self.batched.discard(key)
        self.asked[tags] = (key, made_of)

    def replied(self, tags: Tags, key: bytes, made_of: Mapping[str, str], place: Place) -> None:
        """Notes a reply; the first one to a key is the one that counts."""
        self.failed(key)
        if self.done.setdefault(key, place) is not place:
            self.duplicates += 1
        self.asked[tags] = (key, made_of)

    def failed(self, key: bytes) -> None:
        """Notes that an attempt is over."""
        left = self.open.pop(key, 0) - 1
        if left > 0:
            self.open[key] = left

    def made_of(self, request: Request) -> Mapping[str, str]:
        """Returns what a request consists of; a reply's is that of its start, worked out a moment ago."""
        before = self.asked.get(request.tags)
        if before is not None and before[0] == request.digest:
            return before[1]
        return parts(request.body)

    def changed(self, request: Request) -> dict[str, tuple[str, str]]:
        """Returns what differs from the last request for the same question of a topic: ``{part: (then, now)}``."""
        before = self.asked.get(request.tags)
        if before is None or before[0] == request.digest:
            return {}
        then, now = before[1], parts(request.body)
        return {
            name: (then.get(name, "none"), now.get(name, "none"))
            for name in sorted(then.keys() | now.keys())
            if then.get(name) != now.get(name)
        }

    @property
    def without_answer(self) -> set[bytes]:
        """The keys that were sent and have neither reply nor failure."""
        return self.open.keys() - self.done.keys()
