"""Handing batch files in at an OpenAI-compatible server, and fetching what came of them.

A batch's id stands in the journal as soon as the server has said it, and each batch carries the digest of its file: a
crash between the two finds the batch again instead of paying for a second one. Whether a batch is complete is told by
counting its replies, never by its status.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from obverse.errors import InputError, ModelError
from obverse.files import digest, whole_file
from obverse.llm.batch_import import Imported, import_into, requests_of
from obverse.llm.connection import FAILURES, checked_url
from obverse.llm.journal import Journal
from obverse.llm.responses import fatal, meaning

SUBMITTED, FETCHED = "batch submitted", "batch fetched"
OVER = ("completed", "failed", "expired", "cancelled")
MARK = "obverse_file"
WINDOW = "24h"
_TRIES = 4


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that was handed in: its id, the request file's name, and the server."""

    batch_id: str
    file: str
    url: str


@dataclass(slots=True)
class Polled:
    """What polling found.

    Attributes:
        statuses: Of each batch, by its id: the server's word and how many requests are done.
        running: Batches that are not over.
        imported: What their results held.
        again: Requests of ended batches without result; the next run of the same command writes them anew.
        problems: What the server says is wrong with a batch.
    """

    statuses: dict[str, str] = field(default_factory=dict)
    running: int = 0
    imported: Imported = field(default_factory=Imported)
    again: int = 0
    problems: list[str] = field(default_factory=list)


class BatchService:
    """A server's ``/files`` and ``/batches``.

    Args:
        url: The base URL, such as ``https://api.openai.com/v1``.
        api_key_env: The environment variable that holds the key.

    Raises:
        SettingError: If the URL is none.
    """

    def __init__(self, url: str, api_key_env: str = "OPENAI_API_KEY") -> None:
        self.url = checked_url(url)
        key = os.environ.get(api_key_env)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    async def submit(self, path: Path, journal: Journal) -> str:
        """Hands a request file in, unless the server has its batch already; returns the batch's id."""
        mark = digest(path)
        earlier = {batch.batch_id for batch in submitted(journal.records())}
        batch_id = await self._known(mark, earlier)
        if batch_id is None:
            form = aiohttp.FormData({"purpose": "batch"})
            form.add_field("file", path.read_bytes(), filename=path.name)
            file = await self._call("POST", "files", data=form)
            wanted = {
                "input_file_id": file["id"],
                "endpoint": "/v1/chat/completions",
                "completion_window": WINDOW,
                "metadata": {MARK: mark},
            }
            batch_id = str((await self._call("POST", "batches", json=wanted))["id"])
        journal.note(SUBMITTED, batch_id=batch_id, file=path.name, url=self.url, sha256=mark)
        return batch_id

    async def batch(self, batch_id: str) -> Mapping[str, Any]:
        """Returns what the server says about a batch."""
        found: Mapping[str, Any] = await self._call("GET", f"batches/{batch_id}")
        return found

    async def fetch(self, file_id: str, path: Path) -> None:
        """Writes a file of the server's, whole or not at all."""
        raw = await self._send("GET", f"files/{file_id}/content")
        with whole_file(path) as stream:
            stream.write(raw)

    async def _known(self, mark: str, earlier: set[str]) -> str | None:
        """Returns the id of the batch that was made of a file, if there is one that nobody wrote down."""
        after: str | None = None
        while True:
            page = await self._call("GET", f"batches?limit=100{f'&after={after}' if after else ''}")
            batches = page.get("data") or []
            for batch in batches:
                made_of = (batch.get("metadata") or {}).get(MARK)
                if made_of == mark and batch["status"] != "failed" and batch["id"] not in earlier:
                    return str(batch["id"])
            if not page.get("has_more") or not batches:
                return None
            after = batches[-1]["id"]

    async def _call(self, method: str, path: str, **what: Any) -> Any:
        raw = await self._send(method, path, **what)
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            raise ModelError(
                f"{path.split('?')[0]} answers with something that is no JSON",
                where=self.url,
                fix="Check that the server has /files and /batches",
            ) from None

    async def _send(self, method: str, path: str, **what: Any) -> bytes:
        """Sends a request; what may pass is tried again where that cannot make a second batch."""
        tries = 1 if method == "POST" else _TRIES
        async with aiohttp.ClientSession(headers=self._headers) as session:
            for attempt in range(1, tries + 1):
                try:
                    async with session.request(
                        method, f"{self.url}/{path}", timeout=aiohttp.ClientTimeout(600), **what
                    ) as response:
                        status, headers, raw = (
                            response.status,
                            response.headers,
                            await response.read(),
                        )
                except FAILURES as error:
                    problem = f"cannot be reached ({error!r})"
                else:
                    if 200 <= status < 300:
                        return raw
                    told = meaning(status, headers, raw)
                    detail = raw[:300].decode("utf-8", "replace")
                    if told.code == "not-found":
                        raise ModelError(
                            f"has no /{path.split('?')[0]} (status {status})",
                            where=self.url,
                            fix="Give the base URL of a server with /files and /batches",
                        )
                    if told.kind == "fatal":
                        raise fatal(told.code, self.url, path.split("?")[0], detail)
                    problem = f"{method} {path.split('?')[0]} answers {status}: {detail}"
                    if told.kind == "row":
                        break
                if attempt < tries:
                    await asyncio.sleep(0.5 * 2**attempt)
        raise ModelError(
            problem, where=self.url, fix="Run the same command again: nothing is handed in twice"
        )


