"""FlagEmbedding's JSON Lines: ``query``, ``pos``, ``neg``, and ``prompt`` where there is an instruction.

As its fine-tuning guide describes them, https://github.com/FlagOpen/FlagEmbedding/tree/master/examples/finetune.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from obverse.read.faults import Findings
from obverse.read.gathering import Gathering
from obverse.read.judgements import INSTRUCTION_NEGATIVE, NEGATIVE, POSITIVE
from obverse.read.labelled import add_labelled
from obverse.read.query_rows import instruction_of, start_row
from obverse.read.rows import rows

_VIEW_NUMBER = re.compile(r"#\d+$")
"""What our own writers put behind a topic's id, where every view is a row of its own."""


def read_flag_embedding(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    columns: Mapping[str, str] | None = None,
) -> Gathering:
    """Returns the topics of a FlagEmbedding file; ``pos_id`` and ``neg_id`` name the documents where they stand."""
    gathering = Gathering(findings, "flag_embedding")
    for line, row in rows(path, findings, columns=columns):
        row = as_asked(row)
        topic = start_row(gathering, line, row)
        if topic is None:
            continue
        view = gathering.view(topic, instruction_of(row, line, findings))
        hard = hard_negatives(row)
        items = {
            "pos": named(row.get("pos"), row.get("pos_id")),
            "neg": named(row.get("neg"), row.get("neg_id")),
        }
        if hard and isinstance(items["neg"], list):
            items |= {"instruction_neg": items["neg"][:hard], "neg": items["neg"][hard:]}
        fields = [("pos", POSITIVE), ("instruction_neg", INSTRUCTION_NEGATIVE), ("neg", NEGATIVE)]
        whole = isinstance(row.get("pos"), list) and not isinstance(row.get("neg"), str)
        add_labelled(
            gathering, topic, view, line, items, [f for f in fields if f[0] in items], bare=whole
        )
    return gathering


def as_asked(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the row with query and instruction apart: ``only_query`` and ``only_instruction`` say them best."""
    if row.get("only_query") is not None:
        instruction = row.get("only_instruction") or row.get("instruction")
        asked: dict[str, Any] = {"query": row["only_query"], "instruction": instruction}
        if isinstance(row.get("query_id"), str):
            asked["query_id"] = _VIEW_NUMBER.sub("", row["query_id"])
        return row | asked
    if row.get("prompt") and row.get("instruction") is None:
        return row | {"instruction": row["prompt"]}
    return row


def hard_negatives(row: dict[str, Any]) -> int:
    """Returns how many of the first negatives fail the instruction alone, as our own writer says."""
    count = row.get("instruction_negatives")
    return count if type(count) is int and count > 0 else 0


def named(texts: Any, ids: Any) -> Any:
    """Returns texts with the ids that stand beside them in a list of their own."""
    if isinstance(texts, list) and isinstance(ids, list) and len(texts) == len(ids):
        return [
            {"id": doc_id, "text": text} if isinstance(text, str) else text
            for doc_id, text in zip(ids, texts, strict=True)
        ]
    return texts
