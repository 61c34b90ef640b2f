"""Triplets and n-tuples as users of sentence-transformers have them: anchor, positive, negative(s).

Columns: ``query`` (or ``anchor``), ``positive`` (or ``positives``), ``negative``, ``negatives`` or
``negative_1 ... negative_n``, and ``instruction`` if there is one; or ``sentence1``, ``sentence2`` and a ``label``
of 1 or 0. Rows of one query become one topic.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from obverse.read.faults import Findings
from obverse.read.gathering import Gathering
from obverse.read.judgements import NEGATIVE, POSITIVE
from obverse.read.labelled import add_labelled
from obverse.read.query_rows import instruction_of, start_row
from obverse.read.rows import rows

_POSITIVE = re.compile(r"(pos|positives?)(_\d+)?|sentence2|answer")
_NEGATIVE = re.compile(r"(neg|negatives?)(_\d+)?|sentence3")


def read_triplets(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    columns: Mapping[str, str] | None = None,
    quoting: str = "guess",
) -> Gathering:
    """Returns the topics of a file of pairs, triplets or n-tuples (JSON Lines, CSV, TSV, Parquet)."""
    gathering = Gathering(findings, "triplets")
    for line, row in rows(path, findings, columns=columns, quoting=quoting):
        topic = start_row(gathering, line, row)
        if topic is None:
            continue
        view = gathering.view(topic, instruction_of(row, line, findings))
        fields = labelled_kinds(row, line, findings)
        strange = {field for field, _ in fields if field in LISTS and isinstance(row[field], str)}
        add_labelled(gathering, topic, view, line, row, fields, bare=not strange)
    return gathering


def labelled_kinds(row: Mapping[str, Any], line: int, findings: Findings) -> list[tuple[str, int]]:
    """Returns the row's fields of documents with their kinds; the label of a pair of sentences decides its kind."""
    said = next((key for key in _PAIR_LABELS if key in row), None)
    if "sentence2" in row and said is not None:
        kind = _pair_kind(row[said], said, line, findings)
        return [("sentence2", kind)] if kind is not None else []
    return labelled_fields(row)


def _pair_kind(value: Any, name: str, line: int, findings: Findings) -> int | None:
    """Returns what the label of a pair of sentences says, or None where it says neither, which is noted."""
    kind = _PAIRS.get(str(value).strip().lower())
    if kind is None:
        message = f"the label {value!r:.40} is neither 1 (answers) nor 0 (does not)"
        findings.note("bad_grade", line, name, message)
    return kind


_PAIR_LABELS = ("label", "labels", "score", "similarity_score")
_PAIRS = {"1": POSITIVE, "1.0": POSITIVE, "true": POSITIVE} | {
    "0": NEGATIVE,
    "0.0": NEGATIVE,
    "false": NEGATIVE,
}
LISTS = ("positives", "negatives", "pos", "neg")


def labelled_fields(row: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Returns the row's fields of documents with their kinds, the positives first."""
    positive = [(field, POSITIVE) for field in row if _POSITIVE.fullmatch(field)]
    return positive + [(field, NEGATIVE) for field in row if _NEGATIVE.fullmatch(field)]
