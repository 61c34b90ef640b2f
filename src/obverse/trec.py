"""Runs, judgements and queries as the field writes them: TREC run lines, qrels (TREC, BEIR), queries.jsonl.

Ids are strings, always: ``007`` and ``7`` are two documents. Nothing is quoted or unquoted.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from obverse.errors import InputError
from obverse.files import read_json_lines, read_lines, whole_file
from obverse.records import Ask, Run

_ASCII = " \t\r\n\f\v"
_BLANKS = re.compile(f"[{_ASCII}]+")  # a no-break space may belong to an id
_HEADS = {"query-id", "query_id", "qid", "query", "q-id", "topic"}


@dataclass(slots=True)
class RunFile:
    """A run file as read.

    Attributes:
        run: Scores by query and document, in the order of the file.
        by_rank: Document ids by query, in the order of the rank column.
        tags: The names in the last column.
        notes: What was odd: repeated lines, infinite scores, ranks that contradict scores.
    """

    run: dict[str, dict[str, float]]
    by_rank: dict[str, list[tuple[int, str]]]
    tags: set[str] = field(default_factory=set)
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class QrelsFile:
    """A judgements file as read, with what was odd."""

    qrels: dict[str, dict[str, int]]
    notes: dict[str, Any] = field(default_factory=dict)


def read_run(path: str | os.PathLike[str]) -> RunFile:
    """Returns a run from TREC lines ``query Q0 doc rank score tag``, or MS MARCO lines ``query doc rank``.

    A line that repeats another exactly in query, document and score is read once and counted; a document that
    stands twice with different scores is refused, as trec_eval refuses it. Infinite scores stand above or below all
    others and tie among themselves; they are named. Scores decide, as in trec_eval; queries whose rank column says
    otherwise are named. Lines of three columns carry no score: the rank stands in for it, negated. Columns are parted
    by tabs or by blanks; ids with blanks in them need tabs.

    Raises:
        InputError: With file and line, for a line of another form, a score that is no number or NaN, a rank that is
            no whole number, or a document that stands twice.
    """
    name = os.fspath(path)
    found = RunFile({}, {})
    lines: dict[tuple[str, str], int] = {}
    odd: dict[str, list[Any]] = {"repeated_lines": [], "infinite_scores": []}
    for number, columns in _columns(name):
        where = f"{name}:{number}"
        query_id, doc_id, rank, score, tag = _run_line(columns, where)
        if tag:
            found.tags.add(tag)
        scores = found.run.setdefault(query_id, {})
        if doc_id in scores:
            if scores[doc_id] != score:
                raise InputError(
                    f"document {doc_id!r} of query {query_id!r} has the score {score:g}, and {scores[doc_id]:g} "
                    f"in line {lines[query_id, doc_id]}",
                    where=where,
                    fix="Keep one of the two lines",
                )
            odd["repeated_lines"].append(number)
            continue
        if math.isinf(score):
            odd["infinite_scores"].append(number)
        scores[doc_id] = score
        lines[query_id, doc_id] = number
        found.by_rank.setdefault(query_id, []).append((rank, doc_id))
    if not found.run:
        raise InputError(
            "holds no line", where=name, fix="A run has lines: query Q0 doc rank score tag"
        )
    odd["ranks_against_scores"] = [q for q in found.run if _ranks_contradict(found, q)]
    found.notes.update({key: rows for key, rows in odd.items() if rows})
    return found


def _ranks_contradict(file: RunFile, query_id: str) -> bool:
    """Whether a better rank has a lower score; equal scores may stand in any order."""
    scores = file.run[query_id]
    ordered = [scores[doc_id] for _, doc_id in sorted(file.by_rank[query_id])]
    return any(score < after for score, after in pairwise(ordered))


def _run_line(columns: list[str], where: str) -> tuple[str, str, int, float, str]:
    if len(columns) == 6:
        query_id, _, doc_id, rank, score, tag = columns
    elif len(columns) == 3:
        query_id, doc_id, rank = columns
        score, tag = f"-{rank}", ""
    else:
        raise InputError(
            f"has {len(columns)} columns, not six",
            where=where,
            fix="A run line is: query Q0 doc rank score tag",
        )
    try:
        place = int(rank)
    except ValueError:
        raise InputError(
            f"the rank {rank!r} is no whole number", where=where, fix="Write 1, 2, 3, ..."
        ) from None
    value = _number(score, "score", where)
    if math.isnan(value):
        raise InputError(
            f"the score of document {doc_id!r} is NaN, which has no place in a ranking",
            where=where,
            fix="Mend the scores, or take the line away",
        )
    return query_id, doc_id, place, value, tag


def read_qrels(path: str | os.PathLike[str]) -> QrelsFile:
    """Returns judgements from TREC lines ``query 0 doc grade`` or BEIR lines ``query-id corpus-id score``.

    Strict, because a measure over a part of the judgements would be a wrong number: the first fault stops.
    :mod:`obverse.read.qrels` reads the same files to list all their faults, for ``check`` and ``read``.

    A first line of column names is passed over. ``2.0`` is read as 2; negative grades stay, mean "not relevant" and
    are named. An equal judgement that stands twice is read once and counted.

    Raises:
        InputError: With file and line, for a line of another form, fractional grades (all their lines), or a
            document with two grades.
    """
    name = os.fspath(path)
    found = QrelsFile({})
    fractional: list[tuple[int, str]] = []
    repeated: list[int] = []
    lines: dict[tuple[str, str], int] = {}
    for place, (number, columns) in enumerate(_columns(name)):
        where = f"{name}:{number}"
        if place == 0 and columns[0].lower() in _HEADS and not _is_number(columns[-1]):
            continue
        query_id, doc_id, text = _qrels_line(columns, where)
        value = _number(text, "grade", where)
        if not value.is_integer():
            fractional.append((number, text))
            continue
        grades, grade = found.qrels.setdefault(query_id, {}), int(value)
        if grades.setdefault(doc_id, grade) != grade:
            raise InputError(
                f"document {doc_id!r} of query {query_id!r} has the grade {grade}, and {grades[doc_id]} in line "
                f"{lines[query_id, doc_id]}",
                where=where,
                fix="Keep one of the two lines",
            )
        if (query_id, doc_id) in lines:
            repeated.append(number)
        lines.setdefault((query_id, doc_id), number)
    if fractional:
        _refuse_fractions(name, fractional)
    if not found.qrels:
        raise InputError("holds no judgement", where=name, fix="Lines are: query 0 doc grade")
    if repeated:
        found.notes["repeated_judgements"] = repeated
    return found


def _qrels_line(columns: list[str], where: str) -> tuple[str, str, str]:
    if len(columns) == 4:
        return columns[0], columns[2], columns[3]
    if len(columns) == 3:
        return columns[0], columns[1], columns[2]
    raise InputError(
        f"has {len(columns)} columns, not three or four",
        where=where,
        fix="A judgement is: query 0 doc grade, or query-id corpus-id score",
    )


def _refuse_fractions(name: str, fractional: list[tuple[int, str]]) -> None:
    number, text = fractional[0]
    shown = ", ".join(str(line) for line, _ in fractional[:20])
    more = ", ..." if len(fractional) > 20 else ""
    raise InputError(
        f"the grade {text} is no whole number (fractional grades in line{'s' * (len(fractional) > 1)} {shown}{more})",
        where=f"{name}:{number}",
        fix="Multiply the grades until they are whole, or round them on purpose: they are never cut in silence",
    )


def read_queries(path: str | os.PathLike[str]) -> dict[str, Ask]:
    """Returns the queries of a ``queries.jsonl`` by id; keys ``_id`` (or ``query_id``), ``text``, ``instruction``.

    Raises:
        InputError: With file and line, if a row is no query or an id stands twice.
    """
    queries: dict[str, Ask] = {}
    name = os.fspath(path)
    for number, row in read_json_lines(path):
        where = f"{name}:{number}"
        query_id = row.get("_id", row.get("query_id")) if isinstance(row, dict) else None
        text = row.get("text", row.get("query")) if isinstance(row, dict) else None
        if not isinstance(query_id, str) or not isinstance(text, str):
            raise InputError(
                "is no query with the strings _id and text",
                where=where,
                fix='Write {"_id": "7", "text": "..."}',
            )
        instruction = row.get("instruction") or ""
        if not isinstance(instruction, str):
            raise InputError("should be a string", where=f"{where}, instruction", fix="Quote it")
        if query_id in queries:
            raise InputError(f"query {query_id!r} stands twice", where=where, fix="Keep one")
        queries[query_id] = Ask(query_id, text, instruction)
    if not queries:
        raise InputError("holds no query", where=name, fix="Write one query on each line")
    return queries


def write_run(path: str | os.PathLike[str], run: Run, tag: str) -> None:
    """Writes a run as tab-separated TREC lines, documents in the order of the run's mappings."""
    name = "_".join(tag.split()) or "obverse"
    with whole_file(path) as stream:
        for query_id, scores in run.items():
            lines = (
                f"{query_id}\tQ0\t{doc_id}\t{rank}\t{score!r}\t{name}\n"
                for rank, (doc_id, score) in enumerate(scores.items(), start=1)
            )
            stream.write("".join(lines).encode("utf-8", "surrogatepass"))


def _columns(name: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in read_lines(name):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(
                "is no UTF-8 text", where=f"{name}:{number}", fix="Write the file as UTF-8"
            ) from None
        tabbed = text.split("\t")
        yield number, tabbed if len(tabbed) in (3, 4, 6) else _BLANKS.split(text.strip(_ASCII))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str, what: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"the {what} {text!r} is no number", where=where, fix=f"Write the {what} as a number"
        ) from None


def merge_notes(*notes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns notes side by side; the lists of a phrase that stands in several are joined."""
    merged: dict[str, Any] = {}
    for each in notes:
        for key, value in each.items():
            both = isinstance(merged.get(key), list) and isinstance(value, list)
            merged[key] = merged[key] + value if both else value
    return merged
