"""The journal of a run: append-only, written before a reply is used, the only truth about what was asked and paid.

``<run>/journal/<shard>/000001.jsonl`` holds one record a line: ``start`` before a request leaves, ``done`` with the
raw reply before anyone sees it, ``fail`` for an attempt without a reply, and ``note``. Parsed answers are never
kept, so a better parser reads old replies for free.

A shard's folder has one writer, which holds a lock on it; each opening that has news writes a segment of its own.
All shards of a run are read, whoever wrote them: that is the merge.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from obverse.errors import InputError
from obverse.files import hold
from obverse.llm.journal_found import Found
from obverse.llm.journal_index import Index, Place
from obverse.llm.journal_lines import Segment, cut_tail, decode, scan
from obverse.llm.reply import Reply, reply_from_row
from obverse.llm.request import Request

Fsync = Literal["always", "interval", "never"]
SEGMENT_BYTES = 256 * 2**20
SYNC_SECONDS = 0.25


class Journal:
    """An open journal; safe to use from several threads.

    Args:
        run_dir: The run's folder; made where it is missing.
        shard: The name of the folder that this process writes to.
        fsync: When records are forced to the disk: each one, every 0.25 s, or when the system likes. A kill loses
            nothing under any of them; a power failure loses at most what was not forced.

    Raises:
        SettingError: If another process writes to the same shard.
    """

    def __init__(
        self, run_dir: str | os.PathLike[str], *, shard: str = "0", fsync: Fsync = "interval"
    ) -> None:
        self.folder = Path(run_dir) / "journal" / shard
        self.found = Found()
        self._fsync = fsync
        self._index = Index()
        self._segments: list[Path] = []
        self._readers: dict[int, int] = {}
        self._guard = threading.RLock()
        self._closed = threading.Event()
        self._lock = hold(
            self.folder / "lock",
            elsewhere="Name another one with --run",
            busy="Wait for it, or give each process its part with --shard 0/2, 1/2",
        )
        try:
            self._load()
        except BaseException:
            os.close(self._lock)
            raise
        self._next_segment()
        self._syncer = threading.Thread(target=self._sync_now_and_then, daemon=True)
        if fsync == "interval":
            self._syncer.start()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Forces everything to the disk and gives the lock back."""
        if self._closed.is_set():
            return
        self._closed.set()
        if self._syncer.is_alive():
            self._syncer.join()
        with self._guard:
            if self._fsync != "never":
                self._segment.sync()
            self._segment.close()
            for descriptor in (self._lock, *self._readers.values()):
                os.close(descriptor)

    def __contains__(self, key: str) -> bool:
        return bytes.fromhex(key) in self._index.done

    def is_open(self, key: str) -> bool:
        """Whether a request is out and has neither reply nor failure."""
        digest = bytes.fromhex(key)
        return digest in self._index.open and digest not in self._index.done

    @property
    def run_dir(self) -> Path:
        """The run's folder."""
        return self.folder.parent.parent

    def reply(self, key: str) -> Reply | None:
        """Returns the reply that the journal holds for a key, or None."""
        where = self._index.done.get(bytes.fromhex(key))
        if where is None:
            return None
        number, offset, size = where
        with self._guard:
            if number not in self._readers:
                self._readers[number] = os.open(self._segments[number], os.O_RDONLY)
            record = decode(os.pread(self._readers[number], size, offset))
        if record is None:
            raise InputError(
                "was changed while in use", where=str(self._segments[number]), fix="Run again"
            )
        return reply_from_row(record["reply"])

    def changed(self, request: Request) -> dict[str, tuple[str, str]]:
        """Returns what differs from the last request for the same question of the same topic.

        Returns:
            ``{part: (then, now)}`` with the parts ``model``, ``prompt``, ``answer form`` and ``sampling``; empty
            where the journal has no such question, or the very same request.
        """
        return self._index.changed(request)

    def start(self, request: Request, *, lane: str, endpoint: str = "") -> None:
        """Notes that a request is about to be sent."""
        made_of = self._index.made_of(request)
        facts = {"lane": lane, "endpoint": endpoint, "max_tokens": request.max_tokens}
        with self._guard:
            self._append(_row("start", request, made_of, **facts))
            self._index.started(request.tags, request.digest, made_of, lane=lane)

    def done(self, request: Request, reply: Reply) -> None:
        """Writes a reply. Call it before anyone sees the reply."""
        made_of = self._index.made_of(request)
        with self._guard:
            place = self._append(_row("done", request, made_of, reply=reply.row()))
            self._index.replied(request.tags, request.digest, made_of, place)

    def fail(
        self,
        request: Request,
        code: str,
        *,
        status: int | None = None,
        body: str = "",
        maybe_billed: bool = False,
        endpoint: str = "",
    ) -> None:
        """Notes an attempt that brought no reply."""
        row = {
            "kind": "fail",
            "key": request.key,
            "time": time.time(),
            "code": code,
            "status": status,
            "body": body[:4_096],
            "maybe_billed": maybe_billed,
            "endpoint": endpoint,
        }
        with self._guard:
            self._append(row)
            self._index.failed(request.digest)

    def note(self, what: str, **facts: Any) -> None:
        """Writes a record that is no request: a batch that was handed in, a stop."""
        self._append({"kind": "note", "what": what, "time": time.time(), **facts})

    def records(self) -> Iterator[Mapping[str, Any]]:
        """Yields all good records of all shards, in the order of shards, segments and lines."""
        for path in self._segments:
            if path.exists():
                for line in scan(path):
                    if line.record is not None:
                        yield line.record

    def _append(self, record: Mapping[str, Any]) -> Place:
        """Writes a record; returns where it stands."""
        with self._guard:
            if self._segment.size >= SEGMENT_BYTES:
                self._segment.sync()
                self._segment.close()
                self._next_segment()
            offset, size = self._segment.append(record)
            if self._fsync == "always":
                self._segment.sync()
            return len(self._segments) - 1, offset, size

    def _next_segment(self) -> None:
        last = max((int(path.stem) for path in self.folder.glob("[0-9]*.jsonl")), default=0)
        self._segment = Segment(self.folder / f"{last + 1:06d}.jsonl")
        self._segments.append(self._segment.path)

    def _load(self) -> None:
        """Reads all shards. The own one is mended; another's tail may be in the making and is left alone."""
        for folder in sorted(path for path in self.folder.parent.iterdir() if path.is_dir()):
            for path in sorted(folder.glob("[0-9]*.jsonl")):
                self._segments.append(path)
                self._load_segment(path, own=folder == self.folder)
        self.found.done = len(self._index.done)
        self.found.duplicates = self._index.duplicates
        lost = self._index.without_answer
        self.found.in_batches = len(lost & self._index.batched)
        self.found.in_flight = len(lost) - self.found.in_batches

    def _load_segment(self, path: Path, *, own: bool) -> None:
        good_end = bad = 0
        for line in scan(path):
            if line.record is None:
                bad += 1
                continue
            self.found.bad_lines += bad
            bad, good_end = 0, line.offset + line.size
            self._index.take(line.record, (len(self._segments) - 1, line.offset, line.size))
        if own:
            self.found.torn_bytes += cut_tail(path, good_end)
        else:
            self.found.bad_lines += max(0, bad - 1)

    def _sync_now_and_then(self) -> None:
        synced = (self._segment, 0)
        while not self._closed.wait(SYNC_SECONDS):
            now = (self._segment, self._segment.size)
            if now != synced:
                with contextlib.suppress(OSError):  # a segment that is full just now syncs itself
                    now[0].sync()
                synced = now


def _row(
    kind: str, request: Request, made_of: Mapping[str, str], **facts: Any
) -> Mapping[str, Any]:
    return {
        "kind": kind,
        "key": request.key,
        "time": time.time(),
        "tags": request.tags.row(),
        "parts": made_of,
        **facts,
    }
