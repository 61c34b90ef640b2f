"""A benchmark's tables by name, from a local folder in the public layout or from the hub."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from obverse.errors import InputError, MissingExtra
from obverse.filed_docs import FiledDocs, stays_on_disk
from obverse.files import read_json, read_json_lines, read_lines
from obverse.models import hub_away
from obverse.records import Doc

Row = Mapping[str, Any]


class Tables(Protocol):
    """Tables of rows by name."""

    @property
    def where(self) -> str:
        """The place, as errors name it."""
        ...

    def rows(self, *names: str) -> Iterator[Row]:
        """Yields the rows of the first of these tables that there is."""
        ...

    def has(self, *names: str) -> bool:
        """Whether one of these tables is there."""
        ...


@dataclass(frozen=True, slots=True)
class FolderTables:
    """Tables of a folder: ``NAME.jsonl``, ``NAME.json``, ``NAME.tsv``, ``NAME.parquet`` (the first three also
    compressed), or a folder ``NAME`` of such files, as a hub data set is downloaded."""

    where: str

    def has(self, *names: str) -> bool:
        return any(self._files(name) for name in names)

    def rows(self, *names: str) -> Iterator[Row]:
        home = Path(self.where)
        if not home.is_dir():
            raise InputError("no such folder", where=self.where, fix="Check the path")
        for name in names:
            if files := self._files(name):
                for path in files:
                    yield from _rows_of(path)
                return
        raise InputError(
            f"holds no table {names[0]}",
            where=self.where,
            fix=f"Put {names[0]}.jsonl (or .parquet, .tsv) into the folder",
        )

    def large_lines(self, *names: str) -> Path | None:
        """Returns the one .jsonl file of the first of these tables that there is, if it is too large for memory."""
        files = next((found for name in names if (found := self._files(name))), [])
        one = files[0] if len(files) == 1 and files[0].suffix == ".jsonl" else None
        return one if one is not None and stays_on_disk(one) else None

    def _files(self, name: str) -> list[Path]:
        home = Path(self.where)
        for ending in (".jsonl", ".json", ".tsv", ".parquet"):
            for packed in ("", ".gz", ".zst"):
                if (path := home / f"{name}{ending}{packed}").is_file():
                    return [path]
        folder = home / name
        if not folder.is_dir():
            return []
        found = sorted(
            p for p in folder.iterdir() if _ending(p) in (".jsonl", ".json", ".tsv", ".parquet")
        )
        test = [path for path in found if path.name.startswith("test")]
        return test or found


@dataclass(frozen=True, slots=True)
class HubTables:
    """Tables of a hub data set: one configuration each."""

    where: str
    revision: str | None = None

    def has(self, *names: str) -> bool:
        known = self._fetched(lambda hub: hub.get_dataset_config_names(self.where, self.revision))
        return any(name in known for name in names)

    def rows(self, *names: str) -> Iterator[Row]:
        name = next((name for name in names if self.has(name)), names[0])
        splits = self._fetched(
            lambda hub: hub.load_dataset(self.where, name, revision=self.revision)
        )
        yield from splits["test"] if "test" in splits else next(iter(splits.values()))

    def _fetched(self, fetch: Callable[[Any], Any]) -> Any:
        try:
            import datasets
        except ImportError:
            raise MissingExtra("datasets", "train", "a benchmark from the hub") from None
        if (away := hub_away()) is not None and not self._is_cached():
            raise InputError(
                f"is not in the hub cache, and the hub is {away}",
                where=f"hub:{self.where}",
                fix="Give a local folder in the same layout",
            )
        try:
            return fetch(datasets)
        except Exception as error:
            raise InputError(
                f"cannot be fetched ({str(error).splitlines()[0][:150]})",
                where=f"hub:{self.where}",
                fix="Give a local folder in the same layout",
            ) from None

    def _is_cached(self) -> bool:
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(self.where, "README.md", repo_type="dataset")
        return isinstance(found, str)


def tables_of(place: str | os.PathLike[str]) -> Tables:
    """Returns the tables of a folder, or of a hub data set where the place is written ``hub:owner/name[@revision]``."""
    text = os.fspath(place)
    if text.startswith("hub:"):
        name, _, revision = text.removeprefix("hub:").partition("@")
        return HubTables(name, revision or None)
    return FolderTables(text)


def _ending(path: Path) -> str:
    return next((s for s in reversed(path.suffixes) if s not in (".gz", ".zst")), "")


def _rows_of(path: Path) -> Iterator[Row]:
    ending = _ending(path)
    if ending == ".parquet":
        yield from _parquet_rows(path)
    elif ending == ".tsv":
        yield from _tsv_rows(path)
    elif ending == ".json":
        value = read_json(path)
        yield from value if isinstance(value, list) else [{"value": value}]
    else:
        for number, row in read_json_lines(path):
            if not isinstance(row, dict):
                raise InputError(
                    "is no object", where=f"{path}:{number}", fix="Write one object a line"
                )
            yield row


def _parquet_rows(path: Path) -> Iterator[Row]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "reading Parquet") from None
    try:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=2_000):
            yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(
            f"is no Parquet, or a damaged one ({str(error).splitlines()[0][:120]})",
            where=str(path),
            fix="Fetch or write the file again",
        ) from None


def _tsv_rows(path: Path) -> Iterator[Row]:
    """Rows by the names in the first line; nothing is unquoted."""
    heads: list[str] = []
    for number, line in read_lines(path):
        columns = line.decode("utf-8", "replace").split("\t")
        if not heads:
            heads = columns
            continue
        if len(columns) != len(heads):
            raise InputError(
                f"has {len(columns)} columns, not {len(heads)}",
                where=f"{path}:{number}",
                fix="Write as many as the first line names",
            )
        yield dict(zip(heads, columns, strict=True))


def text_of(row: Row, *keys: str, where: str) -> str:
    """Returns the first of these keys' values as a string; whole numbers as they are written.

    Raises:
        InputError: If the row has none of them.
    """
    for key in keys:
        value = row.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    raise InputError(
        f"a row lacks {keys[0]} (it has {', '.join(map(str, row))})",
        where=where,
        fix=f"Name the column {keys[0]}",
    )


def corpus_of(tables: Tables, *names: str) -> Mapping[str, Doc]:
    """Returns the documents of a corpus table (``_id`` or ``id``, ``title``, ``text``) by id.

    The texts of a large .jsonl file stay in it (:mod:`obverse.filed_docs`).
    """
    names = names or ("corpus",)
    if isinstance(tables, FolderTables) and (path := tables.large_lines(*names)) is not None:
        return FiledDocs(path, _doc_of_line)
    docs = {}
    for row in tables.rows(*names):
        doc = _doc_of(row, tables.where)
        docs[doc.doc_id] = doc
    return docs


def _doc_of(row: Row, where: str) -> Doc:
    doc_id = text_of(row, "_id", "id", "doc_id", "docid", where=where)
    text = text_of(row, "text", "doc", "contents", where=where)
    return Doc(doc_id, text, row.get("title") or "")


def _doc_of_line(line: bytes, where: str) -> Doc:
    import orjson

    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(
            f"is no JSON ({error})", where=where, fix="Write one object a line"
        ) from None
    if not isinstance(row, dict):
        raise InputError("is no object", where=where, fix="Write one object a line")
    return _doc_of(row, where)


def qrels_of(tables: Tables, *names: str) -> dict[str, dict[str, int]]:
    """Returns the judgements of a qrels table (``query-id``, ``corpus-id``, ``score``); no score means 1.

    Raises:
        InputError: If a score is no whole number.
    """
    qrels: dict[str, dict[str, int]] = {}
    for row in tables.rows(*names):
        query_id = text_of(row, "query-id", "query_id", "qid", where=tables.where)
        doc_id = text_of(row, "corpus-id", "corpus_id", "pid", "docid", where=tables.where)
        value = row.get("score", row.get("rel", 1))
        grade = whole_grade(value)
        if grade is None:
            raise InputError(
                f"the grade {value!r} of query {query_id!r}, document {doc_id!r} is no whole number",
                where=tables.where,
                fix="Multiply the grades until they are whole, or mend the row",
            )
        qrels.setdefault(query_id, {})[doc_id] = grade
    return qrels


def whole_grade(value: Any) -> int | None:
    """Returns a grade as a whole number (``2.0`` and ``"2"`` are 2); None where it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() else None
