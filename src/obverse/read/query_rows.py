"""Rows with a query: who asked what, under which instruction; shared by the readers of rows."""

from __future__ import annotations

from typing import Any

from obverse.read.faults import Findings
from obverse.read.gathering import Gathering, query_id
from obverse.read.passages import is_blank, string_id

QUERY_KEYS = (
    "query",
    "query_text",
    "anchor",
    "question",
    "q",
    "search_term",
    "sentence1",
    "only_query",
)
ID_KEYS = ("query_id", "topic_id", "qid")


def start_row(
    gathering: Gathering, line: int, row: dict[str, Any], *, by_query: bool = False
) -> int | None:
    """Returns the number of the row's topic, or None where the row has no query and is set aside.

    A row belongs to the topic of its query_id, or, where it has none, to that of its query's text.

    Args:
        by_query: Merge by the query's text even where rows have a query_id.
    """
    findings = gathering.findings
    findings.rows += 1
    name: str | None = "query_id"
    if row.get("query_id") is None:
        name = next((key for key in ID_KEYS if row.get(key) is not None), None)
    topic_id = row[name] if name else None
    if name and type(topic_id) is not str:
        topic_id = string_id(topic_id, name, line, findings)
    query = query_of(row)
    if type(query) is not str or is_blank(query):
        _no_query(query, topic_id, line, row, findings)
        return None
    if not _fits(row.get("instruction")):
        shown = f"should be a string: {row['instruction']!r:.40}"
        findings.note("wrong_type", line, "instruction", shown)
        findings.set_aside(topic_id or f"line {line}", "instruction of the wrong type", line)
        return None
    query = query.removeprefix("\ufeff")
    if topic_id and not by_query:
        return gathering.topic(topic_id, topic_id, query, line)
    made = query_id(query)
    return gathering.topic(made, topic_id or made, query, line)


def _fits(instruction: Any) -> bool:
    """None, a string, or the NaN that tables have for nothing."""
    return instruction is None or isinstance(instruction, str) or instruction != instruction


def is_asked(row: dict[str, Any]) -> bool:
    """Whether :func:`start_row` will find a topic for the row."""
    query = query_of(row)
    return type(query) is str and not is_blank(query) and _fits(row.get("instruction"))


def query_of(row: dict[str, Any]) -> Any:
    """Returns the row's query under whichever name it has, or None."""
    query = row.get("query")
    if query is None:
        query = next((row[key] for key in QUERY_KEYS if row.get(key) is not None), None)
    return query


def _no_query(
    query: Any, topic_id: str | None, line: int, row: dict[str, Any], findings: Findings
) -> None:
    name = topic_id or f"line {line}"
    if query is None:
        present = any(key in row for key in QUERY_KEYS)
        message = "the query is null" if present else f"no column {QUERY_KEYS[0]}"
        findings.note("missing_query_text", line, "query", message)
        findings.set_aside(name, "no query", line)
    elif isinstance(query, str):
        findings.note("blank_query", line, "query", f"the query is {query!r:.20}")
        findings.set_aside(name, "blank query", line)
    else:
        findings.note("wrong_type", line, "query", f"should be a string: {query!r:.40}")
        findings.set_aside(name, "query of the wrong type", line)


def instruction_of(row: dict[str, Any], line: int, findings: Findings) -> str:
    """Returns the row's instruction; none, null and blank ones are the plain view."""
    instruction = row.get("instruction")
    if instruction is None or instruction != instruction:
        return ""
    if not isinstance(instruction, str):
        findings.note("wrong_type", line, "instruction", f"should be a string: {instruction!r:.40}")
        return ""
    return instruction.strip() and instruction
