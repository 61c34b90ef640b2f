"""Tevatron's rows, old (whole passages) and new (document ids beside a corpus), and Promptriever's.

``query`` is what the trainer encodes: query and instruction joined by the template. ``only_query`` and
``only_instruction`` hold the two apart, as Promptriever's rows do, so that the file reads back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from obverse.files import write_json_lines
from obverse.inputs import Template
from obverse.records import Doc, Topic
from obverse.write.view_rows import OwnIds, ViewRow, view_rows


def write_tevatron(
    path: str | os.PathLike[str], topics: Iterable[Topic], template: Template
) -> int:
    """Writes one row for each view; instruction negatives come first among ``negative_passages``."""
    return write_json_lines(path, map(_whole, view_rows(topics, template)))


def write_promptriever(
    path: str | os.PathLike[str], topics: Iterable[Topic], template: Template
) -> int:
    """Writes one row for each view; instruction negatives are ``new_negatives``."""
    return write_json_lines(path, map(_promptriever, view_rows(topics, template)))


def write_tevatron_ids(
    path: str | os.PathLike[str], topics: Iterable[Topic], template: Template
) -> int:
    """Writes a folder: ``train.jsonl`` with document ids, and ``corpus.jsonl`` with every document once."""
    own = OwnIds()

    def rows() -> Iterator[dict[str, Any]]:
        for row in view_rows(topics, template):
            negatives = row.instruction_negatives + row.negatives
            yield _asked(row, "query_text") | {
                "query_image": None,
                "positive_document_ids": [own.of(doc) for doc in row.positives],
                "negative_document_ids": [own.of(doc) for doc in negatives],
            }

    count = write_json_lines(Path(path) / "train.jsonl", rows())
    write_json_lines(Path(path) / "corpus.jsonl", map(_passage, own.docs.values()))
    own.say_renamed()
    return count


def _whole(row: ViewRow) -> dict[str, Any]:
    return _asked(row, "query") | {
        "positive_passages": [_passage(doc) for doc in row.positives],
        "negative_passages": [_passage(doc) for doc in row.instruction_negatives + row.negatives],
    }


def _promptriever(row: ViewRow) -> dict[str, Any]:
    return _asked(row, "query") | {
        "positive_passages": [_passage(doc) for doc in row.positives],
        "negative_passages": [_passage(doc) for doc in row.negatives],
        "new_negatives": [_passage(doc) for doc in row.instruction_negatives],
    }


def _asked(row: ViewRow, name: str) -> dict[str, Any]:
    return {
        "query_id": row.row_id,
        name: row.query,
        "only_query": row.topic.query,
        "only_instruction": row.instruction,
        "has_instruction": bool(row.instruction),
    }


def _passage(doc: Doc) -> dict[str, str]:
    return {"docid": doc.doc_id, "title": doc.title, "text": doc.text}
