"""The lines of a journal: one record each, with a checksum, so that a torn or damaged one is seen."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from obverse.errors import ObverseError
from obverse.files import to_json

_HEAD, _MIDDLE, _TAIL = b'{"crc":"', b'","record":', b"}"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a segment: where it stands, and its record, or None where it is damaged."""

    offset: int
    size: int
    record: Mapping[str, Any] | None


def encode(record: Mapping[str, Any]) -> bytes:
    """Returns the line of a record, line end included."""
    body = to_json(record)
    return b"".join([_HEAD, b"%08x" % zlib.crc32(body), _MIDDLE, body, _TAIL, b"\n"])


def decode(line: bytes) -> Mapping[str, Any] | None:
    """Returns the record of a line without its line end, or None where the checksum does not hold."""
    start = len(_HEAD) + 8 + len(_MIDDLE)
    body = line[start : -len(_TAIL)]
    if line[:start] != b"".join([_HEAD, b"%08x" % zlib.crc32(body), _MIDDLE]):
        return None
    if not line.endswith(_TAIL):
        return None
    record: Mapping[str, Any]
    try:
        record = orjson.loads(body)
    except orjson.JSONDecodeError:  # an escaped lone surrogate
        record = json.loads(body)
    return record


def scan(path: Path) -> Iterator[Line]:
    """Yields the lines of a segment, streaming."""
    offset = 0
    with path.open("rb") as stream:
        for raw in stream:
            line = raw.removesuffix(b"\n")
            if line:
                yield Line(offset, len(line), decode(line))
            offset += len(raw)


def cut_tail(path: Path, end: int) -> int:
    """Cuts a segment off after byte ``end``, keeps what was there in ``torn.bin`` beside it, and returns its size."""
    with path.open("rb") as stream:
        stream.seek(end)
        torn = stream.read().lstrip(b"\n")
    if torn:
        with (path.parent / "torn.bin").open("ab") as aside:
            aside.write(torn + b"\n")
        os.truncate(path, end)
        with path.open("ab") as stream:
            stream.write(b"\n" if end else b"")
    return len(torn)


class Segment:
    """A segment that is written to. It is made with its first record, so a run without news leaves no file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._file: int | None = None

    def append(self, record: Mapping[str, Any]) -> tuple[int, int]:
        """Writes one record with one system call and returns its offset and size."""
        if self._file is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
            self._file = os.open(self.path, flags, 0o644)
        line, offset = encode(record), self.size
        try:
            written = os.write(self._file, line)
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError as error:
            os.ftruncate(self._file, offset)
            raise ObverseError(
                f"the journal cannot be written: {error.strerror}",
                where=str(self.path),
                fix="Make room on the disk and run the same command again; all earlier replies are kept",
            ) from None
        self.size += len(line)
        return offset, len(line) - 1

    def sync(self) -> None:
        """Forces what was written to the disk."""
        if self._file is not None:
            os.fdatasync(self._file)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
