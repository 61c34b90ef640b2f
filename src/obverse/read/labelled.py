"""Adds the documents of labelled fields to a view; shared by the readers of rows that label documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from obverse.read.gathering import Gathering
from obverse.read.json_rows import Block, Row
from obverse.read.judgements import POSITIVE
from obverse.read.numbered import NumberedDocs, numbered
from obverse.read.passages import passage_of, passages


def labelled_rows(
    gathering: Gathering,
    blocks: Iterable[Block],
    fields: Iterable[str],
    settle: Callable[[Row], Row],
) -> Iterator[tuple[int, Row]]:
    """Yields ``(line, row)`` with numbers in place of documents, except where a block needs a closer look.

    Args:
        fields: The fields of documents, in the order in which they will be added.
        settle: Gives a row the names that obverse knows.
    """
    findings, names = gathering.findings, list(fields)
    for block in blocks:
        block.rows = [settle(row) for row in block.rows]
        rows = numbered(block.rows, block.lines, names, gathering.documents)
        if rows is not None:
            block.rows = rows
            findings.object_documents = True
        yield from block.each(findings)


def add_labelled(
    gathering: Gathering,
    topic: int,
    view: int,
    line: int,
    row: dict[str, Any],
    fields: Iterable[tuple[str, int]],
    *,
    bare: bool = True,
) -> None:
    """Adds every document of the fields with its field's label; positives come first in ``fields``.

    A document that is positive in the row is no negative of it.

    Args:
        fields: ``(field, kind)`` pairs.
        bare: Whether strings are the format's own way.
    """
    reason: str | None = None
    positives: set[int] = set()
    for field, kind in fields:
        if kind == POSITIVE:
            gathering.positive_field = field
        else:
            gathering.negative_field = field
        numbers, why = _numbers(gathering, row.get(field), field, line, bare)
        if kind == POSITIVE:
            reason = reason or why
            positives.update(numbers)
        elif not positives.isdisjoint(numbers):
            numbers = _without(positives, numbers, gathering, field, line)
        gathering.judgements.add_alike(view, numbers, kind, line)
    if not positives:
        gathering.because(topic, f"{reason} positive" if reason else "no positive")


def _numbers(
    gathering: Gathering, value: Any, field: str, line: int, bare: bool
) -> tuple[list[int], str | None]:
    """Returns the numbers of a field's documents, and why the last unusable one is none."""
    documents, findings = gathering.documents, gathering.findings
    if type(value) is NumberedDocs:
        return value, None
    if type(value) is not list:
        found, reason = passages(value, field, line, findings, bare=bare)
        return [documents.number(passage, line, field) for passage, _ in found], reason
    reason = None
    numbers = documents.known(value)
    if -1 in numbers:
        for at, item in enumerate(value):
            if numbers[at] < 0:
                passage = passage_of(item, field, at, line, findings, bare)
                if isinstance(passage, tuple):
                    numbers[at] = documents.number(passage, line, field)
                else:
                    reason = passage
        numbers = [number for number in numbers if number >= 0]
    return numbers, reason


def _without(
    positives: set[int], numbers: list[int], gathering: Gathering, field: str, line: int
) -> list[int]:
    """Notes the row's own positives among its negatives and leaves them out."""
    for number in numbers:
        if number in positives:
            name = gathering.documents.doc_id(number)
            gathering.findings.note("positive_among_negatives", line, field, f"document {name!r}")
    return [number for number in numbers if number not in positives]
