"""InF-IR rows: one query with a document, and two poisoned partners.

The row says three things: the query under its instruction is answered by ``document``; under the poisoned
instruction by ``hard_negative_document_1``; the poisoned query under the instruction by
``hard_negative_document_2``. Published as https://huggingface.co/datasets/aarontrinh02/ms_marco_synthetic_data.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from obverse.read.faults import Findings
from obverse.read.gathering import Gathering
from obverse.read.judgements import INSTRUCTION_NEGATIVE, NEGATIVE, POSITIVE
from obverse.read.labelled import add_labelled
from obverse.read.query_rows import instruction_of, start_row
from obverse.read.rows import rows

_FIRST, _SECOND = "hard_negative_document_1", "hard_negative_document_2"


def read_inf_ir(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    columns: Mapping[str, str] | None = None,
) -> Gathering:
    """Returns a topic for each query with two views that swap two documents, and one for each poisoned query."""
    gathering = Gathering(findings, "inf_ir")
    for line, row in rows(path, findings, columns=columns):
        document = "document" if "document" in row else "document_positive"
        asked = {"query": row.get("query_positive"), "query_id": row.get("query_id")}
        topic = start_row(gathering, line, asked)
        if topic is None:
            continue
        kinds = [(document, POSITIVE), (_FIRST, INSTRUCTION_NEGATIVE), (_SECOND, NEGATIVE)]
        _add(gathering, topic, line, row, "instruction_positive", kinds)
        kinds = [(_FIRST, POSITIVE), (document, INSTRUCTION_NEGATIVE), (_SECOND, NEGATIVE)]
        _add(gathering, topic, line, row, "instruction_negative", kinds)
        if not row.get("query_negative") or not row.get(_SECOND):
            continue
        findings.rows -= 1  # the same row once more, under its other query
        other = start_row(gathering, line, {"query": row["query_negative"]})
        if other is not None:
            findings.usable -= 1
            kinds = [(_SECOND, POSITIVE), (document, NEGATIVE)]
            _add(gathering, other, line, row, "instruction_positive", kinds)
    return gathering


def _add(
    gathering: Gathering,
    topic: int,
    line: int,
    row: dict[str, Any],
    instruction: str,
    kinds: list[tuple[str, int]],
) -> None:
    if row.get(kinds[0][0]) is None:
        return
    found = instruction_of({"instruction": row.get(instruction)}, line, gathering.findings)
    view = gathering.view(topic, found)
    add_labelled(gathering, topic, view, line, row, kinds)
