"""Results of batch files into the journal, in whatever state they come back."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from obverse.errors import InputError
from obverse.files import read_json_lines, read_lines
from obverse.llm.batch_files import ID_CHARS
from obverse.llm.journal import Journal
from obverse.llm.reply import reply_from_response
from obverse.llm.request import Request, Tags


@dataclass(slots=True)
class Imported:
    """What an import found.

    Attributes:
        replies: New replies.
        known: Results whose request had its reply already.
        failed: Results without a reply, by code; their requests can go out again.
        unknown: Results of requests that this run never wrote.
        broken_lines: Lines that are no results, such as the last one of a file that is still being written.
        missing: Requests that are out and have no result yet.
    """

    replies: int = 0
    known: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    unknown: int = 0
    broken_lines: int = 0
    missing: int = 0

    def __str__(self) -> str:
        told = [f"{self.replies:,} new replies"]
        told += [f"{self.known:,} known already"] if self.known else []
        told += [f"{count:,} failed: {code}" for code, count in self.failed.most_common()]
        told += [f"{self.unknown:,} of other runs, left out"] if self.unknown else []
        told += [f"{self.broken_lines:,} lines that are no results"] if self.broken_lines else []
        return ", ".join([*told, f"{self.missing:,} still missing"])


def import_results(
    paths: Iterable[str | os.PathLike[str]],
    run_dir: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
) -> Imported:
    """Reads result and error files into a run's journal and returns what they held.

    Files of completed, expired, cancelled and running batches will do, in any order and more than once. Whether a
    batch is complete is told by counting, never by its status.

    Args:
        paths: The files.
        run_dir: The run that wrote the request files.
        folder: Where they are; by default ``<run>/batch``.

    Raises:
        InputError: If the run wrote no request file, or a file of results is missing.
    """
    requests = requests_of(Path(folder) if folder is not None else Path(run_dir) / "batch")
    found = Imported()
    with Journal(run_dir) as journal:
        import_into(journal, requests, paths, found)
        found.missing = sum(journal.is_open(request.key) for request in requests.values())
    return found


def import_into(
    journal: Journal,
    requests: Mapping[str, Request],
    paths: Iterable[str | os.PathLike[str]],
    found: Imported,
) -> None:
    """Reads result and error files into an open journal and counts what they held."""
    for path in paths:
        for row in _rows(path, found):
            _take(row, requests, journal, found)


def requests_of(folder: Path, name: str = "*.requests.jsonl") -> dict[str, Request]:
    """Returns the requests of a folder's request files, or of one, by their custom_id.

    Raises:
        InputError: If there is none.
    """
    requests: dict[str, Request] = {}
    for path in sorted(folder.glob(name)) if folder.is_dir() else []:
        bodies = {row["custom_id"]: row["body"] for _, row in read_json_lines(path)}
        for _, row in read_json_lines(path.with_suffix(".tags")):
            body = bodies[row["custom_id"]]
            requests[row["custom_id"]] = Request(body, Tags(**row["tags"]), row["key"])
    if not requests:
        raise InputError(
            "holds no request file",
            where=str(folder),
            fix="Name the run that wrote them with --run",
        )
    return requests


def _rows(path: str | os.PathLike[str], found: Imported) -> Iterator[dict[str, Any]]:
    for _, line in read_lines(path):
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            row = None
        if isinstance(row, dict) and isinstance(row.get("custom_id"), str):
            yield row
        else:
            found.broken_lines += 1


def _take(
    row: dict[str, Any], requests: Mapping[str, Request], journal: Journal, found: Imported
) -> None:
    request = requests.get(row["custom_id"][:ID_CHARS])
    if request is None:
        found.unknown += 1
        return
    if request.key in journal:
        found.known += 1
        return
    response = row.get("response") or {}
    status = response.get("status_code", 200) if isinstance(response, dict) else None
    try:
        if row.get("error") or status != 200:
            raise ValueError
        reply = reply_from_response(response.get("body"), lane="batch")
    except ValueError:
        code = _code(row, status)
        found.failed[code] += 1
        if journal.is_open(request.key):  # the same error line may come twice
            journal.fail(request, code, status=status, body=orjson.dumps(row).decode()[:4_096])
        return
    journal.done(request, reply)
    found.replies += 1


def _code(row: dict[str, Any], status: Any) -> str:
    error = row.get("error")
    if isinstance(error, dict) and error.get("code"):
        return str(error["code"])
    return f"status-{status}" if status != 200 else "no-chat-completion"
