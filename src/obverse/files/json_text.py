"""JSON values from and to bytes and files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from obverse.errors import InputError
from obverse.files.lines import BOM, read_lines
from obverse.files.opening import open_bytes
from obverse.files.whole import whole_file


def read_json_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, Any]]:
    """Yields ``(line number, value)`` for each line of a JSON Lines file.

    Raises:
        InputError: With file and line, if a line is no JSON.
    """
    for number, line in read_lines(path):
        try:
            yield number, parse_json(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f"is no JSON ({error.msg} at column {error.colno})",
                where=f"{os.fspath(path)}:{number}",
                fix="Write one JSON value on each line",
            ) from None


def parse_json(line: bytes) -> Any:
    """Returns the JSON value of a line; escaped lone surrogates, which some tools write, are read too.

    Raises:
        json.JSONDecodeError: If the line is no JSON. NaN and Infinity are none.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        if b"\\ud" not in line.lower():
            raise
        return json.loads(line.decode("utf-8", "surrogatepass"), parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    raise json.JSONDecodeError(f"{name} is no JSON value", name, 0)


def read_json(path: str | os.PathLike[str]) -> Any:
    """Returns the one JSON value of a file.

    Raises:
        InputError: With file and line, if it is no JSON.
    """
    with open_bytes(path) as stream:
        data = stream.read()
    try:
        return orjson.loads(data.removeprefix(BOM))
    except orjson.JSONDecodeError as error:
        raise InputError(
            f"is no JSON ({error.msg} at column {error.colno})",
            where=f"{os.fspath(path)}:{error.lineno}",
            fix="Write one JSON value",
        ) from None


def to_json(value: Any, *, indent: bool = False) -> bytes:
    """Returns the value as UTF-8 JSON; lone surrogates, which UTF-8 cannot hold, are written escaped."""
    option = (
        orjson.OPT_NON_STR_KEYS
        | orjson.OPT_SERIALIZE_NUMPY
        | (orjson.OPT_INDENT_2 if indent else 0)
    )
    try:
        return orjson.dumps(value, option=option)
    except TypeError:
        return json.dumps(value, ensure_ascii=True, indent=2 if indent else None).encode()


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Writes one JSON value, indented, whole or not at all."""
    with whole_file(path) as stream:
        stream.write(to_json(value, indent=True) + b"\n")


def write_json_lines(path: str | os.PathLike[str], rows: Iterable[Any]) -> int:
    """Writes one JSON value a line and returns how many there were."""
    count = 0
    with whole_file(path) as stream:
        for row in rows:
            stream.write(to_json(row) + b"\n")
            count += 1
    return count
