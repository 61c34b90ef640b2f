"""The documents to mine from: a BEIR folder, a table of documents in any form, or the documents of topics."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from obverse.errors import InputError
from obverse.files import in_folder, topic_rows
from obverse.read import on_disk
from obverse.read.documents import HUGE, inspected, note_huge, whole_text
from obverse.read.faults import Findings
from obverse.read.passages import lacking, passages
from obverse.read.rows import rows
from obverse.records import Doc, topic_from_json


def read_documents(
    path: str | os.PathLike[str], findings: Findings | None = None
) -> dict[str, Doc]:
    """Returns the documents of a corpus by id, in file order.

    Args:
        path: A folder with ``corpus.jsonl``; a table (JSON Lines, CSV, TSV, Parquet) with an id (``_id``,
            ``doc_id``, ``id``, ``docid``) and a text; or a topics file, whose documents are taken together.
        findings: Collects what is wrong with single documents; blank ones are left out.

    Raises:
        InputError: If there is no document, or an id has two different texts.
    """
    seen = findings or Findings()
    docs: dict[str, Doc] = {}
    with on_disk(path, seen) as source:
        for line, doc in _documents(source, seen):
            if docs.setdefault(doc.doc_id, doc) != doc:
                raise InputError(
                    f"document {doc.doc_id!r} has two different texts",
                    where=f"{seen.place}:{line}",
                    fix="Keep one of them",
                )
    if not docs:
        raise InputError(
            "holds no document",
            where=os.fspath(path),
            fix="Give a table with an id and a text in each row, a BEIR folder, or topics",
        )
    return docs


def read_corpus_rows(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    columns: Mapping[str, str] | None = None,
    quoting: str = "guess",
) -> Iterator[Doc]:
    """Yields the usable documents of a table; an id with two texts and blank ones are noted, not refused."""
    marks: dict[str, int] = {}
    for line, row in rows(path, findings, columns=columns, quoting=quoting):
        findings.rows += 1
        found, reason = passages(row, "document", line, findings)
        if not found:
            findings.set_aside(f"line {line}", lacking(reason, "text"), line)
        for (doc_id, title, text), _item in found:
            if len(text) > HUGE:
                note_huge(findings, doc_id, len(text), line, "text")
            inspected(findings, doc_id, whole_text(title, text), line, "text")
            mark = hash((title, text))
            if marks.setdefault(doc_id, mark) != mark:
                findings.set_aside(doc_id, "an id with another text before", line)
                continue
            findings.usable += 1
            yield Doc(doc_id, text, title)


def _documents(path: str | os.PathLike[str], findings: Findings) -> Iterator[tuple[int, Doc]]:
    if Path(path).is_dir():
        path = in_folder(path, "corpus.jsonl")
    findings.file = os.fspath(path)
    for line, row in rows(path, findings):
        if "views" in row:
            break
        found, _ = passages(row, "document", line, findings)
        for (doc_id, title, text), _item in found:
            yield line, Doc(doc_id, text, title)
    else:
        return
    for line, row in topic_rows(path):
        try:
            topic = topic_from_json(row)
        except InputError as error:
            raise error.at(f"{findings.file}:{line}") from None
        for doc in topic.docs:
            yield line, doc
