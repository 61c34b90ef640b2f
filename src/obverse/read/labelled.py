"""Adds the documents of labelled fields to a view; shared by the readers of rows that label documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from obverse.read.gathering import POSITIVE, Gathering
from obverse.read.passages import passages


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
    findings = gathering.findings
    reason: str | None = None
    positives: set[int] = set()
    for field, kind in fields:
        if kind == POSITIVE:
            gathering.positive_field = field
        else:
            gathering.negative_field = field
        found, why = passages(row.get(field), field, line, findings, bare=bare)
        if kind == POSITIVE:
            reason = reason or why
        for passage, _ in found:
            number = gathering.documents.number(passage, line, field)
            if kind == POSITIVE:
                positives.add(number)
            elif number in positives:
                findings.note("positive_among_negatives", line, field, f"document {passage[0]!r}")
                continue
            gathering.judge(view, number, kind, line)
    if not positives:
        gathering.because(topic, f"{reason} positive" if reason else "no positive")
