"""Recorded replies instead of an LLM: no network, and the path that live replies take from there on.

The file holds JSON Lines, plain or compressed: ``{"method", "stage", "topic_id", "reply"}``, and where needed
``sample`` (which time the stage is asked for this topic, from 0), ``repair`` (true for the reply to the one repair
turn), ``finish_reason``, ``model``, and ``documents``: the ids of the topic's documents in the order in which the
reply numbers them, which is compared with the topic.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from obverse.errors import InputError
from obverse.files import read_json_lines
from obverse.llm.forms import Form, Question, chat_body
from obverse.llm.journal import Journal
from obverse.llm.lanes import Failed, NotAsked, raise_if_stopped
from obverse.llm.reply import Reply
from obverse.llm.request import Request, Tags

_STRINGS = ("method", "stage", "topic_id", "reply")
_OPTIONAL = {"sample": int, "repair": bool, "finish_reason": str, "model": str}


@dataclass(frozen=True, slots=True)
class _Recorded:
    text: str
    finish_reason: str | None
    digest: str
    documents: tuple[str, ...] | None = None


class RecordedReplies:
    """The lane of recorded replies.

    Args:
        path: The file.

    Raises:
        InputError: With file and line, if a line is no recorded reply, or a question has two different replies.
    """

    name = "recorded"
    drain_seconds = 0.0

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.model = "recorded"
        self._stopped: str | None = None
        self._replies: dict[Tags, _Recorded] = {}
        models = set()
        for number, row in read_json_lines(path):
            where = f"{self.path}:{number}"
            tags, recorded, model = _parse(row, where)
            known = self._replies.setdefault(tags, recorded)
            if known != recorded:
                raise InputError(
                    f"{tags.method}, {tags.stage}, {tags.topic_id} has another reply in an earlier line",
                    where=where,
                    fix='Keep one, or number them with "sample": 0, 1, ...',
                )
            models.add(model)
        if not self._replies:
            raise InputError("holds no reply", where=self.path, fix="Write one reply on each line")
        if len(models) == 1 and (only := models.pop()):
            self.model = only

    def __len__(self) -> int:
        return len(self._replies)

    def body(self, question: Question, tags: Tags) -> dict[str, Any]:
        """Returns the body that a live lane would send, and the digest of the recorded reply: a reply that was
        changed in the file is read anew."""
        recorded = self._replies.get(tags)
        body = chat_body(question, model=self.model, form=Form.TAGS)
        return body | {"recorded": recorded.digest if recorded else None}

    def documents(self, tags: Tags) -> tuple[str, ...] | None:
        """Returns the ids of the documents that a reply is about, where the file says so."""
        recorded = self._replies.get(tags)
        return recorded.documents if recorded else None

    @property
    def holds(self) -> str:
        """What there are replies for, for people: methods with their stages, and a topic."""
        stages: dict[str, set[str]] = {}
        for tags in self._replies:
            stages.setdefault(tags.method, set()).add(tags.stage)
        told = "; ".join(f"{name} ({', '.join(sorted(stages[name]))})" for name in sorted(stages))
        return f"{told}, for topics such as {next(iter(self._replies)).topic_id!r}"

    async def open(self, journal: Journal) -> None:
        """Forgets an earlier stop."""
        self._stopped = None

    async def send(self, request: Request, journal: Journal) -> Reply:
        """Returns the recorded reply and puts it into the journal."""
        if self._stopped is not None:
            raise NotAsked(self._stopped)
        recorded = self._replies.get(request.tags)
        if recorded is None:
            raise Failed("no-recorded-reply", request.tags.place)
        reply = Reply(recorded.text, finish_reason=recorded.finish_reason, lane=self.name)
        journal.done(request, reply)
        return reply

    def stop(self, reason: str) -> None:
        """Gives no more replies."""
        self._stopped = reason

    async def close(self) -> None:
        """Does nothing."""

    def finish(self, unfinished: Mapping[str, int]) -> None:
        """Raises where somebody stopped the run.

        Raises:
            Unfinished: If so.
        """
        raise_if_stopped(unfinished)


def _parse(row: Any, where: str) -> tuple[Tags, _Recorded, str | None]:
    if not isinstance(row, dict):
        raise InputError("is no object", where=where, fix=f"Keys: {', '.join(_STRINGS)}")
    for key in _STRINGS:
        if not isinstance(row.get(key), str):
            raise InputError(
                f"lacks the string {key!r}", where=where, fix=f"Keys: {', '.join(_STRINGS)}"
            )
    for key, kind in _OPTIONAL.items():
        if row.get(key) is not None and type(row[key]) is not kind:
            raise InputError(f"{key} is no {kind.__name__}", where=where, fix="Leave it out")
    tags = Tags(
        row["method"],
        row["stage"],
        row["topic_id"],
        row.get("sample") or 0,
        row.get("repair") or False,
    )
    documents = row.get("documents")
    if documents is not None and not (
        isinstance(documents, list) and all(isinstance(one, str) for one in documents)
    ):
        raise InputError(
            "documents is no list of strings",
            where=where,
            fix="Give the ids in their order, or none",
        )
    digest = hashlib.sha256(row["reply"].encode("utf-8", "surrogatepass")).hexdigest()[:16]
    about = None if documents is None else tuple(documents)
    recorded = _Recorded(row["reply"], row.get("finish_reason"), digest, about)
    return tags, recorded, row.get("model")
