"""Promptriever rows, https://huggingface.co/datasets/samaya-ai/msmarco-w-instructions: queries with and without
instructions, and negatives made to fail the instruction alone.

After Weller et al. (2024), Promptriever, https://arxiv.org/abs/2409.11136.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from obverse.read.faults import Findings
from obverse.read.gathering import Gathering
from obverse.read.labelled import LabelledWork, add_labelled, labelled_rows, passage_fields
from obverse.read.query_rows import instruction_of, start_row

_SUFFIX = re.compile(r"[-_](instruct|plain)$|#\d+$")


def read_promptriever(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    columns: Mapping[str, str] | None = None,
    workers: int | None = None,
) -> Gathering:
    """Returns one topic for each query: its plain row and its instructed rows become views.

    ``new_negatives`` are instruction negatives of the instructed view.

    Args:
        workers: Processes that work ahead on a large JSON Lines file; by default as many as there are processors,
            up to 4. They change nothing but the time.
    """
    gathering = Gathering(findings, "promptriever")
    work = LabelledWork(["positive_passages", "new_negatives", "negative_passages"], apart)
    for line, row in labelled_rows(path, gathering, work, columns=columns, workers=workers):
        topic = start_row(gathering, line, row, by_query=True)
        if topic is None:
            continue
        instruction = instruction_of(row, line, findings)
        view = gathering.view(topic, instruction)
        add_labelled(gathering, topic, view, line, row, passage_fields(instruction), bare=False)
    return gathering


def apart(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the row with the query alone under ``query`` and the instruction under ``instruction``."""
    query, only, instruction = row.get("query"), row.get("only_query"), row.get("only_instruction")
    if row.get("has_instruction") is False:
        instruction = ""
    if not only and isinstance(query, str):
        only = query
        if instruction and query.endswith(instruction):
            only = query[: -len(instruction)].rstrip()
    changed: dict[str, Any] = {"query": only, "instruction": instruction}
    query_id = row.get("query_id")
    if isinstance(query_id, str):
        query_id = _SUFFIX.sub("", query_id)
        changed["query_id"] = query_id
    return row | changed
