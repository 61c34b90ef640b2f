"""How rows are shaped: keys that appear late, types that change, keys that stand twice in one object."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from obverse.read.faults import Findings
from obverse.read.judgements import line_numbers

Shape = dict[str, set[str | None]]
"""The names of the types of each key's values."""


class SchemaWatch:
    """Follows the top-level keys of rows and the types of their values."""

    def __init__(self) -> None:
        self._begin("")

    def _begin(self, file: str) -> None:
        self._file, self._rows = file, 0
        self._first: dict[str, int] = {}
        self._types: dict[str, dict[str, int]] = {}

    def rows(self, lines: Sequence[int], rows: list[dict[str, Any]], findings: Findings) -> None:
        """Notes new keys and new types where they first appear in a file."""
        if findings.file != self._file:
            self._begin(findings.file)
        if not self.as_before(shape(rows), len(rows)):
            for line, row in zip(lines, rows, strict=True):
                self._row(line, row, findings)

    def as_before(self, found: Shape | None, count: int) -> bool:
        """Takes so many rows of one shape, if they bring no type that was not seen before."""
        if found is None:
            return False
        known = self._types
        if not all(key in known and names <= {None, *known[key]} for key, names in found.items()):
            return False
        self._rows += count
        return True

    def _row(self, line: int, row: dict[str, Any], findings: Findings) -> None:
        self._rows += 1
        for key, value in row.items():
            if key not in self._first:
                self._first[key] = line
                self._types[key] = {}
                if self._rows > 1:
                    findings.note(
                        "late_key",
                        line,
                        key,
                        f"the key {key!r} first appears in row {self._rows:,}",
                    )
            kind = type_name(value)
            types = self._types[key]
            if kind is None or kind in types:
                continue
            if types:
                before, where = next(iter(types.items()))
                findings.note("type_drift", line, key, f"is {kind} here, {before} in line {where}")
            types[kind] = line


def shape(rows: list[dict[str, Any]]) -> Shape | None:
    """Returns the names of the types of each key's values, or None where rows differ in their keys."""
    keys = tuple(rows[0])
    if set(map(tuple, rows)) != {keys}:
        return None
    found: Shape = {}
    for key in keys:
        column = list(map(itemgetter(key), rows))
        kinds = set(map(type, column))
        if kinds.isdisjoint((list, dict)):
            found[key] = {_SCALARS.get(kind, "?") for kind in kinds}
        else:
            found[key] = set(map(type_name, column))
    return found


_SCALARS: dict[type, str | None] = {
    type(None): None,
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a string",
}


def type_name(value: Any) -> str | None:
    """Returns the name of a value's type for comparison, or None for null and empty lists, which fit all."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        samples = {type(item): item for item in value if item is not None}
        inside = {_ITEMS.get(kind, f"{kind.__name__}s") for kind in samples}
        if not inside:
            return None
        return f"a list of {' and '.join(sorted(inside))}"
    return f"a {type(value).__name__}"


_ITEMS = {
    bool: "true or false",
    int: "numbers",
    float: "numbers",
    str: "strings",
    dict: "objects",
    list: "lists",
}


class RepeatedRows:
    """Finds lines that stand twice in a file; 12 bytes are kept of each."""

    def __init__(self) -> None:
        self._marks, self._lines = array("q"), array("i")
        self._file = ""

    def add(self, lines: Sequence[int], marks: bytes, findings: Findings) -> None:
        """Takes lines by their marks; those of another file are compared among themselves."""
        if findings.file != self._file:
            self.close(findings)
            self._file = findings.file
        self._marks.frombytes(marks)
        self._lines.frombytes(line_numbers(lines).tobytes())

    def close(self, findings: Findings) -> None:
        """Notes the lines that were seen before."""
        marks = np.frombuffer(self._marks, dtype=np.int64)
        ordered = np.sort(marks)
        if (
            ordered[1:] == ordered[:-1]
        ).any():  # else there is no need to know where each one stands
            _, first, each = np.unique(marks, return_index=True, return_inverse=True)
            again = np.flatnonzero(first[each] != np.arange(len(marks)))
            file, findings.file = findings.file, self._file
            for at in again.tolist():
                before = self._lines[int(first[each[at]])]
                findings.note("duplicate_row", self._lines[at], None, f"the same as line {before}")
            findings.file = file
        self._marks, self._lines = array("q"), array("i")


def marks(raws: Sequence[bytes]) -> bytes:
    """Returns eight bytes for each line, equal for equal lines alone (but for one chance in 2**64)."""
    return b"".join([hashlib.sha1(raw, usedforsecurity=False).digest()[:8] for raw in raws])
