"""ArcticTraining's folder of texts: queries, documents and labels as Parquet, for its own tokenising step.

A dual view needs no change there: the same two documents, two queries, relevance (+1, -1) and (-1, +1).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from obverse.files import parquet, unicode_alone, whole_file
from obverse.inputs import Template
from obverse.records import Doc, Topic
from obverse.write.view_rows import view_rows

_BATCH = 20_000


def write_arctic(path: str | os.PathLike[str], topics: Iterable[Topic], template: Template) -> int:
    """Writes ``queries.parquet``, ``documents.parquet`` and ``labels.parquet``; a query is a view.

    Ids are running numbers, as that trainer wants them; the columns QUERY_NAME and DOCUMENT_NAME hold ours, and
    ONLY_QUERY and INSTRUCTION the two parts of QUERY_TEXT.
    """
    pa = parquet()
    folder = Path(path)
    numbers: dict[Doc, int] = {}
    with (
        unicode_alone(folder),
        _table(pa, folder / "queries.parquet", _queries(pa)) as queries,
        _table(pa, folder / "documents.parquet", _documents(pa)) as documents,
        _table(pa, folder / "labels.parquet", _labels(pa)) as labels,
    ):
        count = 0
        for count, row in enumerate(view_rows(topics, template), start=1):
            query = (count - 1, row.query, row.topic.topic_id, row.topic.query, row.instruction)
            queries.add(query)
            for docs, relevance, hard in (
                (row.positives, 1, False),
                (row.instruction_negatives, -1, True),
                (row.negatives, -1, False),
            ):
                for doc in docs:
                    if doc not in numbers:
                        numbers[doc] = len(numbers)
                        documents.add((numbers[doc], template.doc(doc), doc.doc_id))
                    labels.add((count - 1, numbers[doc], relevance, hard))
        for table in (queries, documents, labels):  # before the first appears under its name
            table.flush()
    return count


class _Table:
    """A Parquet file that takes rows one by one."""

    def __init__(self, pa: Any, writer: Any, schema: Any) -> None:
        self._pa, self._writer, self._schema = pa, writer, schema
        self._rows: list[tuple[Any, ...]] = []

    def add(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)
        if len(self._rows) == _BATCH:
            self.flush()

    def flush(self) -> None:
        """Writes the rows that wait."""
        columns = list(zip(*self._rows, strict=True)) or [()] * len(self._schema)
        arrays = [
            self._pa.array(values, type=field.type)
            for values, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_table(self._pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows = []


@contextlib.contextmanager
def _table(pa: Any, path: Path, schema: Any) -> Iterator[_Table]:
    """Opens a table that appears when all went well."""
    with whole_file(path) as stream, pa.parquet.ParquetWriter(stream, schema) as writer:
        yield _Table(pa, writer, schema)


def _queries(pa: Any) -> Any:
    names = ["QUERY_TEXT", "QUERY_NAME", "ONLY_QUERY", "INSTRUCTION"]
    return pa.schema([("QUERY_ID", pa.uint64()), *((name, pa.string()) for name in names)])


def _documents(pa: Any) -> Any:
    texts = [("DOCUMENT_TEXT", pa.string()), ("DOCUMENT_NAME", pa.string())]
    return pa.schema([("DOCUMENT_ID", pa.uint64()), *texts])


def _labels(pa: Any) -> Any:
    ids = [("QUERY_ID", pa.uint64()), ("DOCUMENT_ID", pa.uint64())]
    return pa.schema([*ids, ("RELEVANCE", pa.int8()), ("INSTRUCTION_NEGATIVE", pa.bool_())])
