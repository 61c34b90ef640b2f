"""Which format a source has: the table of readers, and a guess that says what it rests on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from obverse.errors import InputError
from obverse.files import open_bytes
from obverse.read.faults import Findings
from obverse.read.passages import ID_KEYS, TEXT_KEYS
from obverse.read.query_rows import QUERY_KEYS
from obverse.read.rows import renamed, rows, table_kind

FORMATS: dict[str, str] = {
    "clicks": "obverse.read.clicks:read_clicks",
    "triplets": "obverse.read.triplets:read_triplets",
    "beir": "obverse.read.beir:read_beir",
    "topics": "obverse.read.topics:read_topic_rows",
}
"""Readers by format: ``module:function`` of ``(path, findings, **options) -> Iterator[Topic]``."""


def guess(path: str | os.PathLike[str], columns: dict[str, str] | None = None) -> tuple[str, str]:
    """Returns the format of a source and the reason for the guess.

    Raises:
        InputError: If nothing fits, with the columns that were found.
    """
    name = os.fspath(path)
    if Path(name).is_dir():
        return _guess_folder(Path(name))
    if name == "-":
        raise InputError(
            "the format of standard input cannot be guessed", fix="Name it with --format"
        )
    row = first_row(name, columns)
    keys = set(row)
    for form, why, fits in _SIGNS:
        if fits(keys, row):
            return form, why
    raise InputError(
        "none of the known formats",
        where=name,
        fix=f"It has {', '.join(sorted(map(str, keys))) or 'no columns'}; name the format with --format "
        "and the columns with --map query=...,clicked=...",
    )


def first_row(name: str, columns: dict[str, str] | None) -> dict[str, Any]:
    """Returns the first readable row of a table file.

    Raises:
        InputError: If the file has none.
    """
    scratch = Findings(collect=True)
    with open_bytes(name) as stream:
        if not stream.read(1):
            raise InputError("is empty", where=name, fix="Give a file with rows")
    found = next(renamed(rows(name, scratch), columns or {}, scratch), None)
    if found is None:
        said = next(iter(scratch.examples.values()), None)
        what = said[0].message if said else "holds no row"
        place = f"{name}:{said[0].line}" if said and said[0].line else name
        raise InputError(what, where=place, fix="Give a file with rows")
    return found[1]


def _guess_folder(folder: Path) -> tuple[str, str]:
    names = {file.name for file in folder.iterdir()}
    stems = {name.removesuffix(".gz").removesuffix(".zst") for name in names}
    if names & {"qrels", "qrels.tsv"} and "corpus.jsonl" in stems:
        return "beir", "a folder with corpus.jsonl and qrels"
    if "topics.jsonl" in stems:
        return "topics", "a folder with topics.jsonl"
    raise InputError(
        "none of the known formats of folders",
        where=str(folder),
        fix="A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/train.tsv",
    )


def _is_flat_log(keys: set[str], row: dict[str, Any]) -> bool:
    return "clicked" in keys or "clicks" in keys


_SIGNS: list[tuple[str, str, Any]] = [
    ("topics", "keys topic_id and views", lambda k, r: {"topic_id", "views"} <= k),
    ("clicks", "a key impressions", lambda k, r: bool(k & {"impressions", "shown", "results"})),
    ("clicks", "a key clicked", _is_flat_log),
    (
        "triplets",
        "keys query or anchor and positive",
        lambda k, r: bool(k & {"positive", "positives", "positive_1"}),
    ),
    (
        "corpus",
        "an id and a text, no query: documents",
        lambda k, r: (
            bool(k & set(ID_KEYS)) and bool(k & set(TEXT_KEYS)) and not k & set(QUERY_KEYS)
        ),
    ),
]


def is_table(path: str | os.PathLike[str]) -> bool:
    """Whether the source is a file of rows."""
    return Path(path).is_file() and bool(table_kind(path))
