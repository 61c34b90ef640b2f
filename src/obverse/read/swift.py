"""ms-swift's embedding rows: ``messages``, ``positive_messages``, ``negative_messages``.

As its guide describes them, https://swift.readthedocs.io/en/latest/BestPractices/Embedding.html: the system message
is the instruction.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from obverse.read.faults import Findings
from obverse.read.gathering import Gathering
from obverse.read.judgements import NEGATIVE, POSITIVE
from obverse.read.labelled import add_labelled
from obverse.read.query_rows import instruction_of, start_row
from obverse.read.rows import rows


def read_swift(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    columns: Mapping[str, str] | None = None,
) -> Gathering:
    """Returns the topics of an ms-swift file."""
    gathering = Gathering(findings, "swift")
    for line, row in rows(path, findings, columns=columns):
        asked = {
            "query": said(row.get("messages"), "user"),
            "instruction": said(row.get("messages"), "system"),
        }
        topic = start_row(gathering, line, asked)
        if topic is None:
            continue
        view = gathering.view(topic, instruction_of(asked, line, findings))
        documents = {
            "positive_messages": [said(turns, "user") for turns in row["positive_messages"] or []],
            "negative_messages": [
                said(turns, "user") for turns in row.get("negative_messages") or []
            ],
        }
        fields = [("positive_messages", POSITIVE), ("negative_messages", NEGATIVE)]
        add_labelled(gathering, topic, view, line, documents, fields)
    return gathering


def said(turns: Any, role: str) -> str | None:
    """Returns what a role says in a list of messages, or None."""
    if not isinstance(turns, list):
        return None
    for turn in turns:
        if isinstance(turn, dict) and turn.get("role") == role:
            content = turn.get("content")
            return content if isinstance(content, str) else None
    return None
