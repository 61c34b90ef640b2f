"""Triplets and n-tuples as users of sentence-transformers have them: anchor, positive, negative(s).

Columns: ``query`` (or ``anchor``), ``positive`` (or ``positives``), ``negative``, ``negatives`` or
``negative_1 ... negative_n``, and ``instruction`` if there is one. Rows of one query become one topic.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from obverse.read.faults import Findings
from obverse.read.gathering import NEGATIVE, POSITIVE, Gathering
from obverse.read.passages import passages
from obverse.read.query_rows import instruction_of, start_row
from obverse.read.rows import rows
from obverse.records import Topic

_POSITIVE = re.compile(r"(pos|positives?)(_\d+)?|sentence2")
_NEGATIVE = re.compile(r"(neg|negatives?)(_\d+)?|sentence3")
_SINGULAR = re.compile(r"(positive|negative)(_\d+)?|sentence\d")


def read_triplets(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    columns: Mapping[str, str] | None = None,
    quoting: str = "guess",
) -> Iterator[Topic]:
    """Yields the topics of a file of triplets or n-tuples (JSON Lines, CSV, TSV, Parquet)."""
    gathering = Gathering(findings, "triplets")
    for line, row in rows(path, findings, columns=columns, quoting=quoting):
        topic = start_row(gathering, line, row)
        if topic is not None:
            view = gathering.view(topic, instruction_of(row, line, findings))
            add_triplet(gathering, topic, view, line, row)
    yield from gathering.topics()


def add_triplet(
    gathering: Gathering, topic: int, view: int, line: int, row: dict[str, Any]
) -> None:
    """Adds the positives and negatives of one row to a view."""
    reason: str | None = None
    positives: set[int] = set()
    for kind, pattern in ((POSITIVE, _POSITIVE), (NEGATIVE, _NEGATIVE)):
        for field in row:
            if not pattern.fullmatch(field):
                continue
            value = row[field]
            bare = isinstance(value, list) or _SINGULAR.fullmatch(field) is not None
            found, why = passages(value, field, line, gathering.findings, bare=bare)
            if kind == POSITIVE:
                reason = reason or why
            for passage, _ in found:
                number = gathering.documents.number(passage, line, field)
                if kind == POSITIVE:
                    positives.add(number)
                elif number in positives:
                    gathering.findings.note(
                        "positive_among_negatives", line, field, f"document {passage[0]!r}"
                    )
                    continue
                gathering.judge(view, number, kind, line)
    if not positives:
        gathering.because(topic, f"{reason} positive" if reason else "no positive")
