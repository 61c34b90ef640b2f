"""Lines of a file, with what had to be taken away from them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from obverse.errors import InputError
from obverse.files.opening import open_bytes

BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 19
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


@dataclass(slots=True)
class LineFacts:
    """What :func:`read_lines` took away: how often, and in which line first."""

    marks: int = 0
    crlf: int = 0
    blank: int = 0
    first_mark: int | None = None
    first_crlf: int | None = None
    first_blank: int | None = None

    def mark(self, number: int) -> None:
        self.marks += 1
        self.first_mark = self.first_mark or number

    def returned(self, number: int) -> None:
        self.crlf += 1
        self.first_crlf = self.first_crlf or number

    def skipped(self, number: int) -> None:
        self.blank += 1
        self.first_blank = self.first_blank or number


def read_lines(
    path: str | os.PathLike[str], facts: LineFacts | None = None, *, blank: bool = False
) -> Iterator[tuple[int, bytes]]:
    """Yields ``(line number, line)`` without byte-order marks, line ends and blank lines.

    Lines end at LF alone (a CR before it is dropped): U+2028 and its kin are text. A byte-order mark at the start
    of a later line, as joined files have it, goes too.

    Args:
        facts: Counts what was taken away.
        blank: Yield blank lines as well, uncounted: a quoted CSV field may hold some.

    Raises:
        InputError: If the file is missing, damaged, or UTF-16 or UTF-32.
    """
    facts = LineFacts() if facts is None else facts
    number = 0
    with open_bytes(path) as stream:
        for lines, odd in _blocks(stream):
            for raw in lines:
                number += 1
                line = _cleaned(raw, number, facts, path) if odd else raw
                if (not line or line.isspace()) and not blank:
                    facts.skipped(number)
                else:
                    yield number, line


def read_line_blocks(
    path: str | os.PathLike[str], facts: LineFacts | None = None
) -> Iterator[tuple[Sequence[int], list[bytes]]]:
    """Yields ``(line numbers, lines)`` of about a megabyte, as :func:`read_lines` yields them one by one.

    Lines of white space alone may be left in.
    """
    with open_bytes(path) as stream:
        yield from line_blocks(stream, path, LineFacts() if facts is None else facts)


def line_blocks(
    stream: IO[bytes], path: str | os.PathLike[str], facts: LineFacts, number: int = 0
) -> Iterator[tuple[Sequence[int], list[bytes]]]:
    """Yields ``(line numbers, lines)`` of a stream, as :func:`read_line_blocks`.

    Args:
        path: What the stream reads, for errors.
        number: Lines of the file before the stream.
    """
    for lines, odd in _blocks(stream):
        numbers: Sequence[int] = range(number + 1, number + 1 + len(lines))
        number += len(lines)
        if odd:
            lines = [_cleaned(raw, n, facts, path) for n, raw in zip(numbers, lines, strict=True)]
        if b"" in lines:
            for n, line in zip(numbers, lines, strict=True):
                if not line:
                    facts.skipped(n)
            numbers = [n for n, line in zip(numbers, lines, strict=True) if line]
            lines = [line for line in lines if line]
        if lines:
            yield numbers, lines


def _blocks(stream: IO[bytes]) -> Iterator[tuple[list[bytes], bool]]:
    """Yields the lines of blocks, and whether a block holds a CR or what may be a byte-order mark."""
    rest, odd = b"", True  # the first line may begin with a mark
    end = b""
    while block := stream.read(_BLOCK):
        end = end or (b"\r" if b"\r" in block and b"\n" not in block else b"\n")
        odd = odd or b"\r" in block or BOM in block
        lines = (rest + block).split(end)
        rest = lines.pop()
        if lines:
            yield lines, odd or lines[0].endswith(b"\r") or lines[0].startswith(BOM)
            odd = False
    if rest:
        yield [rest], True


def _cleaned(line: bytes, number: int, facts: LineFacts, path: str | os.PathLike[str]) -> bytes:
    if line.endswith(b"\r"):
        line = line.rstrip(b"\r")
        facts.returned(number)
    if line.startswith(BOM):
        while line.startswith(BOM):  # a file that was marked twice
            line = line.removeprefix(BOM)
        facts.mark(number)
    elif number == 1 and (line.startswith(_WIDE_MARKS) or is_wide(line)):
        raise InputError(
            "is UTF-16 or UTF-32 text",
            where=os.fspath(path),
            fix="Save it as UTF-8: iconv -f UTF-16 -t UTF-8",
            code="not_utf8",
        )
    return line


def is_wide(line: bytes) -> bool:
    """Whether every other byte of a line's start is zero, as in UTF-16 without a mark, or more of them."""
    start = line[:8]
    return (
        len(start) > 3
        and b"\0" in (start[0:1], start[1:2])
        and 2 * start.count(0) >= len(start) - 1
        and start.count(0) < len(start)
    )
