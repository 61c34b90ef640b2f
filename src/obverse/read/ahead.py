"""Large JSON Lines files, made ready in stretches by processes of their own, and taken in the order of the file.

A stretch in which anything at all needs a closer look is read here, line by line, as without such processes: what is
found, and where, does not depend on their number.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import subprocess
import sys
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from obverse.errors import SettingError
from obverse.files import BOM, line_blocks
from obverse.read.documents import Documents, marks_of
from obverse.read.faults import Findings
from obverse.read.helper import Ready, Work
from obverse.read.json_rows import Block, is_one_a_line, parsed
from obverse.read.rows import row_blocks, seen, table_kind

LEAST = 24 << 20
"""Bytes from which on a file is worth other processes."""

_STRETCH = 1 << 19
"""Small enough that its rows stay in the cache of a processor."""

_LINE = 3 << 20
_MOST = 4
_ASKED_AT_ONCE = 4
_CODE = "from obverse.read.helper import serve; serve()"


def blocks_ahead(
    path: str | os.PathLike[str],
    findings: Findings,
    work: Work,
    documents: Documents,
    *,
    columns: Mapping[str, str] | None = None,
    quoting: str = "guess",
    workers: int | None = None,
) -> Iterator[Block | Ready]:
    """Yields the rows of a table as :func:`obverse.read.rows.row_blocks` does, or what the work made of them.

    Args:
        documents: Takes the documents that the work found.
        workers: Processes that work ahead; by default as many as there are processors, up to 4, for a large file.
    """
    count = _useful(path, workers)
    if count:
        findings.file = os.fspath(path)
        work.path, work.columns = os.path.abspath(path), dict(columns or {})  # noqa: PTH100
        work.looks = findings.inspector.looks if findings.inspector is not None else None
        with _Helpers(work, count) as helpers:
            yield from _Stretches(path, findings, documents, work.columns).taken(helpers)
        findings.close_lines()
    else:
        yield from row_blocks(path, findings, columns=columns, quoting=quoting)


def _useful(path: str | os.PathLike[str], workers: int | None) -> int:
    """Returns how many processes to use: none for small files, archives, and what is not one object a line."""
    if workers is not None and workers < 0:
        raise SettingError(f"--workers {workers}", fix="Give 0 or more")
    if workers is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        workers = min(_MOST, cores or 1) if (cores or 1) > 1 else 0
    file = Path(path)
    if not workers or not sys.executable or not file.is_file() or file.stat().st_size < LEAST:
        return 0
    with file.open("rb") as stream:
        first = stream.readline(_LINE).removeprefix(BOM)
    plain = first.startswith(b"{") and is_one_a_line(first) and table_kind(path) == "json"
    return workers if plain else 0


@dataclass(slots=True)
class _Stretches:
    path: str | os.PathLike[str]
    findings: Findings
    documents: Documents
    columns: dict[str, str]

    def taken(self, helpers: _Helpers) -> Iterator[Block | Ready]:
        """Yields the stretches in order; the first one, which names the columns, is always read here."""
        number = 0
        with open(self.path, "rb") as stream:
            for place, (start, end) in enumerate(bounds := list(_bounds(self.path))):
                ready = helpers.answer(place, bounds) if place else None
                if ready is not None and ready.found is not None and self._as_before(ready):
                    self._settle(ready, number, helpers.numbers(place))
                    yield ready
                    number += ready.count
                    continue
                stream.seek(start)
                data = stream.read(end - start)
                yield from self._read(data, number)
                if ready is not None:
                    ready.found = None  # its documents keep their numbers
                    self._settle(ready, number, helpers.numbers(place))
                number += data.count(b"\n") + (not data.endswith(b"\n"))

    def _as_before(self, ready: Ready) -> bool:
        inspector = self.findings.inspector
        return inspector is None or inspector.as_before(ready.shape, ready.count)

    def _settle(self, ready: Ready, number: int, own: array[int]) -> None:
        """Gives a stretch the numbers of its lines and of its documents, by what the helper's numbers are here."""
        if ready.fresh.ids:
            ready.fresh.lines = [line + number for line in ready.fresh.lines]
            fresh, documents = ready.fresh, self.documents
            fresh.marks = marks_of(fresh.titles, fresh.texts)
            known = documents.found(fresh.ids, fresh.marks)
            own.extend(documents.numbers_of(fresh, known).tolist())
        if ready.found is not None:
            lines = range(number + 1, number + 1 + ready.count)
            ready.found.lines = lines
            ready.found.docs = np.frombuffer(own, dtype=np.int64)[ready.found.docs]
            if self.findings.inspector is not None:
                self.findings.inspector.raws(lines, ready.marks)

    def _read(self, data: bytes, number: int) -> Iterator[Block]:
        findings = self.findings
        blocks = line_blocks(io.BytesIO(data), self.path, findings.lines, number)
        first = number == 0
        for lines, raws in blocks:
            block = parsed(lines, raws, findings, True)
            if block.rows:
                yield seen(block, self.columns, findings, first=first)
                first = False


def _bounds(path: str | os.PathLike[str]) -> Iterator[tuple[int, int]]:
    """Yields where stretches of whole lines begin and end."""
    size, start = Path(path).stat().st_size, 0
    with open(path, "rb") as stream:
        while start < size:
            stream.seek(min(start + _STRETCH, size))
            stream.readline()
            end = stream.tell()
            yield start, end
            start = end


class _Helpers:
    """Processes that make stretches ready, each its share of them in turn."""

    def __init__(self, work: Work, count: int) -> None:
        self._pipes: list[subprocess.Popen[bytes]] = []
        self._asked = [0] * count
        self._numbers = [array("q") for _ in range(count)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        for _ in range(count):
            helper = subprocess.Popen(
                [sys.executable, "-c", _CODE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                pipesize=1 << 20,
            )
            self._pipes.append(helper)
            with contextlib.suppress(OSError):
                pickle.dump(work, _pipe(helper.stdin))

    def __enter__(self) -> _Helpers:
        return self

    def __exit__(self, *_: object) -> None:
        for helper in self._pipes:
            helper.kill()
            for pipe in (helper.stdin, helper.stdout):
                with contextlib.suppress(OSError):
                    _pipe(pipe).close()
            helper.wait()

    def numbers(self, place: int) -> array[int]:
        """Returns what the numbers that the helper of a stretch gave to documents are here."""
        return self._numbers[(place - 1) % len(self._pipes)]

    def answer(self, place: int, bounds: list[tuple[int, int]]) -> Ready | None:
        """Returns what became of a stretch, or None where its helper is gone."""
        which = (place - 1) % len(self._pipes)
        helper = self._pipes[which]
        try:
            self._ask(which, place, bounds)
            head = _pipe(helper.stdout).read(8)
            answer = _pipe(helper.stdout).read(*struct.unpack("<q", head))
            ready = pickle.loads(answer)
        except (OSError, EOFError, struct.error, pickle.UnpicklingError):
            return None
        assert isinstance(ready, Ready)
        return ready

    def _ask(self, which: int, place: int, bounds: list[tuple[int, int]]) -> None:
        """Asks for stretches before their turn, so that the helper always has something to do."""
        count = len(self._pipes)
        until = place + count * _ASKED_AT_ONCE
        pipe = _pipe(self._pipes[which].stdin)
        while (wanted := 1 + which + self._asked[which] * count) < min(until, len(bounds)):
            pipe.write(struct.pack("<qq", *bounds[wanted]))
            self._asked[which] += 1
        pipe.flush()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
