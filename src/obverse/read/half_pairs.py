"""Halves of surrogate pairs, which JSON can escape and UTF-8 cannot hold: where they stand, and rows without them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from obverse.inputs import speakable
from obverse.read.faults import Findings


def note_half_pairs(line: int, raw: bytes, value: Any, findings: Findings, field: str = "") -> None:
    """Notes each text of a value that holds half of a pair.

    Args:
        raw: What the value was read from: most lines escape none, and need no closer look.
        field: Where the value stands in its row.
    """
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return
    for place, text in half_pairs(value, field):
        at = next(number for number, char in enumerate(text) if "\ud800" <= char <= "\udfff")
        shown = f"{text[max(0, at - 20) : at + 20]!a} holds half of a pair"
        findings.note("half_surrogate_pair", line, place or None, shown)


def half_pairs(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Yields ``(field, text)`` for each text in a JSON value, keys too, that holds half of a pair."""
    if isinstance(value, str):
        if speakable(value) is not value:
            yield field, value
    elif isinstance(value, dict):
        for key, item in value.items():
            inside = f"{field}.{speakable(key)}" if field else speakable(key)
            if speakable(key) is not key:
                yield inside, key
            yield from half_pairs(item, inside)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from half_pairs(item, f"{field}[{number}]")


def without_half_pairs(value: Any) -> tuple[Any, int]:
    """Returns a JSON value with U+FFFD for each half of a pair, and how many texts held some."""
    if isinstance(value, str):
        text = speakable(value)
        return text, int(text is not value)
    if isinstance(value, dict):
        keys, values = without_half_pairs(list(value)), without_half_pairs(list(value.values()))
        return dict(zip(keys[0], values[0], strict=True)), keys[1] + values[1]
    if isinstance(value, list):
        found = [without_half_pairs(item) for item in value]
        return [item for item, _ in found], sum(count for _, count in found)
    return value, 0
