"""Topics files and topics benchmark folders, row by row, so that every fault is named and the rest is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from obverse.errors import InputError
from obverse.files import in_folder, may_repeat_keys, repeated_keys, topic_rows
from obverse.read.documents import HUGE, full_text, inspected, note_huge
from obverse.read.faults import Findings
from obverse.read.json_rows import json_blocks
from obverse.read.rows import table_kind
from obverse.records import Topic, topic_from_json


def read_topic_rows(path: str | os.PathLike[str], findings: Findings) -> Iterator[Topic]:
    """Yields the topics of a topics file, or of a folder that holds ``topics.jsonl``."""
    if Path(path).is_dir():
        path = in_folder(path, "topics.jsonl")
    findings.file = os.fspath(path)
    seen: dict[str, int] = {}
    for line, row in _rows(path, findings):
        findings.rows += 1
        if findings.raw and may_repeat_keys(findings.raw, row):
            twice = repeated_keys(findings.raw)
            for key, message in twice:
                findings.wrong("duplicate_key", line, key, message, "Keep one of the two")
            if twice:
                continue
        try:
            topic = topic_from_json(row)
        except InputError as error:
            code = error.code or "bad_topic"
            findings.wrong(code, line, error.where, error.what, error.fix or "Mend it")
            continue
        if topic.topic_id in seen:
            findings.wrong(
                "duplicate_topic",
                line,
                "topic_id",
                f"topic_id {topic.topic_id!r} stands already in line {seen[topic.topic_id]}",
                "Give every topic an id of its own",
            )
            continue
        seen[topic.topic_id] = line
        findings.usable += 1
        _look(topic, line, findings)
        yield topic
    findings.close_lines()
    if not findings.rows:
        findings.wrong("empty_file", None, None, "holds no topic", "Write one topic on each line")


def _rows(path: str | os.PathLike[str], findings: Findings) -> Iterator[tuple[int, Any]]:
    if table_kind(path) == "parquet":
        yield from topic_rows(path)
    else:
        inspector, findings.inspector = findings.inspector, None
        for block in json_blocks(path, findings, repeated=False):
            findings.inspector = inspector
            yield from block.each(findings)
            findings.inspector = None
        findings.inspector = inspector


def _look(topic: Topic, line: int, findings: Findings) -> None:
    for number, doc in enumerate(topic.docs):
        field = f"docs[{number}]"
        if len(doc.text) > HUGE:
            note_huge(findings, doc.doc_id, len(doc.text), line, f"{field}.text")
        if not (doc.text.strip() or doc.title.strip()):
            code = "blank_text" if doc.text else "empty_text"
            findings.note(code, line, f"{field}.text", f"document {doc.doc_id!r} is blank")
        inspected(findings, doc.doc_id, full_text(doc), line, field)
    for number, view in enumerate(topic.views):
        if not view.negatives:
            findings.note("no_negative", line, f"views[{number}]", f"topic {topic.topic_id!r}")
    if findings.inspector is not None:
        findings.inspector.topic(topic, line)
