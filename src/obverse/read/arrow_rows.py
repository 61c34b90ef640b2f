"""Flat rows parsed to columns by Arrow, in stretches whose columns have the types that they had before.

Whatever Arrow would read more generously than :mod:`obverse.read.json_rows` does is left to that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from obverse.read.documents import Passages, marks_of
from obverse.read.flat_rows import FlatPart, Names, Numbering, in_seconds, roles
from obverse.read.json_rows import Row, is_plain
from obverse.read.judgements import CLICKED, LAST_POSITION, NO_POSITION, SHOWN, Numbers
from obverse.read.numbered import DocNumbers, is_odd, odd_among

_LATEST = 1e17


class ArrowColumns:
    """The columns of a file by name and type, as a stretch of it had them."""

    def __init__(self, pa: Any, schema: Any, named: dict[str, str]) -> None:
        self._pa, self._schema, self._named = pa, schema, named

    @classmethod
    def of(cls, rows: list[Row], names: Names) -> ArrowColumns | None:
        """Returns the columns of rows of which nothing has to be said, or None where Arrow is no help."""
        try:
            import pyarrow.json
        except ImportError:
            return None
        pa = pyarrow
        types = {str: pa.string(), bool: pa.bool_(), int: pa.int64()}
        fields = []
        for key in rows[0]:
            kinds = {type(row[key]) for row in rows}
            if len(kinds) > 1 or not kinds <= types.keys():
                return None
            fields.append((key, types[kinds.pop()]))
        named = roles(tuple(rows[0]), names)
        return None if named is None else cls(pa, pa.schema(fields), named)

    def part(self, data: bytes, ends: Numbers, documents: DocNumbers) -> FlatPart | None:
        """Returns the rows of whole lines, or None where they are to be read one by one."""
        table = self._table(data, ends)
        if table is None:
            return None
        lines = range(1, len(ends) + 1)
        columns = {role: table[name].combine_chunks() for role, name in self._named.items()}
        ids, texts = _list(columns["doc_id"]), _list(columns["text"])
        titles = _list(columns["title"]) if "title" in columns else []
        asked, ask_of = _asked(columns)
        positions = _numbers(columns.get("position"), NO_POSITION, len(lines))
        times = _numbers(columns.get("time"), 0, len(lines) if "time" in columns else 0)
        if positions.max() > LAST_POSITION or ("position" in columns and positions.min() < 0):
            return None
        marks = marks_of(titles, texts)
        known = documents.found(ids, marks)
        unknown = np.flatnonzero(known < 0).tolist()
        if (
            "" in ids
            or any(is_odd(query) for query, _ in asked)
            or odd_among(texts, unknown)
            or abs(times).max(initial=0) > _LATEST
        ):
            return None
        sessions, session_of = _encoded(columns.get("session"), len(lines))
        passages = Passages(ids, titles, texts, marks, lines, ["text"] * len(lines))
        return FlatPart(
            lines,
            asked,
            ask_of,
            documents.numbers_of(passages, known),
            np.where(_numbers(columns["clicked"], 0, 0) > 0, CLICKED, SHOWN).astype(np.int8),
            positions.astype(np.int32),
            sessions,
            session_of,
            in_seconds(times.astype(np.float64)),
            self._named["clicked"],
        )

    def _table(self, data: bytes, ends: Numbers) -> Any:
        """Returns the rows as a table, or None where a line is not plainly one object with all the keys.

        Arrow refuses a key that stands twice, and one that is not there becomes a null.
        """
        from pyarrow import json

        every = np.frombuffer(data, dtype=np.uint8)
        if (
            not data.startswith(b"{")
            or (every[ends - 1] != ord("}")).any()
            or (every[ends[:-1] + 1] != ord("{")).any()
            or not is_plain(data)
        ):
            return None
        try:
            table = json.read_json(
                self._pa.BufferReader(data),
                json.ReadOptions(use_threads=False, block_size=len(data) + 1),
                json.ParseOptions(explicit_schema=self._schema, unexpected_field_behavior="error"),
            )
        except self._pa.ArrowInvalid:
            return None
        there = len(table) == len(ends) and not any(column.null_count for column in table.columns)
        return table if there else None


def _list(column: Any) -> list[Any]:
    found: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return found


def _numbers(column: Any, missing: int, count: int) -> Numbers:
    if column is None:
        return np.full(count, missing, dtype=np.int64)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)


def _encoded(column: Any, count: int) -> tuple[list[Any], Numbers]:
    """Returns the different values and which each row has, from 1 on."""
    if column is None:
        return [], np.zeros(count, dtype=np.int64)
    encoded = column.dictionary_encode()
    return _list(encoded.dictionary), _numbers(encoded.indices, 0, 0) + 1


def _asked(columns: dict[str, Any]) -> tuple[list[tuple[str, str]], Numbers]:
    if "instruction" not in columns:
        queries, each = _encoded(columns["query"], 0)
        return [(query, "") for query in queries], each
    pairs = Numbering()
    each = pairs.of(list(zip(_list(columns["query"]), _list(columns["instruction"]), strict=True)))
    return [(query, instruction.strip() and instruction) for query, instruction in pairs], each