async def submit_files(run_dir: str | os.PathLike[str], service: BatchService) -> list[Batch]:
    """Hands in the run's request files that are not handed in yet; returns their batches.

    Raises:
        InputError: If the run wrote no request file.
        ModelError: If the server refuses.
    """
    folder = Path(run_dir) / "batch"
    files = sorted(folder.glob("*.requests.jsonl")) if folder.is_dir() else []
    if not files:
        raise InputError(
            "holds no request file",
            where=str(folder),
            fix="Write them first: obverse synthesize ... --batch openai",
        )
    with Journal(run_dir) as journal:
        known = {batch.file for batch in submitted(journal.records())}
        return [
            Batch(await service.submit(path, journal), path.name, service.url)
            for path in files
            if path.name not in known
        ]


def submitted(records: Iterable[Mapping[str, Any]]) -> list[Batch]:
    """Returns the batches that a journal's records tell of."""
    return [
        Batch(record["batch_id"], record["file"], record["url"])
        for record in records
        if record["kind"] == "note" and record["what"] == SUBMITTED
    ]


async def poll(run_dir: str | os.PathLike[str], api_key_env: str = "OPENAI_API_KEY") -> Polled:
    """Asks about the run's batches that are not fetched yet, and imports the results of those that have any.

    Raises:
        InputError: If no batch was handed in.
        ModelError: If the server refuses.
    """
    found, folder = Polled(), Path(run_dir) / "batch"
    with Journal(run_dir) as journal:
        records = [r for r in journal.records() if r["kind"] == "note"]
        batches = submitted(records)
        if not batches:
            raise InputError(
                "no batch was handed in", where=os.fspath(run_dir), fix="obverse batch-submit first"
            )
        fetched = {r["batch_id"] for r in records if r["what"] == FETCHED}
        for batch in batches:
            if batch.batch_id not in fetched:
                service = BatchService(batch.url, api_key_env)
                await _poll_one(service, batch, folder, journal, found)
        found.imported.missing = sum(
            journal.is_open(request.key) for request in requests_of(folder).values()
        )
    return found


async def _poll_one(
    service: BatchService, batch: Batch, folder: Path, journal: Journal, found: Polled
) -> None:
    said = await service.batch(batch.batch_id)
    status, counts = str(said.get("status")), said.get("request_counts") or {}
    found.statuses[batch.batch_id] = (
        f"{status}, {counts.get('completed', '?')} of {counts.get('total', '?')} done"
    )
    requests, paths = requests_of(folder, batch.file), []
    for kind in ("output", "error"):
        if file_id := said.get(f"{kind}_file_id"):
            paths.append(folder / f"{batch.batch_id}.{kind}.jsonl")
            await service.fetch(str(file_id), paths[-1])
    import_into(journal, requests, paths, found.imported)
    if status not in OVER:
        found.running += 1
        return
    for problem in (said.get("errors") or {}).get("data") or []:
        found.problems.append(f"{batch.batch_id}: {problem.get('message')}")
    for request in requests.values():
        if journal.is_open(request.key):
            journal.fail(request, f"batch-{status}", endpoint=batch.url)
            found.again += 1
    journal.note(FETCHED, batch_id=batch.batch_id, status=status)
