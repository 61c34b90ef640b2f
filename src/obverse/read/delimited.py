"""CSV and TSV: columns by name, quotes by a stated guess, every id a string."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from typing import Any

from obverse.errors import InputError
from obverse.files import read_lines
from obverse.read.faults import TO_UTF8, Findings
from obverse.read.json_rows import note_separators

_SAMPLE = 2_000
"""Lines that the guess about quoting looks at."""

_NAMES = {",": "CSV", "\t": "TSV", ";": "CSV with semicolons", "|": "table with bars"}


def delimited_rows(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    delimiter: str = "\t",
    quoting: str = "guess",
    header: list[str] | None = None,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields ``(line, row)`` of a delimited text file whose first line names the columns.

    Args:
        delimiter: What stands between two fields.
        quoting: ``csv`` (fields may be quoted and hold line ends), ``none`` (a quote is a character like any
            other), or ``guess``, which tries both on the first lines and says what it took.
        header: Column names of a file without a header line.
    """
    sample = _sample(path)
    quoted = _is_quoted(sample, delimiter) if quoting == "guess" else quoting == "csv"
    if any(b'"' in line for line in sample):
        how = "with CSV quoting" if quoted else "without quoting (a quote is text)"
        guess = "guessed from the first lines" if quoting == "guess" else "as asked"
        findings.said.append(f"{findings.file}: {_NAMES[delimiter]} read {how}, {guess}")
    lines = _decoded(path, findings, blank=quoted, headed=header is None)
    records = _quoted(lines, delimiter) if quoted else _plain(lines, delimiter)
    names = header
    for line, end, fields in records:
        if not fields or (len(fields) == 1 and not fields[0].strip()):
            findings.lines.skipped(line)
            continue
        if names is None:
            names = [field.strip().removeprefix("\ufeff") for field in fields]
            _check_names(names, findings)
            continue
        if not quoted and any('"' in field for field in fields):
            _note_quotes(findings, line, names, fields)
        if end is None or len(fields) != len(names):
            findings.rows += 1
            _ragged(findings, line, end, fields, names)
            continue
        yield line, dict(zip(names, fields, strict=True))


def _ragged(
    findings: Findings, line: int, end: int | None, fields: list[str], names: list[str]
) -> None:
    what, fix = (
        "a quote opens here and is never closed at the end of a field",
        "Close it, or read with --quoting none",
    )
    if end is not None:
        what = f"has {len(fields)} fields, the header has {len(names)}"
        if end == line:
            fix = "Give every row the same number of fields"
        else:
            what += f"; a quote that opens here makes one row of the lines up to {end}"
    findings.wrong("ragged_row", line, None, what, fix)


def _check_names(names: list[str], findings: Findings) -> None:
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"two columns are called {twice!r}",
            where=f"{findings.file}:1",
            fix="Write a first line that gives every column its own name",
            code="duplicate_column",
        )


def _note_quotes(findings: Findings, line: int, names: list[str], fields: list[str]) -> None:
    at = next(number for number, field in enumerate(fields) if '"' in field)
    name = names[at] if at < len(names) else None
    findings.note("stray_quotes", line, name, fields[at][:60])


def _sample(path: str | os.PathLike[str]) -> list[bytes]:
    sample: list[bytes] = []
    if os.fspath(path) == "-":
        return sample
    for _, line in read_lines(path):
        sample.append(line)
        if len(sample) == _SAMPLE:
            break
    return sample


def _is_quoted(sample: list[bytes], delimiter: str) -> bool:
    """Whether CSV quoting reads the sample at least as evenly as plain splitting does.

    A tie goes to CSV for commas and semicolons, where it is the rule; for tabs only where quotes wrap whole
    fields and hold something that needs them: a delimiter, a doubled quote, or every field of the column.
    """
    lines = [line.decode("utf-8", "replace") for line in sample]
    if not any('"' in line for line in lines):
        return delimiter != "\t"
    width = len(next(iter(_quoted(enumerate(lines, 1), delimiter)), (0, 0, []))[2])
    whole = len(sample) < _SAMPLE
    quoted = [fields for _, _, fields in _quoted(enumerate(lines, 1), delimiter)]
    if not whole:
        quoted = quoted[:-1]  # the sample may end inside a record
    plain = [fields for _, _, fields in _plain(enumerate(lines, 1), delimiter)]
    odd_quoted = sum(len(fields) != width for fields in quoted)
    odd_plain = sum(len(fields) != width for fields in plain)
    if _has_stray(lines, delimiter) and odd_plain == 0:
        return False
    if odd_quoted != odd_plain:
        return odd_quoted < odd_plain
    return delimiter != "\t" or _wraps_columns(plain)


