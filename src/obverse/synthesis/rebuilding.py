"""A run's output made again from its journal alone: nothing is asked, so no server, key or network is needed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from obverse.errors import InputError
from obverse.llm.forms import Form, Question, chat_body
from obverse.llm.journal import Journal
from obverse.llm.lanes import NOT_THERE, Failed, NotAsked
from obverse.llm.reply import Reply
from obverse.llm.request import Request, Tags
from obverse.synthesis.files import RUN_FILE, synthesize_file


class JournalAlone:
    """The lane that only reads: a request without reply fails as it failed then.

    Args:
        model: The model's name in the requests.
        form: How the form of answers was asked for.
        extra: Further fields of each request.
    """

    name = "journal"
    drain_seconds = 0.0

    def __init__(
        self, model: str, *, form: Form = Form.TAGS, extra: Mapping[str, Any] | None = None
    ) -> None:
        self.model, self.form, self.extra = model, form, dict(extra or {})
        self._failed: dict[str, str] = {}

    def body(self, question: Question, tags: Tags) -> dict[str, Any]:
        """Returns the body that was sent then."""
        return chat_body(question, model=self.model, form=self.form, extra=self.extra)

    async def open(self, journal: Journal) -> None:
        """Looks up what failed."""
        failed = (record for record in journal.records() if record["kind"] == "fail")
        self._failed = {record["key"]: record["code"] for record in failed}

    async def send(self, request: Request, journal: Journal) -> Reply:
        """Never returns.

        Raises:
            Failed: If the request failed then, with the code of then.
            NotAsked: If it was not sent then.
        """
        if (code := self._failed.get(request.key)) is not None:
            raise Failed(code, "as the journal says")
        raise NotAsked(NOT_THERE)

    def stop(self, reason: str) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Does nothing."""

    def finish(self, unfinished: Mapping[str, int]) -> None:
        """Does nothing."""


def rebuild(
    run_dir: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    topics: str | os.PathLike[str] | None = None,
) -> int:
    """Writes a run's output anew, byte for byte, from the topics and the journal.

    Args:
        run_dir: The run's folder; its ``run.json`` says what was asked in which form.
        out: Where the topics with their new views go.
        topics: The topics, where they are not in their old place.

    Returns:
        The exit status of :func:`obverse.synthesis.files.synthesize_file`.

    Raises:
        InputError: If the folder says nothing of its run, or the replies came from a file.
    """
    path = Path(run_dir) / RUN_FILE
    try:
        told = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            f"holds no {RUN_FILE}",
            where=os.fspath(run_dir),
            fix="Name the folder of a run that ended by itself: by default <out>.run",
        ) from None
    source = topics if topics is not None else told["topics"]
    if source is None:
        raise InputError("the topics came from stdin", where=str(path), fix="Give --topics FILE")
    if told["lane"] == "recorded":
        raise InputError(
            "the replies came from a file",
            where=str(path),
            fix="Run the same command: it asks nothing",
        )
    return synthesize_file(
        source,
        out,
        method=told["method"],
        llm=JournalAlone(told["model"], form=Form(told["form"] or Form.TAGS), extra=told["extra"]),
        run_dir=run_dir,
        seed=told["seed"],
        options=told["options"],
        target=told["target"],
    )
