"""Topics from and to JSON Lines and Parquet."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from obverse.errors import InputError
from obverse.files.json_text import parse_json, write_json_lines
from obverse.files.lines import LineFacts, read_lines
from obverse.files.opening import open_bytes
from obverse.files.repeated_keys import may_repeat_keys, repeated_keys
from obverse.files.topic_tables import read_topic_table, write_topic_table
from obverse.records import Topic, topic_from_json, topic_to_json


def read_topics(path: str | os.PathLike[str]) -> Iterator[Topic]:
    """Yields the topics of a JSON Lines or Parquet file, in order, streaming.

    Raises:
        InputError: With file and line, for the first row that is no topic, a topic_id that stands twice, or a file
            without topics.
    """
    name = os.fspath(path)
    seen: dict[str, int] = {}
    for number, row in topic_rows(path):
        if not seen and not (isinstance(row, dict) and row.keys() & {"topic_id", "views"}):
            raise _no_topics(name, number, row)
        try:
            topic = topic_from_json(row)
            if topic.topic_id in seen:
                raise InputError(
                    f"topic_id {topic.topic_id!r} stands already in line {seen[topic.topic_id]}",
                    where="topic_id",
                    fix="Give every topic an id of its own",
                )
        except InputError as error:
            raise error.at(f"{name}:{number}") from None
        seen[topic.topic_id] = number
        yield topic
    if not seen:
        raise InputError("holds no topic", where=name, fix="Write one topic on each line")


def _no_topics(name: str, number: int, row: Any) -> InputError:
    """Returns what is wrong with a file of rows where topics belong."""
    holds = f"it has the keys {', '.join(map(str, row))[:80]}" if isinstance(row, dict) else ""
    return InputError(
        f"is no topic{holds and f': {holds}'}", where=f"{name}:{number}", fix=_read_first(name)
    )


def _read_first(name: str) -> str:
    return f"Turn rows into topics first: obverse read {shlex.quote(name)} --out topics.jsonl"


def topic_rows(
    path: str | os.PathLike[str], facts: LineFacts | None = None
) -> Iterator[tuple[int, Any]]:
    """Yields ``(line, row)`` of a topics file, JSON Lines or Parquet by its first bytes, unchecked.

    Raises:
        InputError: With file and line, if a row is no JSON or labels a document twice.
    """
    name = os.fspath(path)
    if name != "-":
        with open_bytes(path) as stream:
            if stream.read(4) == b"PAR1":
                yield from read_topic_table(name)
                return
    yield from _read_topic_lines(name, facts)


def _read_topic_lines(name: str, facts: LineFacts | None) -> Iterator[tuple[int, Any]]:
    for number, line in read_lines(name, facts):
        try:
            row = parse_json(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f"is no JSON ({error.msg} at column {error.colno})",
                where=f"{name}:{number}",
                fix="Write one topic as a JSON object on each line"
                if number > 1
                else _read_first(name),
            ) from None
        for key, message in repeated_keys(line) if may_repeat_keys(line, row) else ():
            raise InputError(message, where=f"{name}:{number}, {key}", fix="Keep one of the two")
        yield number, row


def write_topics(path: str | os.PathLike[str], topics: Iterable[Topic]) -> int:
    """Writes topics as JSON Lines, or as Parquet where the name ends in .parquet; returns their number."""
    if os.fspath(path).endswith(".parquet"):
        return write_topic_table(path, topics)
    return write_json_lines(path, map(topic_to_json, topics))
