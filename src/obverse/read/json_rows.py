"""Rows of JSON Lines, a JSON array, or a list wrapped in an object, in blocks; what is broken is named by line."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from obverse.files import (
    is_wide,
    key_count,
    may_repeat_keys,
    open_bytes,
    parse_json,
    read_line_blocks,
    read_lines,
    repeated_keys,
)
from obverse.read.faults import TO_UTF8, Findings
from obverse.read.half_pairs import note_half_pairs

Row = dict[str, Any]

_CONTROLS = re.compile(rb"\\u00(?:0[0-8bBcCeEfF]|1[0-9a-fA-F]|7[fF])")
_SEPARATORS = (b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85")
_ESCAPED_SEPARATORS = (b"\\u2028", b"\\u2029", b"\\u0085")
_AT_ONCE = 1_000


@dataclass(slots=True)
class Block:
    """Neighbouring rows.

    Attributes:
        lines: The line of each row.
        rows: The rows.
        raws: What stands in the file, where it has lines; else empty.
    """

    lines: Sequence[int]
    rows: list[Row]
    raws: Sequence[bytes] = ()

    def each(self, findings: Findings) -> Iterator[tuple[int, Row]]:
        """Yields ``(line, row)``; meanwhile ``findings.raw`` is what stands in the file."""
        if self.raws:
            for line, row, findings.raw in zip(self.lines, self.rows, self.raws, strict=True):
                yield line, row
        else:
            yield from zip(self.lines, self.rows, strict=True)


def in_blocks(found: Iterator[tuple[int, Row]]) -> Iterator[Block]:
    """Yields single rows in blocks."""
    while part := list(islice(found, _AT_ONCE)):
        yield Block([line for line, _ in part], [row for _, row in part])


def json_blocks(
    path: str | os.PathLike[str], findings: Findings, *, repeated: bool = True
) -> Iterator[Block]:
    """Yields the objects of a JSON Lines file, or of a file that is one JSON value.

    Args:
        repeated: Note keys that stand twice in one object, of which the last one counts.
    """
    first = True
    for lines, raws in read_line_blocks(path, findings.lines):
        if first and (start := next((raw for raw in raws if not raw.isspace()), b"")):
            whole = _whole_value(path, start, findings)
            if whole is not None:
                yield from in_blocks(whole)
                return
            first = False
        block = parsed(lines, raws, findings, repeated)
        if block.rows:
            yield block


def parsed(lines: Sequence[int], raws: list[bytes], findings: Findings, repeated: bool) -> Block:
    """Returns lines as rows; what is wrong with a line is noted."""
    block = _parsed(lines, raws, findings, repeated)
    if findings.inspector is not None:
        findings.inspector.raws(block.lines, findings.inspector.looks.raws(block.raws))
    return block


def plain_rows(raws: list[bytes]) -> list[Row] | None:
    """Returns the rows of lines of which nothing has to be said, or None."""
    whole = b"\n".join(raws)
    if not is_plain(whole):
        return None
    try:
        rows = list(map(orjson.loads, raws))
    except orjson.JSONDecodeError:
        return None
    if set(map(type, rows)) != {dict} or not _keys_stand_once(whole, rows):
        return None
    return rows


def is_plain(whole: bytes) -> bool:
    """Whether lines hold UTF-8 in which no character has to be looked at."""
    if b"\\" in whole and b"\\u" in whole:  # one byte is found far sooner than two
        return False
    if whole.isascii():
        return True
    try:
        whole.decode()
    except UnicodeDecodeError:
        return False
    return not any(mark in whole for mark in _SEPARATORS)


def is_one_a_line(first: bytes) -> bool:
    """Whether a file that begins with this line has one object on each."""
    try:
        value = parse_json(first)
    except json.JSONDecodeError:
        return False
    return isinstance(value, dict) and not _wrapped(value)


def _parsed(lines: Sequence[int], raws: list[bytes], findings: Findings, repeated: bool) -> Block:
    whole = b"\n".join(raws)
    if b"\\u" in whole or not whole.isascii():
        for line, raw in zip(lines, raws, strict=True):
            if b"\\u" in raw or not raw.isascii():
                _look_at_characters(line, raw, findings)
    block = _values(lines, raws, findings)
    if repeated:
        _note_repeated_keys(block, whole if len(block.raws) == len(raws) else None, findings)
    return block


def _values(lines: Sequence[int], raws: list[bytes], findings: Findings) -> Block:
    try:
        values = list(map(orjson.loads, raws))
        if set(map(type, values)) == {dict}:
            return Block(lines, values, raws)
    except orjson.JSONDecodeError:
        pass
    good = [
        (line, value, raw)
        for line, raw in zip(lines, raws, strict=True)
        if (value := _value(line, raw, findings)) is not None
    ]
    return Block([line for line, _, _ in good], [v for _, v, _ in good], [r for _, _, r in good])


def _note_repeated_keys(block: Block, whole: bytes | None, findings: Findings) -> None:
    """Notes keys that stand twice; the lines in one piece, where they are at hand, settle the usual case at once."""
    raws, rows = block.raws, block.rows
    if whole is not None and _keys_stand_once(whole, rows):
        return
    for line, raw, row in zip(block.lines, raws, rows, strict=True):
        if may_repeat_keys(raw, row):
            with contextlib.suppress(ValueError):
                for key, message in repeated_keys(raw):
                    findings.note("duplicate_key", line, key, message)


def _keys_stand_once(whole: bytes, rows: list[Row]) -> bool:
    """Whether as many keys were read as stand in the lines; false also for some lines that repeat none."""
    flat = whole.count(b"{") == len(rows)
    return _keys(whole) == (sum(map(len, rows)) if flat else _keys_of(rows))


def _keys_of(rows: list[Row]) -> int:
    try:
        return _keys(orjson.dumps(rows))  # quicker than a walk through all values
    except TypeError:  # a lone surrogate
        return sum(map(key_count, rows))


def _keys(text: bytes) -> int:
    quoted = text.count(b'\\":') if b"\\" in text else 0
    return text.count(b'":') - quoted


def _value(line: int, raw: bytes, findings: Findings) -> Row | None:
    """Returns the object of a line, or None for a blank line and for what is no object, which is noted."""
    if raw.isspace():
        findings.lines.skipped(line)
        return None
    findings.raw = raw
    try:
        value = parse_json(raw)
    except (json.JSONDecodeError, RecursionError) as error:
        return _mended(line, raw, error, findings)
    if isinstance(value, dict):
        note_half_pairs(line, raw, value, findings)
        return value
    _no_object(line, findings)
    return None


def _no_object(line: int, findings: Findings) -> None:
    findings.rows += 1
    findings.wrong(
        "not_an_object", line, None, "the row is no JSON object", "Write objects, one on each line"
    )


def _whole_value(
    path: str | os.PathLike[str], first: bytes, findings: Findings
) -> Iterator[tuple[int, Row]] | None:
    """Returns the rows of a file that is one JSON value over many lines, or that wraps its rows in an object."""
    raw = start = first.lstrip()
    if start.startswith(b"["):
        return _array_rows(path, findings)
    if not start.startswith(b"{"):
        return None
    try:
        value = parse_json(first)
        if not _wrapped(value) or not _is_alone(path):
            return None
    except json.JSONDecodeError:
        if len(start) > 200 or os.fspath(path) == "-":
            return None
        with open_bytes(path) as stream:
            try:
                raw = stream.read().removeprefix(b"\xef\xbb\xbf")
                value = parse_json(raw)
            except json.JSONDecodeError:
                return None
    if not isinstance(value, dict):
        return None
    found = _wrapped(value)
    if found is not None:
        findings.said.append(f"{findings.file}: the rows are the list under {found!r}")
    items = value[found] if found is not None else [value]
    return _items(items, raw, findings)


def _is_alone(path: str | os.PathLike[str]) -> bool:
    """Whether a file has one line alone that is not blank."""
    return os.fspath(path) == "-" or len(list(islice(read_lines(path), 2))) < 2


def _wrapped(value: Any) -> str | None:
    """Returns the one key of an object whose value is a list of objects."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    key, items = next(iter(value.items()))
    fits = isinstance(items, list) and items and all(isinstance(item, dict) for item in items)
    return key if fits else None


