"""FlagEmbedding's JSON Lines: ``query``, ``pos``, ``neg``, instruction negatives first."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from obverse.files import write_json_lines
from obverse.inputs import Template
from obverse.records import Topic
from obverse.write.view_rows import ViewRow, view_rows


def write_flag_embedding(
    path: str | os.PathLike[str], topics: Iterable[Topic], template: Template
) -> int:
    """Writes one row for each view; ``query`` holds the instruction, so train with an empty query prompt."""

    def made(row: ViewRow) -> dict[str, Any]:
        negatives = row.instruction_negatives + row.negatives
        return {
            "query": row.query,
            "pos": [template.doc(doc) for doc in row.positives],
            "neg": [template.doc(doc) for doc in negatives],
            "pos_id": [doc.doc_id for doc in row.positives],
            "neg_id": [doc.doc_id for doc in negatives],
            "query_id": row.topic.topic_id,
            "only_query": row.topic.query,
            "only_instruction": row.instruction,
            "instruction_negatives": len(row.instruction_negatives),
        }

    return write_json_lines(path, map(made, view_rows(topics, template)))
