"""The very strings that an encoder reads, for rows of queries and instructions or for topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from obverse.errors import InputError
from obverse.files import topic_rows
from obverse.inputs import Template, fit
from obverse.training.sources import training_topics

_KEYS = {"query", "instruction"}


def shown_inputs(
    source: str,
    template: Template,
    max_tokens: int | None = None,
    count: Callable[[str], int] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yields a row for each input, in the order of the source: ``input`` is the string, as it is encoded.

    Rows ``{"query", "instruction"}`` give one input each; topics, in any format that training reads, one for each view
    and one for each document. With a counter, ``tokens`` is the length, and instructions that do not fit are shortened
    as in training.

    Args:
        source: A file of rows, or what :func:`training_topics` reads.
        template: Builds the strings.
        max_tokens: The limit of an input; None for none.
        count: Counts the tokens of a string, special tokens included.

    Raises:
        InputError: If a row is faulty, or a query alone is longer than the limit.
    """

    def query(text: str, instruction: str, place: str) -> str:
        if max_tokens is None or count is None:
            return template.query(text, instruction)
        try:
            return fit(template, text, instruction, max_tokens, count)
        except InputError as error:
            raise error.at(place) from None

    if _holds_bare_rows(source):
        for line, row in topic_rows(source):
            text, instruction = _bare(row, f"{source}:{line}")
            shown = query(text, instruction, f"{source}:{line}")
            yield {"line": line, "kind": "query", "input": shown, **_length(shown, count)}
        return
    for topic in training_topics(source):
        for number, view in enumerate(topic.views):
            place = {"topic_id": topic.topic_id, "view": number}
            shown = query(topic.query, view.instruction, f"topic {topic.topic_id}")
            yield {**place, "kind": "query", "input": shown, **_length(shown, count)}
        for doc in topic.docs:
            shown = template.doc(doc)
            place = {"topic_id": topic.topic_id, "doc_id": doc.doc_id}
            yield {**place, "kind": "document", "input": shown, **_length(shown, count)}


def _length(text: str, count: Callable[[str], int] | None) -> dict[str, int]:
    return {} if count is None else {"tokens": count(text)}


def _holds_bare_rows(source: str) -> bool:
    try:
        _, row = next(iter(topic_rows(source)))
    except (StopIteration, InputError, OSError):
        return False
    return isinstance(row, dict) and "query" in row and not row.keys() - _KEYS


def _bare(row: Any, place: str) -> tuple[str, str]:
    if not isinstance(row, dict) or row.keys() - _KEYS or not isinstance(row.get("query"), str):
        raise InputError(
            "is no row of a query and an instruction",
            where=place,
            fix='Write {"query": "...", "instruction": "..."}',
        )
    instruction = row.get("instruction")
    if not isinstance(instruction, str | None):
        raise InputError(
            "should be a string", where=f"{place}, instruction", fix="Put it in quotes"
        )
    if not row["query"].strip():
        raise InputError("is empty", where=f"{place}, query", fix="Give the row a query")
    return row["query"], instruction or ""
