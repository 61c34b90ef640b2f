"""ArcticTraining's folders of text: ``queries.parquet``, ``documents.parquet``, ``labels.parquet`` (or
``relations.parquet``), https://github.com/snowflakedb/ArcticTraining/tree/main/projects/arctic_embed.

Columns QUERY_ID, QUERY_TEXT; DOCUMENT_ID, DOCUMENT_TEXT; QUERY_ID, DOCUMENT_ID, RELEVANCE. A relevance above 0 (or
none at all) is positive, one below 0 negative. Batches that were already turned into tokens hold no text to read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from obverse.errors import InputError
from obverse.read.faults import Findings
from obverse.read.gathering import Gathering
from obverse.read.json_rows import Row
from obverse.read.judgements import INSTRUCTION_NEGATIVE, NEGATIVE, POSITIVE
from obverse.read.passages import passages, string_id
from obverse.read.rows import parquet_rows
from obverse.records import Topic


def read_arctic(path: str | os.PathLike[str], findings: Findings) -> Iterator[Topic]:
    """Yields one topic for each query that has a judgement.

    Raises:
        InputError: If a file is missing or the folder holds tokens instead of text.
    """
    folder = Path(path)
    gathering = Gathering(findings, "arctic")
    queries: dict[Any, tuple[str, str, str]] = {}
    for line, row in _rows(folder / "queries.parquet", findings):
        text = row.get("QUERY_TEXT", row.get("QUERY"))
        if isinstance(text, str) and text.strip():
            key = _key(row, "QUERY_ID")
            name = row.get("QUERY_NAME") or _quiet_id(key)
            only, instruction = row.get("ONLY_QUERY") or text, row.get("INSTRUCTION") or ""
            queries[key] = (name, only, instruction)
        else:
            findings.note("blank_query", line, "QUERY_TEXT", f"query {_key(row, 'QUERY_ID')!r}")
    numbers: dict[Any, int] = {}
    for line, row in _rows(folder / "documents.parquet", findings):
        key = _key(row, "DOCUMENT_ID")
        item = {
            "id": row.get("DOCUMENT_NAME") or _quiet_id(key),
            "text": row.get("DOCUMENT_TEXT", row.get("DOCUMENT")),
        }
        for passage, _ in passages([item], "DOCUMENT_TEXT", line, findings)[0]:
            numbers[key] = gathering.documents.number(passage, line, "DOCUMENT_TEXT")
    names = (folder / "labels.parquet", folder / "relations.parquet")
    labels = next((name for name in names if name.is_file()), names[0])
    for line, row in _rows(labels, findings):
        _judge(gathering, line, row, queries, numbers)
    findings.rows = len(queries)
    yield from gathering
    findings.usable = min(findings.usable, findings.rows)


def _judge(
    gathering: Gathering,
    line: int,
    row: Row,
    queries: dict[Any, tuple[str, str, str]],
    numbers: dict[Any, int],
) -> None:
    findings = gathering.findings
    query_key, doc_key = _key(row, "QUERY_ID"), _key(row, "DOCUMENT_ID")
    if query_key not in queries:
        findings.note("missing_query", line, "QUERY_ID", f"no query {query_key!r}")
        return
    name, query, instruction = queries[query_key]
    topic = gathering.topic(name, name, query, line)
    if doc_key not in numbers:
        findings.note("missing_document", line, "DOCUMENT_ID", f"no document {doc_key!r}")
        return
    relevance = row.get("RELEVANCE", 1)
    if not relevance:
        return
    kind = POSITIVE if relevance > 0 else NEGATIVE
    if row.get("INSTRUCTION_NEGATIVE"):
        kind = INSTRUCTION_NEGATIVE
    gathering.judgements.add(gathering.view(topic, instruction), numbers[doc_key], kind, line)


def _rows(path: Path, findings: Findings) -> Iterator[tuple[int, Row]]:
    findings.file = str(path)
    for line, row in parquet_rows(path, findings):
        if line == 1 and any(key.endswith("TOKEN_ID_LIST") for key in row):
            raise InputError(
                "holds tokens, not texts",
                where=str(path),
                fix="Give the folder of texts that it was made from",
                code="unknown_format",
            )
        yield line, row


def _key(row: Row, name: str) -> Any:
    return row.get(name, row.get(f"BATCH_{name}"))


def _quiet_id(key: Any) -> str:
    """Numbers are this format's own ids and no fault."""
    return key if isinstance(key, str) else (string_id(key, "", 0, Findings()) or "")
