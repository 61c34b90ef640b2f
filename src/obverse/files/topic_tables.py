"""Topics as Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sized
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from obverse.errors import InputError, MissingExtra
from obverse.files.json_text import to_json
from obverse.files.whole import whole_file
from obverse.records import Topic


def parquet() -> Any:
    """Returns pyarrow with its Parquet module.

    Raises:
        MissingExtra: If it is not installed.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "reading or writing Parquet") from None
    return pyarrow


def _parquet_schema(pa: Any) -> Any:
    doc = pa.struct([("doc_id", pa.string()), ("title", pa.string()), ("text", pa.string())])
    view = pa.struct(
        [
            ("instruction", pa.string()),
            ("labels", pa.map_(pa.string(), pa.string())),
            ("origin", pa.string()),
            ("checks", pa.string()),
        ]
    )
    return pa.schema(
        [
            ("topic_id", pa.string()),
            ("query", pa.string()),
            ("docs", pa.list_(doc)),
            ("views", pa.list_(view)),
        ]
    )


def write_topic_table(
    path: str | os.PathLike[str], topics: Iterable[Topic], rows_per_group: int = 5_000
) -> int:
    pa = parquet()
    schema, count = _parquet_schema(pa), 0
    # A large dictionary page stores a document that many topics share once for each group of rows.
    settings = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 28}
    rest = iter(topics)
    with whole_file(path) as stream, pa.parquet.ParquetWriter(stream, schema, **settings) as writer:
        while batch := list(islice(rest, rows_per_group)):
            count += len(batch)
            writer.write_table(_arrow_table(pa, schema, batch))
    return count


def _arrow_table(pa: Any, schema: Any, topics: list[Topic]) -> Any:
    docs = [doc for topic in topics for doc in topic.docs]
    views = [view for topic in topics for view in topic.views]
    labels = [view.labels for view in views]
    doc_columns = [[d.doc_id for d in docs], [d.title for d in docs], [d.text for d in docs]]
    doc_type, view_type = (
        schema.field("docs").type.value_type,
        schema.field("views").type.value_type,
    )
    label_column = pa.MapArray.from_arrays(
        _offsets(labels),
        pa.array([doc_id for each in labels for doc_id in each], pa.string()),
        pa.array([str(label) for each in labels for label in each.values()], pa.string()),
    )
    view_columns = [
        pa.array([view.instruction for view in views], pa.string()),
        label_column,
        pa.array([to_json(view.origin).decode() for view in views], pa.string()),
        pa.array([to_json(view.checks).decode() for view in views], pa.string()),
    ]
    columns = [
        pa.array([topic.topic_id for topic in topics], pa.string()),
        pa.array([topic.query for topic in topics], pa.string()),
        pa.ListArray.from_arrays(
            _offsets([topic.docs for topic in topics]),
            pa.StructArray.from_arrays(
                [pa.array(column, pa.string()) for column in doc_columns], fields=list(doc_type)
            ),
        ),
        pa.ListArray.from_arrays(
            _offsets([topic.views for topic in topics]),
            pa.StructArray.from_arrays(view_columns, fields=list(view_type)),
        ),
    ]
    return pa.Table.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )


def _offsets(parts: Iterable[Sized]) -> list[int]:
    offsets = [0]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    return offsets


def read_topic_table(name: str) -> Iterator[tuple[int, Any]]:
    pa = parquet()
    if not Path(name).is_file():
        raise InputError("no such file", where=name, fix="Check the path")
    try:
        source = pa.parquet.ParquetFile(name)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"is no Parquet file ({error})", where=name, fix="Write the file again"
        ) from None
    number = 0
    for batch in source.iter_batches(batch_size=2_000):
        for row in batch.to_pylist():
            number += 1
            for view in row.get("views") or []:
                view["labels"] = dict(view["labels"])
                view["origin"], view["checks"] = (
                    orjson.loads(view["origin"]),
                    orjson.loads(view["checks"]),
                )
            yield number, row
