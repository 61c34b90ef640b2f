"""Topics as Parquet."""

from __future__ import annotations

import contextlib
import os
from array import array
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import orjson

from obverse.errors import InputError, MissingExtra
from obverse.files.json_text import to_json
from obverse.files.whole import whole_file
from obverse.records import Topic

TOPICS_AT_ONCE = 1 << 20
CHARACTERS_AT_ONCE = 1 << 28
"""How many topics, and how many characters of different texts, one group of rows holds."""


@contextlib.contextmanager
def unicode_alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Names the text that a file of UTF-8 cannot hold: one with a lone surrogate.

    Raises:
        InputError: If there is one.
    """
    try:
        yield
    except UnicodeEncodeError as error:
        shown = error.object[max(0, error.start - 20) : error.end + 20]
        raise InputError(
            f"cannot hold the lone surrogate in the text {shown!a}",
            where=os.fspath(path),
            fix="Write JSON Lines, where it is an escape, or mend it: obverse check FILE --fix COPY",
        ) from None


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


def write_topic_table(path: str | os.PathLike[str], topics: Iterable[Topic]) -> int:
    """Writes topics as Parquet and returns their number."""
    return write_tables(path, topic_tables(topics))


def write_tables(path: str | os.PathLike[str], tables: Iterable[Any]) -> int:
    """Writes Arrow tables of topics as the groups of rows of a Parquet file, and returns the number of topics."""
    if find_spec("pyarrow") is None:
        raise MissingExtra("pyarrow", "parquet", "reading or writing Parquet")
    count, left = 0, iter(tables)
    # Without the Arrow schema the dictionaries are the file's own affair: every reader sees strings. The least and the
    # greatest of ids and texts would help no reader, and cost as much as all the rest.
    settings = {
        "compression": "zstd",
        "dictionary_pagesize_limit": (1 << 31) - 1,
        "store_schema": False,
        "write_statistics": False,
    }
    with unicode_alone(path), whole_file(path) as stream:
        table = next(left, None)  # what reads can begin before Arrow is loaded
        pa = parquet()
        schema = _Group().table(pa).schema
        with pa.parquet.ParquetWriter(stream, schema, **settings) as writer:
            while table is not None:
                writer.write_table(table, TOPICS_AT_ONCE)
                count += len(table)
                table = next(left, None)
    return count


def topic_tables(topics: Iterable[Topic]) -> Iterator[Any]:
    """Yields topics as Arrow tables.

    A table is as large as memory allows, so that its dictionary of texts holds each document once, however many
    topics share it.
    """
    pa, group = parquet(), _Group()
    for topic in topics:
        group.add(topic)
        if group.is_full:
            yield group.table(pa)
            group = _Group()
    if group.count:
        yield group.table(pa)


def topic_table(
    pa: Any,
    topic_ids: Any,
    queries: Any,
    docs: dict[str, Any],
    views: dict[str, Any],
    ends: tuple[Any, Any, Any],
    labels: tuple[Any, Any],
) -> Any:
    """Returns an Arrow table with the columns that docs/records.md describes.

    Args:
        docs: doc_id, title and text of every topic's documents.
        views: instruction, origin and checks of every topic's views.
        ends: Where the documents and the views of each topic, and the labels of each view, begin, from 0 on.
        labels: The doc_id and the label of every view's labels.
    """

    def struct(**columns: Any) -> Any:
        return pa.StructArray.from_arrays(list(columns.values()), list(columns))

    docs_end, views_end, labels_end = (pa.array(each, pa.int32()) for each in ends)
    labelled = pa.MapArray.from_arrays(labels_end, *labels)
    found = struct(
        instruction=views["instruction"],
        labels=labelled,
        origin=views["origin"],
        checks=views["checks"],
    )
    return pa.table(
        {
            "topic_id": topic_ids,
            "query": queries,
            "docs": pa.ListArray.from_arrays(docs_end, struct(**docs)),
            "views": pa.ListArray.from_arrays(views_end, found),
        }
    )


class _Pool(dict[str, int]):
    """Gives each different string a number."""

    size = 0

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        self.size += len(text)
        return number


class _Column:
    """Strings as numbers of a pool; columns of the same strings may share theirs."""

    def __init__(self, pool: _Pool | None = None) -> None:
        self.pool = _Pool() if pool is None else pool
        self.numbers = array("i")

    def extend(self, texts: Iterable[str]) -> None:
        self.numbers.extend(map(self.pool.__getitem__, texts))

    def append(self, text: str) -> None:
        self.numbers.append(self.pool[text])

    def arrow(self, pa: Any) -> Any:
        """Returns the column as Arrow has it: the numbers, and each string once."""
        texts = pa.array(list(self.pool), pa.string())
        return pa.DictionaryArray.from_arrays(pa.array(self.numbers, pa.int32()), texts)


class _Group:
    """Topics as columns, in which each different string stands once."""

    def __init__(self) -> None:
        self.count = 0
        self.topic_ids, self.queries = _Column(), _Column()
        self.doc_ids, self.titles, self.texts = _Column(), _Column(), _Column()
        self.instructions, self.origins, self.checks = _Column(), _Column(), _Column()
        self.label_ids, self.labels = _Column(self.doc_ids.pool), _Column()
        self.docs_end, self.views_end, self.labels_end = (array("i", [0]) for _ in range(3))

    @property
    def is_full(self) -> bool:
        columns = (self.texts, self.titles, self.queries, self.instructions, self.origins)
        size = sum(column.pool.size for column in columns)
        return size > CHARACTERS_AT_ONCE or self.count >= TOPICS_AT_ONCE

    def add(self, topic: Topic) -> None:
        """Adds one topic."""
        self.count += 1
        self.topic_ids.append(topic.topic_id)
        self.queries.append(topic.query)
        self.doc_ids.extend([doc.doc_id for doc in topic.docs])
        self.titles.extend([doc.title for doc in topic.docs])
        self.texts.extend([doc.text for doc in topic.docs])
        self.docs_end.append(len(self.doc_ids.numbers))
        for view in topic.views:
            self.instructions.append(view.instruction)
            self.label_ids.extend(view.labels)
            self.labels.extend(view.labels.values())
            self.labels_end.append(len(self.labels.numbers))
            self.origins.append(to_json(view.origin).decode())
            self.checks.append(to_json(view.checks).decode())
        self.views_end.append(len(self.instructions.numbers))

    def table(self, pa: Any) -> Any:
        """Returns the topics as an Arrow table."""

        def arrow(**columns: _Column) -> dict[str, Any]:
            return {name: column.arrow(pa) for name, column in columns.items()}

        return topic_table(
            pa,
            self.topic_ids.arrow(pa),
            self.queries.arrow(pa),
            arrow(doc_id=self.doc_ids, title=self.titles, text=self.texts),
            arrow(instruction=self.instructions, origin=self.origins, checks=self.checks),
            (self.docs_end, self.views_end, self.labels_end),
            (self.label_ids.arrow(pa), self.labels.arrow(pa)),
        )


def read_topic_table(name: str) -> Iterator[tuple[int, Any]]:
    pa = parquet()
    if not Path(name).is_file():
        raise InputError("no such file", where=name, fix="Check the path")
    try:
        source = pa.parquet.ParquetFile(name)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"is no Parquet file ({error})",
            where=name,
            fix="Write the file again",
            code="cut_archive",
        ) from None
    number = 0
    try:
        for batch in source.iter_batches(batch_size=2_000):
            for row in _values(batch, name, number):
                number += 1
                views = row.get("views")
                for view in views if isinstance(views, list) else ():
                    _settle(view, f"{name}:{number}")
                yield number, row
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"the archive is cut off or damaged ({str(error).splitlines()[0]})",
            where=f"{name}:{number + 1}",
            fix="Fetch or write the file again",
            code="cut_archive",
        ) from None


def _values(batch: Any, name: str, before: int) -> list[Any]:
    """Returns a batch as rows.

    Raises:
        InputError: If a string is not UTF-8, which Parquet does not forbid.
    """
    try:
        rows: list[Any] = batch.to_pylist()
    except UnicodeDecodeError:
        columns = zip(batch.schema.names, batch.columns, strict=True)
        for (column, values), at in product(columns, range(len(batch))):
            try:
                values[at].as_py()
            except UnicodeDecodeError as error:
                raise InputError(
                    f"byte {error.start + 1} of {error.object!r:.40} is not UTF-8",
                    where=f"{name}:{before + at + 1}, {column}",
                    fix="Write the column again as UTF-8 text",
                    code="not_utf8",
                ) from None
        raise
    return rows


def _settle(view: Any, where: str) -> None:
    """Gives a view the form that it has in JSON; other tools write objects as columns, with nulls for no key."""
    if not isinstance(view, dict):
        return
    for name in ("labels", "origin", "checks"):
        value = view.get(name)
        try:
            if isinstance(value, str):
                view[name] = orjson.loads(value)
            elif isinstance(value, list):
                view[name] = _once(value, where)
            elif isinstance(value, dict):
                view[name] = {key: item for key, item in value.items() if item is not None}
        except (orjson.JSONDecodeError, ValueError, TypeError):
            continue  # what it is, the topic says


def _once(pairs: list[Any], where: str) -> dict[Any, Any]:
    """Returns the entries of a map.

    Raises:
        InputError: If a key stands twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(
            f"the key {twice!r} stands twice in one object",
            where=f"{where}, labels",
            fix="Keep one of the two",
        )
    return found