def _array_rows(path: str | os.PathLike[str], findings: Findings) -> Iterator[tuple[int, Row]]:
    with open_bytes(path) as stream:
        raw = stream.read()
    try:
        values = parse_json(raw.removeprefix(b"\xef\xbb\xbf"))
    except json.JSONDecodeError as error:
        findings.rows += 1
        findings.wrong(
            "bad_json",
            error.lineno,
            None,
            f"is no JSON ({error.msg})",
            "Write one object on each line, or one array of objects",
        )
        return
    findings.lines = type(findings.lines)()
    findings.said.append(f"{findings.file}: one JSON array; lines are counted as items of it")
    yield from _items(values, raw, findings)


def _items(values: list[Any], raw: bytes, findings: Findings) -> Iterator[tuple[int, Row]]:
    """Yields the objects of a list with their numbers."""
    for number, value in enumerate(values, start=1):
        if isinstance(value, dict):
            note_half_pairs(number, raw, value, findings)
            yield number, value
        else:
            _no_object(number, findings)


def _mended(line: int, raw: bytes, error: Exception, findings: Findings) -> dict[str, Any] | None:
    """Reads NaN and Infinity, which Python and pandas write, as null; anything else is broken."""
    value, words = _leniently(raw)
    if isinstance(value, dict):
        if words:
            findings.note("not_a_number", line, None, "NaN or Infinity read as null")
        if any(byte < 32 for byte in raw.strip()):
            message = "a bare control character in a string, which JSON writes with a backslash"
            findings.note("control_character", line, None, message)
        note_half_pairs(line, raw, value, findings)
        return value
    findings.rows += 1
    if is_wide(raw):
        message, fix = "is UTF-16 or UTF-32 text", "Save it as UTF-8: iconv -f UTF-16LE -t UTF-8"
        findings.wrong("not_utf8", line, None, message, fix)
        return None
    try:
        raw.decode()
    except UnicodeDecodeError as broken:
        findings.wrong(
            "not_utf8",
            line,
            None,
            f"byte {broken.start + 1} is not UTF-8",
            TO_UTF8,
        )
        return None
    findings.wrong(
        "bad_json",
        line,
        None,
        _json_fault(raw, error),
        "Write one JSON object on each line",
    )
    return None


