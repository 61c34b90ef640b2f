"""Adds the documents of labelled fields to a view; shared by the readers of rows that label documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from obverse.read.ahead import blocks_ahead
from obverse.read.faults import Looks
from obverse.read.gathering import Gathering
from obverse.read.helper import Ready
from obverse.read.json_rows import Block, Row
from obverse.read.judgements import INSTRUCTION_NEGATIVE, NEGATIVE, POSITIVE
from obverse.read.numbered import DocNumbers, LabelledPart, NumberedDocs, labelled_part
from obverse.read.passages import lacking, passage_of, passages


@dataclass(slots=True)
class LabelledWork:
    """What is done with rows that label documents, here or by processes that work ahead.

    Attributes:
        fields: The fields of documents, in the order in which they will be added.
        settle: Gives a row the names that obverse knows; a plain function of a module.
    """

    fields: list[str]
    settle: Callable[[Row], Row]
    path: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    looks: Looks | None = None

    def part(
        self, rows: list[Row], lines: Sequence[int], documents: DocNumbers
    ) -> LabelledPart | None:
        """Returns the rows with numbers in place of documents, or None where one needs a closer look."""
        return labelled_part(list(map(self.settle, rows)), lines, self.fields, documents)

    def shorter(self, rows: list[Row]) -> None:
        """Rows with lists of documents have none."""

    def each(self, block: Block | Ready, gathering: Gathering) -> Iterator[tuple[int, Row]]:
        """Yields ``(line, row)``, with numbers in place of documents where nothing needed a closer look."""
        findings = gathering.findings
        if isinstance(block, Ready):
            assert isinstance(block.found, LabelledPart)
            findings.object_documents = True
            yield from Block(block.found.lines, block.found.with_docs()).each(findings)
            return
        part = self.part(block.rows, block.lines, gathering.documents)
        if part is None:
            block.rows = list(map(self.settle, block.rows))
        else:
            findings.object_documents = True
            block.rows = part.with_docs()
        yield from block.each(findings)


def labelled_rows(
    path: str | os.PathLike[str],
    gathering: Gathering,
    work: LabelledWork,
    *,
    columns: Mapping[str, str] | None,
    workers: int | None,
) -> Iterator[tuple[int, Row]]:
    """Yields ``(line, row)`` of a table, with numbers in place of documents where nothing needs a closer look."""
    blocks = blocks_ahead(
        path, gathering.findings, work, gathering.documents, columns=columns, workers=workers
    )
    for block in blocks:
        yield from work.each(block, gathering)


def passage_fields(instruction: str) -> list[tuple[str, int]]:
    """Returns the fields of Tevatron's and Promptriever's rows with their kinds, the positives first.

    ``new_negatives`` fail the instruction alone, where there is one.
    """
    hard = INSTRUCTION_NEGATIVE if instruction else NEGATIVE
    return [
        ("positive_passages", POSITIVE),
        ("new_negatives", hard),
        ("negative_passages", NEGATIVE),
    ]


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
    for name, kind in fields:
        if kind == POSITIVE:
            gathering.positive_field = name
        else:
            gathering.negative_field = name
        numbers, why = _numbers(gathering, row.get(name), name, line, bare)
        if kind == POSITIVE:
            reason = reason or why
            positives.update(numbers)
        elif not positives.isdisjoint(numbers):
            numbers = _without(positives, numbers, gathering, name, line)
        gathering.judgements.add_alike(view, numbers, kind, line)
    if not positives:
        gathering.because(topic, lacking(reason, "positive"))


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
