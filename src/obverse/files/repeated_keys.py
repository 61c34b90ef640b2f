"""Keys that stand twice in one JSON object: parsers keep the last and say nothing."""

from __future__ import annotations

import json
from typing import Any


def may_repeat_keys(line: bytes, value: Any) -> bool:
    """Whether a line of JSON may hold a key that stands twice in one object: parsers keep the last and say nothing.

    True also for some lines that hold none; a closer look costs a second parse.
    """
    return key_count(value) != line.count(b'":') - line.count(b'\\":')


def key_count(value: Any) -> int:
    """Returns how many keys the objects in a JSON value have, all together."""
    count, open_values = 0, [value]
    while open_values:  # no recursion: depth is the writer's choice
        found = open_values.pop()
        if type(found) is dict:
            count += len(found)
            found = found.values()
        elif type(found) is not list:
            continue
        for item in found:
            kind = type(item)
            if kind is dict or kind is list:
                open_values.append(item)
    return count


def repeated_keys(line: bytes) -> list[tuple[str, str]]:
    """Returns each key that stands twice in one object of a line of JSON, beside a message that names its values.

    Raises:
        ValueError: If the line is no JSON.
    """
    found: list[tuple[str, str]] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, list[Any]] = {}
        for key, value in items:
            values.setdefault(key, []).append(value)
        for key, said in values.items():
            if len(said) > 1:
                shown = ", ".join(str(value) for value in said)
                shown = shown if len(shown) <= 80 else shown[:79] + "…"
                found.append((key, f"the key {key!r} stands twice in one object ({shown})"))
        return dict(items)

    json.loads(line.decode("utf-8", "surrogatepass"), object_pairs_hook=pairs)
    return found
