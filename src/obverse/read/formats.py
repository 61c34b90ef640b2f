"""Which format a source has: the table of readers, and a guess that says what it rests on."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from obverse.errors import InputError
from obverse.files import open_bytes
from obverse.read import hugging_face, ir_data
from obverse.read.faults import TO_UTF8, TO_UTF8_COLUMN, Findings
from obverse.read.passages import ID_KEYS, TEXT_KEYS
from obverse.read.query_rows import QUERY_KEYS
from obverse.read.rows import rows

FORMATS: dict[str, str] = {
    "topics": "obverse.read.topics:read_topic_rows",
    "clicks": "obverse.read.clicks:read_clicks",
    "triplets": "obverse.read.triplets:read_triplets",
    "beir": "obverse.read.beir:read_beir",
    "trec": "obverse.read.trec:read_trec",
    "msmarco": "obverse.read.msmarco:read_msmarco",
    "promptriever": "obverse.read.promptriever:read_promptriever",
    "inf_ir": "obverse.read.inf_ir:read_inf_ir",
    "tevatron": "obverse.read.tevatron:read_tevatron",
    "flag_embedding": "obverse.read.flag_embedding:read_flag_embedding",
    "swift": "obverse.read.swift:read_swift",
    "arctic": "obverse.read.arctic:read_arctic",
    "ir_datasets": "obverse.read.ir_data:read_ir_dataset",
}
"""Readers by format: ``module:function`` of ``(path, findings, **options) -> Iterable[Topic]``."""

NAMES = (*FORMATS, "corpus")
"""What ``--format`` takes; documents alone are no topics, and become ``corpus.jsonl``."""

_LOOKED_AT = 100
"""How many rows are asked for their keys."""

Keys = set[str]
_POSITIVE = {"positive", "positives", "positive_1", "pos", "answer", "sentence2"}
_SIGNS: list[tuple[str, str, Callable[[Keys], bool]]] = [
    ("topics", "topic_id, views", lambda keys: {"topic_id", "views"} <= keys),
    ("inf_ir", "query_positive, instruction_positive", lambda keys: "query_positive" in keys),
    ("promptriever", "new_negatives, positive_passages", lambda keys: _promptriever(keys)),
    ("tevatron", "positive_passages", lambda keys: "positive_passages" in keys),
    ("tevatron", "positive_document_ids", lambda keys: "positive_document_ids" in keys),
    ("swift", "messages, positive_messages", lambda keys: "positive_messages" in keys),
    ("clicks", "impressions", lambda keys: bool(keys & {"impressions", "results"})),
    ("clicks", "clicked or shown", lambda keys: bool(keys & {"clicked", "clicks", "shown"})),
    ("flag_embedding", "query, pos", lambda keys: {"query", "pos"} <= keys),
    ("triplets", "a query and a positive", lambda keys: bool(keys & _POSITIVE)),
    ("qrels", "query-id, corpus-id: judgements", lambda keys: {"query-id", "corpus-id"} <= keys),
    ("corpus", "an id and a text, no query: documents", lambda keys: _corpus(keys)),
]


def _promptriever(keys: Keys) -> bool:
    """Tevatron rows, as we write them, have only_instruction too, and no new_negatives."""
    return {"positive_passages", "new_negatives"} <= keys


def _corpus(keys: Keys) -> bool:
    return bool(keys & set(ID_KEYS)) and bool(keys & set(TEXT_KEYS)) and not keys & set(QUERY_KEYS)


class NoRows(InputError):
    """Not one row of a file can be read."""


def guess(path: str | os.PathLike[str], columns: dict[str, str] | None = None) -> tuple[str, str]:
    """Returns the format of a source and the reason for the guess.

    Raises:
        InputError: If nothing fits, with the columns that were found.
    """
    name = os.fspath(path)
    if name.startswith(ir_data.PREFIX):
        return "ir_datasets", f"the prefix {ir_data.PREFIX}"
    if Path(name).is_dir() and not hugging_face.is_hugging_face(name):
        return _guess_folder(Path(name))
    found = first_rows(name, columns)
    keys = {str(key) for row in found for key in row}
    for known in (keys, set(map(str, found[0]))):  # a stray key of a later row may fit nothing
        for form, why, fits in _SIGNS:
            if fits(known):
                return form, f"columns {why}"
    shown = f"has the columns {', '.join(sorted(keys))}" if keys else "has no columns"
    raise InputError(
        "none of the known formats",
        where=name,
        fix=f"It {shown}; name the format with --format "
        "and the columns with --map query=...,clicked=...",
        code="unknown_format",
    )


def first_rows(name: str, columns: dict[str, str] | None) -> list[dict[str, Any]]:
    """Returns the first readable rows of a table file, any of which may lack a key.

    Raises:
        InputError: If the file has none.
    """
    scratch = Findings(collect=True)
    if not hugging_face.is_hugging_face(name):
        with open_bytes(name) as stream:
            if not stream.read(1):
                raise NoRows("is empty", where=name, fix="Give a file with rows")
    found = [row for _, row in islice(rows(name, scratch, columns=columns), _LOOKED_AT)]
    if not found:
        worst = next((code for code, _ in scratch.worst_first()), "empty_file")
        said = scratch.examples.get(worst) if worst != "empty_file" else None
        what = said[0].message if said else "holds no row"
        place = f"{name}:{said[0].line}" if said and said[0].line else name
        column = worst == "not_utf8" and said is not None and said[0].field is not None
        fix = TO_UTF8_COLUMN if column else _FIXES.get(worst, _NO_ROW)
        raise NoRows(what, where=place, fix=fix)
    return found


_NO_ROW = "Give a file with rows; the first line of a table names its columns"
_NO_JSON = "Write one JSON object on each line, or name a table .csv or .tsv"
_FIXES = {"bad_json": _NO_JSON, "not_an_object": _NO_JSON, "not_utf8": TO_UTF8}


def _guess_folder(folder: Path) -> tuple[str, str]:
    names = {file.name for file in folder.iterdir()}
    stems = {name.removesuffix(".gz").removesuffix(".zst") for name in names}
    judged = bool(stems & {"qrels", "qrels.tsv"})
    if judged and stems & {"corpus.jsonl", "corpus.tsv"} and stems & _QUERIES:
        return "beir", "a folder with corpus, queries and qrels"
    if "topics.jsonl" in stems or "topics.parquet" in stems:
        return "topics", "a folder with topics"
    if {"queries.parquet", "documents.parquet"} <= stems:
        return "arctic", "a folder with queries.parquet and documents.parquet"
    if {"corpus.jsonl", "train.jsonl"} <= stems:
        return "tevatron", "a folder with corpus.jsonl and train.jsonl"
    if any(name.startswith("collection") for name in stems):
        return "msmarco", "a folder with collection.tsv"
    if any(name.startswith("topics") for name in stems) and any("qrels" in n for n in stems):
        return "trec", "a folder with topics and qrels"
    raise InputError(
        "none of the known formats of folders",
        where=str(folder),
        fix="A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/train.tsv",
        code="unknown_format",
    )


_QUERIES = {"queries.jsonl", "queries.tsv"}