def _leniently(raw: bytes) -> tuple[Any, list[str]]:
    """Returns a value with NaN and Infinity as null, with bare control characters in strings and with any white
    space around it, and the words that became null; or None.
    """
    words: list[str] = []
    try:
        text = raw.decode().strip().strip("\ufeff")
        value = json.loads(text, strict=False, parse_constant=words.append)
    except (ValueError, RecursionError):
        return None, []
    return value, words


def _json_fault(raw: bytes, error: Exception) -> str:
    if not raw.strip(b"\0 \t"):
        return "is nothing but NUL bytes, as a write leaves them that was cut off"
    if raw.startswith(b"version https://git-lfs"):
        return "is a Git LFS pointer, not the file itself: fetch it with git lfs pull"
    if isinstance(error, json.JSONDecodeError):
        return f"is no JSON ({error.msg} at column {error.colno})"
    return "is nested too deeply"


def note_separators(line: int, raw: bytes, findings: Findings) -> None:
    """Notes characters in a line that some tools take for a line end."""
    for mark in _SEPARATORS if not raw.isascii() else ():
        if mark in raw:
            point = ord(mark.decode())
            findings.note("line_separator", line, None, f"holds U+{point:04X}")


def _look_at_characters(line: int, raw: bytes, findings: Findings) -> None:
    note_separators(line, raw, findings)
    if b"\\u" in raw:
        for escaped in _ESCAPED_SEPARATORS:
            if escaped in raw.lower():
                findings.note("line_separator", line, None, f"holds U+{escaped[2:].decode()}")
        for escaped in sorted({found.upper() for found in _CONTROLS.findall(raw)}):
            findings.note("control_character", line, None, f"holds U+{escaped[2:].decode()}")
