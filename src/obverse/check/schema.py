"""How rows are shaped: keys that appear late, types that change, keys that stand twice in one object."""

from __future__ import annotations

import contextlib
from typing import Any

from obverse.files import may_repeat_keys, repeated_keys
from obverse.read.faults import Findings


class SchemaWatch:
    """Follows the top-level keys of rows and the types of their values."""

    def __init__(self) -> None:
        self._rows = 0
        self._first: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._types: dict[str, dict[str, int]] = {}

    def row(self, line: int, row: dict[str, Any], findings: Findings) -> None:
        """Notes new keys and new types where they first appear."""
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


def note_duplicate_keys(line: int, raw: bytes, row: Any, findings: Findings) -> None:
    """Notes a key that stands twice in one object: parsers keep the last and say nothing."""
    if not may_repeat_keys(raw, row):
        return
    with contextlib.suppress(ValueError):
        for key, message in repeated_keys(raw):
            findings.note("duplicate_key", line, key, message)
