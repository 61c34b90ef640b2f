"""Rows of any table: JSON Lines, JSON arrays, CSV, TSV and Parquet, as dictionaries with their line.

What the file is, its first bytes say; the suffix only decides where they leave it open.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.files import open_bytes, parse_json, read_lines
from obverse.read.delimited import delimited_rows
from obverse.read.faults import Findings
from obverse.read.hugging_face import hugging_face_rows, is_hugging_face

Row = dict[str, Any]
Rows = Iterator[tuple[int, Row]]

_CONTROLS = (b"\\u0000", b"\\u0007", b"\\u0008")
_SEPARATORS = (b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85")
_ESCAPED_SEPARATORS = (b"\\u2028", b"\\u2029", b"\\u0085")


def rows(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    columns: Mapping[str, str] | None = None,
    quoting: str = "guess",
) -> Rows:
    """Yields ``(line, row)`` of a table file of any kind, streaming.

    Args:
        columns: New names of columns, ``{"query": "q"}`` reads the file's column q as query.
        quoting: Quotes in CSV and TSV: ``csv``, ``none`` or ``guess``.

    Raises:
        InputError: If the file cannot be read, or a row is broken and the findings do not collect.
    """
    findings.file = os.fspath(path)
    if is_hugging_face(path):
        kind, found = "hugging face", hugging_face_rows(path)
    else:
        kind = table_kind(path)
    if kind == "hugging face":
        pass
    elif kind == "parquet":
        found = parquet_rows(path)
    elif kind == "json":
        found = json_rows(path, findings)
    else:
        found = delimited_rows(path, findings, delimiter=kind, quoting=quoting)
    found = renamed(found, columns, findings) if columns else found
    first = next(found, None)
    if first is not None:
        yield from _watched(chain((first,), found), findings)
    findings.close_lines()
    if first is None:
        findings.wrong("empty_file", None, None, "holds no row", "Give a file with rows")


def _watched(found: Rows, findings: Findings) -> Rows:
    if findings.inspector is None:
        yield from found
        return
    for line, row in found:
        findings.inspector.row(line, row)
        yield line, row


def table_kind(path: str | os.PathLike[str]) -> str:
    """Returns ``json``, ``parquet``, or the delimiter of a table."""
    name = os.fspath(path)
    if name == "-":
        return "json"
    with open_bytes(path) as stream:
        head = stream.peek(64)[:64] if hasattr(stream, "peek") else b""
    if head.startswith(b"PAR1"):
        return "parquet"
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    stem = name.lower().removesuffix(".gz").removesuffix(".zst")
    if start.startswith((b"{", b"[")) or stem.endswith((".jsonl", ".json", ".ndjson")):
        return "json"
    if stem.endswith(".csv"):
        return ","
    if stem.endswith((".tsv", ".tab")):
        return "\t"
    first = next((line for _, line in read_lines(path)), b"")
    return "\t" if first.count(b"\t") >= first.count(b",") else ","


def json_rows(path: str | os.PathLike[str], findings: Findings) -> Rows:
    """Yields the objects of a JSON Lines file, or of a file that is one JSON array."""
    first = True
    for line, raw in read_lines(path, findings.lines):
        if first:
            whole = _whole_value(path, raw, findings)
            if whole is not None:
                yield from whole
                return
        first = False
        findings.raw = raw
        if not raw.isascii() or b"\\u" in raw:
            _look_at_characters(line, raw, findings)
        try:
            value = parse_json(raw)
        except (json.JSONDecodeError, RecursionError) as error:
            value = _mended(line, raw, error, findings)
            if value is None:
                continue
        if isinstance(value, dict):
            if findings.inspector is not None:
                findings.inspector.raw(line, raw, value)
            yield line, value
        else:
            _no_object(line, findings)


def _no_object(line: int, findings: Findings) -> None:
    findings.rows += 1
    findings.wrong(
        "not_an_object", line, None, "the row is no JSON object", "Write objects, one on each line"
    )


def _whole_value(
    path: str | os.PathLike[str], first: bytes, findings: Findings
) -> Iterator[tuple[int, Row]] | None:
    """Returns the rows of a file that is one JSON value over many lines, or that wraps its rows in an object."""
    start = first.lstrip()
    if start.startswith(b"["):
        return _array_rows(path, findings)
    if not start.startswith(b"{"):
        return None
    try:
        value = parse_json(first)
        if not _wrapped(value):
            return None
    except json.JSONDecodeError:
        if len(start) > 200 or os.fspath(path) == "-":
            return None
        with open_bytes(path) as stream:
            try:
                value = parse_json(stream.read().removeprefix(b"\xef\xbb\xbf"))
            except json.JSONDecodeError:
                return None
    if not isinstance(value, dict):
        return None
    found = _wrapped(value)
    if found is not None:
        findings.said.append(f"{findings.file}: the rows are the list under {found!r}")
    items = value[found] if found is not None else [value]
    return ((number, item) for number, item in enumerate(items, start=1))


def _wrapped(value: Any) -> str | None:
    """Returns the one key of an object whose value is a list of objects."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    key, items = next(iter(value.items()))
    fits = isinstance(items, list) and items and all(isinstance(item, dict) for item in items)
    return key if fits else None


