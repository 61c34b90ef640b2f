"""Batch files, for vLLM's run-batch and for the OpenAI Batch format: what has no reply yet goes out as files.

The next run of the same command goes on with what was imported by then; a method with several questions takes as
many rounds. The keys are those of live requests, so a run may change between live and batch at any time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from obverse.errors import SettingError
from obverse.files import to_json, whole_file
from obverse.llm.canary import remembered_form
from obverse.llm.forms import Form, Question, chat_body
from obverse.llm.journal import Journal
from obverse.llm.lanes import NotAsked, Unfinished
from obverse.llm.reply import Reply
from obverse.llm.request import Request, Tags
from obverse.log import say

Kind = Literal["openai", "vllm"]
LINES = {"openai": 50_000, "vllm": 4_000}
"""vLLM answers in the order of the file and writes late: many small files lose less."""
MAX_BYTES = 190 * 2**20
WAITS = "waits for a batch"
ID_CHARS = 40


class BatchFiles:
    """The lane that sends nothing and writes request files.

    Args:
        model: The model's name in the requests.
        kind: ``openai`` or ``vllm``; only the size of the files differs.
        folder: Where the files go; by default ``<run>/batch``.
        form: How the form of answers is asked for; by default as this run did so far, else by tags.
        extra: Further fields of each request.
        lines: Requests in a file, at most.
        again: Whether requests go out again that an earlier file holds and no result has come for.
    """

    name = "batch"
    drain_seconds = 0.0

    def __init__(
        self,
        model: str,
        *,
        kind: Kind = "openai",
        folder: str | os.PathLike[str] | None = None,
        form: Form | None = None,
        extra: Mapping[str, Any] | None = None,
        lines: int | None = None,
        again: bool = False,
    ) -> None:
        if kind not in LINES:
            raise SettingError(f"unknown batch kind {kind!r}", fix="Use openai or vllm")
        self.model, self.form, self.extra = model, form, dict(extra or {})
        self.folder = Path(folder) if folder is not None else None
        self.written: list[Path] = []
        self._lines = lines or LINES[kind]
        self._again = again
        self._pending: dict[str, Request] = {}
        self._waiting = 0
        self._journal: Journal | None = None

    def body(self, question: Question, tags: Tags) -> dict[str, Any]:
        """Returns the body that a live lane would send."""
        form = self.form or Form.TAGS
        return chat_body(question, model=self.model, form=form, extra=self.extra)

    async def open(self, journal: Journal) -> None:
        """Looks up the form of answers."""
        self._journal, self._pending = journal, {}
        self.folder = self.folder or journal.run_dir / "batch"
        self.form = remembered_form(journal.run_dir, self.model, default=self.form)

    async def send(self, request: Request, journal: Journal) -> Reply:
        """Puts the request among those that go out.

        Raises:
            NotAsked: Always: the reply comes by import.
        """
        if self._again or not journal.is_open(request.key):
            self._pending[request.key] = request
        else:
            self._waiting += 1
        raise NotAsked(WAITS)

    def stop(self, reason: str) -> None:
        """Does nothing: nothing is sent."""

    async def close(self) -> None:
        """Writes the files."""
        part: list[Request] = []
        size = 0
        for request in self._pending.values():
            line = len(to_json(request.body)) + 200
            if part and (len(part) >= self._lines or size + line > MAX_BYTES):
                self._write(part)
                part, size = [], 0
            part.append(request)
            size += line
        if part:
            self._write(part)

    def _write(self, requests: list[Request]) -> None:
        """The files come first: a crash before the journal knows of them writes them again, and loses nothing."""
        assert self._journal is not None and self.folder is not None
        number = len(list(self.folder.glob("*.requests.jsonl"))) + 1
        path = self.folder / f"{number:04d}.requests.jsonl"
        with whole_file(path.with_suffix(".tags")) as stream:
            for request in requests:
                row = {"custom_id": request.key[:ID_CHARS], "key": request.key}
                stream.write(to_json(row | {"tags": request.tags.row()}) + b"\n")
        with whole_file(path) as stream:
            for request in requests:
                stream.write(to_json(batch_line(request)) + b"\n")
        for request in requests:
            self._journal.start(request, lane=self.name, endpoint=path.name)
        self.written.append(path)

    def finish(self, unfinished: Mapping[str, int]) -> None:
        """Says what to do with the files.

        Raises:
            Unfinished: If any topic waits for a reply.
        """
        for path in self.written:
            say(f"batch: {path}")
        if unfinished:
            raise Unfinished(
                f"{sum(unfinished.values()):,} topics wait for replies; {len(self._pending):,} requests written to "
                f"{len(self.written)} files, {self._waiting:,} are out already",
                exit_status=0,
                fix="Import the results with obverse batch-import, then run the same command again",
            )


def batch_line(request: Request) -> dict[str, Any]:
    """Returns a request as a line of a batch file."""
    return {
        "custom_id": request.key[:ID_CHARS],
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": request.body,
    }
