"""Rows to a table file: JSON Lines, CSV, TSV or Parquet, whole or not at all."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from obverse.files import parquet, unicode_alone, whole_file, write_json_lines
from obverse.log import say

_BLANKS = str.maketrans("\t\r\n", "   ")


def write_table(
    path: str | os.PathLike[str], rows: Iterable[dict[str, Any]], columns: list[str]
) -> int:
    """Writes rows in the form that the suffix names (JSON Lines if none does) and returns their number."""
    name = os.fspath(path)
    stem = name.removesuffix(".gz").removesuffix(".zst")
    if stem.endswith(".parquet"):
        return _write_parquet(path, rows, columns)
    if stem.endswith((".csv", ".tsv")):
        return _write_delimited(path, rows, columns, "," if stem.endswith(".csv") else "\t")
    return write_json_lines(path, rows)


def within_tabs(fields: list[str]) -> list[str]:
    """Returns fields as TSV can hold them: tabs and line ends become blanks."""
    return [field.translate(_BLANKS) for field in fields]


def within_commas(fields: list[str]) -> str:
    """Returns fields as a line of CSV without its end, quoted where they must be."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(fields)  # quotes CR and LF
    return buffer.getvalue().removesuffix("\r\n")


def _write_delimited(
    path: str | os.PathLike[str],
    rows: Iterable[dict[str, Any]],
    columns: list[str],
    delimiter: str,
) -> int:
    """CSV is quoted where it must be; in TSV, tabs and line ends inside texts become blanks, which is said."""
    count = blanked = 0
    with unicode_alone(path), whole_file(path) as stream:
        stream.write((delimiter.join(columns) + "\n").encode())
        for row in rows:
            count += 1
            fields = [str(row[column]) for column in columns]
            if delimiter == "\t":
                plain = within_tabs(fields)
                blanked += plain != fields
                line = "\t".join(plain)
            else:
                line = within_commas(fields)
            stream.write((line + "\n").encode())
    if blanked:
        say(f"write: TSV cannot hold tabs and line ends in texts: blanks in {blanked:,} rows")
    return count


def _write_parquet(
    path: str | os.PathLike[str], rows: Iterable[dict[str, Any]], columns: list[str]
) -> int:
    pa = parquet()
    schema = pa.schema([(column, pa.string()) for column in columns])
    count = 0
    with (
        unicode_alone(path),
        whole_file(path) as stream,
        pa.parquet.ParquetWriter(stream, schema) as writer,
    ):
        for batch in _batches(rows, 5_000):
            count += len(batch)
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))
    return count


def _batches(rows: Iterable[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    rest = iter(rows)
    while batch := list(islice(rest, size)):
        yield batch