def _array_rows(path: str | os.PathLike[str], findings: Findings) -> Rows:
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
    for number, value in enumerate(values, start=1):
        if isinstance(value, dict):
            yield number, value
        else:
            _no_object(number, findings)


def _mended(line: int, raw: bytes, error: Exception, findings: Findings) -> dict[str, Any] | None:
    """Reads NaN and Infinity, which Python and pandas write, as null; anything else is broken."""
    if b"NaN" in raw or b"Infinity" in raw:
        try:
            value = json.loads(raw, parse_constant=lambda name: None)
        except ValueError:
            value = None
        if isinstance(value, dict):
            findings.note("not_a_number", line, None, "NaN or Infinity read as null")
            return value
    findings.rows += 1
    try:
        raw.decode()
    except UnicodeDecodeError as broken:
        findings.wrong(
            "not_utf8",
            line,
            None,
            f"byte {broken.start + 1} is not UTF-8",
            "Convert the file to UTF-8: iconv -f LATIN1 -t UTF-8",
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


def _json_fault(raw: bytes, error: Exception) -> str:
    if raw.startswith(b"version https://git-lfs"):
        return "is a Git LFS pointer, not the file itself: fetch it with git lfs pull"
    if isinstance(error, json.JSONDecodeError):
        return f"is no JSON ({error.msg} at column {error.colno})"
    return "is nested too deeply"


def _look_at_characters(line: int, raw: bytes, findings: Findings) -> None:
    for mark in _SEPARATORS if not raw.isascii() else ():
        if mark in raw:
            point = ord(mark.decode())
            findings.note("line_separator", line, None, f"holds U+{point:04X}")
    if b"\\u" in raw:
        for escaped in _ESCAPED_SEPARATORS:
            if escaped in raw.lower():
                findings.note("line_separator", line, None, f"holds U+{escaped[2:].decode()}")
        for escaped in _CONTROLS:
            if escaped in raw:
                findings.note("control_character", line, None, f"holds U+{escaped[2:].decode()}")


def parquet_rows(path: str | os.PathLike[str], batch: int = 512) -> Rows:
    """Yields the rows of a Parquet file, a batch at a time; the line is the row's number."""
    from obverse.files import parquet

    pa = parquet()
    if not Path(path).is_file():
        raise InputError("no such file", where=os.fspath(path), fix="Check the path")
    try:
        source = pa.parquet.ParquetFile(os.fspath(path))
    except pa.ArrowInvalid as error:
        raise InputError(
            f"is no Parquet file ({error})", where=os.fspath(path), fix="Write the file again"
        ) from None
    number = 0
    for part in source.iter_batches(batch_size=batch):
        for row in part.to_pylist():
            number += 1
            yield number, row


def renamed(found: Rows, columns: Mapping[str, str], findings: Findings) -> Rows:
    """Yields the rows with the file's columns under obverse's names.

    Raises:
        SettingError: If the first row lacks a column that the map names.
    """
    if not columns:
        yield from found
        return
    for number, (line, row) in enumerate(found):
        if number == 0:
            for target, source in columns.items():
                if source not in row:
                    raise SettingError(
                        f"--map {target}={source}: the file has no column {source!r}",
                        where=findings.file,
                        fix=f"Its columns: {', '.join(map(str, row))}",
                    )
        taken = set(columns.values())
        kept = {key: value for key, value in row.items() if key not in taken and key not in columns}
        yield line, kept | {target: row.get(source) for target, source in columns.items()}


def column_map(text: str) -> dict[str, str]:
    """Returns ``{"query": "q", "clicked": "pos"}`` for ``query=q,clicked=pos``.

    Raises:
        SettingError: If a part is no ``name=column``.
    """
    columns: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        target, equals, source = part.partition("=")
        if not equals or not target.strip() or not source.strip():
            raise SettingError(f"--map {text!r}: {part!r} is no name=column", fix="Write query=q")
        columns[target.strip()] = source.strip()
    return columns


Reader = Callable[..., Iterable[Any]]
