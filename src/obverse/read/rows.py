"""Rows of any table: JSON Lines, JSON arrays, CSV, TSV and Parquet, as dictionaries with their line.

What the file is, its first bytes say; the suffix only decides where they leave it open.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.files import open_bytes, read_lines
from obverse.read.delimited import delimited_rows
from obverse.read.faults import TO_UTF8_COLUMN, Findings
from obverse.read.hugging_face import hugging_face_rows, is_hugging_face
from obverse.read.json_rows import Block, Row, in_blocks, json_blocks

Rows = Iterator[tuple[int, Row]]


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
    for block in row_blocks(path, findings, columns=columns, quoting=quoting):
        yield from block.each(findings)


def row_blocks(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    columns: Mapping[str, str] | None = None,
    quoting: str = "guess",
) -> Iterator[Block]:
    """Yields the rows as :func:`rows` does, in blocks."""
    findings.file = os.fspath(path)
    empty = True
    for block in _blocks(path, findings, quoting):
        yield seen(block, columns, findings, first=empty)
        empty = False
    findings.close_lines()
    if empty and not findings.rows:  # rows that cannot be read are noted each
        findings.wrong("empty_file", None, None, "holds no row", "Give a file with rows")


def seen(
    block: Block, columns: Mapping[str, str] | None, findings: Findings, *, first: bool
) -> Block:
    """Returns a block with its columns renamed, after the inspector has seen it."""
    if columns:
        block.rows = renamed(block.rows, columns, findings, first=first)
    if findings.inspector is not None:
        findings.inspector.rows(block.lines, block.rows)
    return block


def _blocks(path: str | os.PathLike[str], findings: Findings, quoting: str) -> Iterator[Block]:
    if is_hugging_face(path):
        return in_blocks(hugging_face_rows(path))
    kind = table_kind(path)
    if kind == "parquet":
        return in_blocks(parquet_rows(path, findings))
    if kind == "json":
        return json_blocks(path, findings)
    return in_blocks(delimited_rows(path, findings, delimiter=kind, quoting=quoting))


def table_kind(path: str | os.PathLike[str]) -> str:
    """Returns ``json``, ``parquet``, or the delimiter of a table."""
    name = os.fspath(path)
    if name == "-":
        return "json"
    with open_bytes(path) as stream:
        head = stream.peek(512)[:512] if hasattr(stream, "peek") else b""
    if head.startswith(b"PAR1"):
        return "parquet"
    stem = name.lower().removesuffix(".gz").removesuffix(".zst")
    if head[257:262] == b"ustar":
        raise InputError(
            "is a tar archive",
            where=name,
            fix="Unpack it and name a file of it",
            code="cut_archive",
        )
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if stem.endswith(".parquet") and not start.startswith((b"{", b"[")):
        raise InputError(
            "is no Parquet file", where=name, fix="Write the file again", code="cut_archive"
        )
    if start.startswith((b"{", b"[")) or stem.endswith((".jsonl", ".json", ".ndjson")):
        return "json"
    usual = "," if stem.endswith(".csv") else "\t" if stem.endswith((".tsv", ".tab")) else ""
    return _delimiter(next((line for _, line in read_lines(path)), b""), usual)


def _delimiter(header: bytes, usual: str) -> str:
    """Returns what stands between the fields of a header: the usual character, or else the most frequent of four."""
    counts = {mark: header.count(mark.encode()) for mark in ("\t", ",", ";", "|")}
    if counts.get(usual) or not any(counts.values()):
        return usual or "\t"
    return max(counts, key=counts.__getitem__)


def parquet_rows(path: str | os.PathLike[str], findings: Findings, batch: int = 512) -> Rows:
    """Yields the rows of a Parquet file, a batch at a time; the line is the row's number.

    Strings that are not UTF-8, which Parquet does not forbid, are noted, and their rows left out.
    """
    from obverse.files import parquet

    pa = parquet()
    if not Path(path).is_file():
        raise InputError("no such file", where=os.fspath(path), fix="Check the path")
    try:
        source = pa.parquet.ParquetFile(os.fspath(path))
    except pa.ArrowInvalid as error:
        with open(path, "rb") as stream:
            packed = stream.read(4) != b"PAR1"
        if packed:
            raise InputError(
                "is a Parquet file in an archive",
                where=os.fspath(path),
                fix="Unpack it: Parquet is compressed by itself",
                code="cut_archive",
            ) from None
        raise InputError(
            f"is no Parquet file ({error})",
            where=os.fspath(path),
            fix="Write the file again",
            code="cut_archive",
        ) from None
    number = 0
    try:
        for part in source.iter_batches(batch_size=batch):
            try:
                found: Rows = enumerate(part.to_pylist(), number + 1)
            except UnicodeDecodeError:
                found = _in_utf8(part, number, findings)
            number += len(part)
            yield from found
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"the archive is cut off or damaged ({str(error).splitlines()[0]})",
            where=f"{os.fspath(path)}:{number + 1}",
            fix="Fetch or write the file again",
            code="cut_archive",
        ) from None


def _in_utf8(part: Any, before: int, findings: Findings) -> Rows:
    """Yields the rows of a batch whose strings are UTF-8; the others are noted."""
    for at in range(len(part)):
        column = ""
        try:
            row = {}
            for column, values in zip(part.schema.names, part.columns, strict=True):
                row[column] = values[at].as_py()
        except UnicodeDecodeError as error:
            findings.rows += 1
            what = f"byte {error.start + 1} of {error.object!r:.40} is not UTF-8"
            findings.wrong("not_utf8", before + at + 1, column, what, TO_UTF8_COLUMN)
        else:
            yield before + at + 1, row


def renamed(
    found: list[Row], columns: Mapping[str, str], findings: Findings, *, first: bool
) -> list[Row]:
    """Returns the rows with the file's columns under obverse's names.

    Args:
        first: Whether these are the file's first rows, whose columns are compared with the map.

    Raises:
        SettingError: If the first rows all lack a column that the map names.
    """
    if first:
        _check_map(list(dict.fromkeys(chain.from_iterable(found))), columns, findings)
    return with_names(found, columns)


def with_names(found: list[Row], columns: Mapping[str, str]) -> list[Row]:
    """Returns the rows with the file's columns under obverse's names."""
    plans: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    taken = {*columns, *columns.values()}
    made: list[Row] = []
    for row in found:
        keys = tuple(row)
        if keys not in plans:
            plans[keys] = [(key, key) for key in keys if key not in taken] + list(columns.items())
        made.append({target: row.get(source) for target, source in plans[keys]})
    return made


def _check_map(names: list[str], columns: Mapping[str, str], findings: Findings) -> None:
    for target, source in columns.items():
        if source not in names:
            raise SettingError(
                f"--map {target}={source}: the file has no column {source!r}",
                where=findings.file,
                fix=f"Its columns: {', '.join(map(str, names))}",
            )


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
        if target.strip() in columns:
            raise SettingError(
                f"--map {text!r} names {target.strip()} twice", fix="Name one column for each"
            )
        columns[target.strip()] = source.strip()
    return columns
