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
        fields = [("positive_messages", POSITIVE), ("negative_messages", NEGATIVE)]
        documents = {name: _documents(row.get(name), name, line, findings) for name, _ in fields}
        add_labelled(gathering, topic, view, line, documents, fields)
    return gathering


def _documents(value: Any, field: str, line: int, findings: Findings) -> Any:
    """Returns what the user says in each list of messages; one list alone is a list of one."""
    if not isinstance(value, list):
        return value
    if value and all(isinstance(turn, dict) for turn in value):
        findings.note("object_for_list", line, field, "one list of messages read as a list of one")
        value = [value]
    return [said(turns, "user") if isinstance(turns, list) else turns for turns in value]


def said(turns: Any, role: str) -> str | None:
    """Returns what a role says in a list of messages, or None."""
    if not isinstance(turns, list):
        return None
    for turn in turns:
        if isinstance(turn, dict) and turn.get("role") == role:
            content = turn.get("content")
            return content if isinstance(content, str) else None
    return None
