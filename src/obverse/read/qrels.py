"""Relevance judgements: BEIR's TSV with a header, and TREC's four columns."""

from __future__ import annotations

import os
from collections.abc import Iterator

from obverse.files import read_lines
from obverse.read.faults import TO_UTF8, Findings

Judgement = tuple[int, str, str, int]
"""``(line, query_id, doc_id, grade)``."""


def qrels_rows(path: str | os.PathLike[str], findings: Findings) -> Iterator[Judgement]:
    """Yields the judgements of a qrels file: ``query-id corpus-id score`` or ``query 0 doc grade``.

    Ids stay the strings they are. Grades such as 2.0 are whole numbers; 0.5 is none, and is refused.
    """
    findings.file = os.fspath(path)
    empty = True
    for line, raw in read_lines(path, findings.lines):
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            what = f"byte {error.start + 1} is not UTF-8"
            fix = TO_UTF8
            findings.wrong("not_utf8", line, None, what, fix)
            continue
        fields = text.split("\t")
        if len(fields) == 1 and raw.count(b",") in (2, 3):
            fields = text.split(",")
        if len(fields) < 3:
            fields = text.split()
        if len(fields) == 4:
            query_id, _, doc_id, grade = fields
        elif len(fields) == 3:
            query_id, doc_id, grade = fields
        else:
            findings.wrong(
                "ragged_row",
                line,
                None,
                f"has {len(fields)} fields instead of 3 or 4",
                "Write query-id, corpus-id, score",
            )
            continue
        found = whole_grade(grade)
        if found is None and line == 1 and not any(c.isdigit() for c in grade):
            continue  # the header
        if found is None:
            findings.wrong(
                "bad_grade",
                line,
                "score",
                f"the grade {grade.strip()!r} is no whole number",
                "Give whole grades: 0, 1, 2",
            )
            continue
        if found < 0:
            findings.note("negative_grade", line, "score", f"{found} read as not relevant")
        empty = False
        yield line, query_id, doc_id, found
    findings.close_lines()
    if empty and findings.counts.keys().isdisjoint(("bad_grade", "ragged_row", "not_utf8")):
        findings.wrong(
            "empty_file", None, None, "holds no judgement", "Write query-id, corpus-id, score"
        )


def whole_grade(text: str) -> int | None:
    """Returns a grade as a whole number, or None where it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if value == value and abs(value) < 1e9 and value == int(value) else None