def _has_stray(lines: list[str], delimiter: str) -> bool:
    """Whether some field opens a quote that is not closed at the end of a field of the same line."""
    for line in lines:
        for field in line.split(delimiter):
            if field.startswith('"') and not (field.endswith('"') and len(field) > 1):
                return True
    return False


def _wraps_columns(plain: list[list[str]]) -> bool:
    body = plain[1:]
    if not body:
        return False
    return any(
        all(len(row) > column and _is_wrapped(row[column]) for row in body)
        for column in range(len(body[0]))
    )


def _is_wrapped(field: str) -> bool:
    return len(field) > 1 and field.startswith('"') and field.endswith('"')


def _decoded(
    path: str | os.PathLike[str], findings: Findings, *, blank: bool, headed: bool
) -> Iterator[tuple[int, str]]:
    for number, raw in read_lines(path, findings.lines, blank=blank):
        if len(raw.translate(None, _CONTROLS)) < len(raw) or not raw.isascii():
            _look_at_characters(number, raw, findings)
        try:
            yield number, raw.decode()
            headed = False
        except UnicodeDecodeError as error:
            if headed:  # without its names no row can be read
                raise InputError(
                    f"byte {error.start + 1} is not UTF-8",
                    where=f"{findings.file}:{number}",
                    fix=TO_UTF8,
                    code="not_utf8",
                ) from None
            findings.rows += 1
            findings.wrong(
                "not_utf8",
                number,
                None,
                f"byte {error.start + 1} is not UTF-8",
                TO_UTF8,
            )


_CONTROLS = bytes(code for code in range(32) if code != ord("\t"))


def _look_at_characters(line: int, raw: bytes, findings: Findings) -> None:
    for code in sorted({byte for byte in raw if byte in _CONTROLS}):
        findings.note("control_character", line, None, f"holds U+{code:04X}")
    note_separators(line, raw, findings)


def _plain(lines: Iterable[tuple[int, str]], delimiter: str) -> Iterator[_Record]:
    for number, line in lines:
        yield number, number, line.split(delimiter)


def _quoted(lines: Iterable[tuple[int, str]], delimiter: str) -> Iterator[_Record]:
    """Yields records that may span lines."""
    csv.field_size_limit(2**31 - 1)
    place = _Place()
    reader = csv.reader(place.watch(lines), delimiter=delimiter)
    for fields in reader:
        start, end = place.lines[0], place.lines[-1]
        if start < end and _is_torn(place.texts, delimiter):
            yield start, None, fields
        else:
            yield start, end, [field.replace(_CR, "\r") for field in fields] if place.cr else fields
        place.lines, place.texts = [], []


def _is_torn(texts: list[str], delimiter: str) -> bool:
    """Whether a quote that opens a field is not closed at the end of one, so that lines run into each other."""
    try:
        list(csv.reader(texts, delimiter=delimiter, strict=True))
    except csv.Error:
        return True
    return False


_Record = tuple[int, int | None, list[str]]
"""First line, last line (None where lines run into each other), fields."""

_CR = "\ue00d"
"""Stands for a CR inside a line, at which the parser of CSV would stop."""


class _Place:
    """Remembers the lines of the current record."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.texts: list[str] = []
        self.cr = False

    def watch(self, lines: Iterable[tuple[int, str]]) -> Iterator[str]:
        for number, line in lines:
            if "\r" in line:
                self.cr, line = True, line.replace("\r", _CR)
            self.lines.append(number)
            self.texts.append(line + "\n")
            yield self.texts[-1]
