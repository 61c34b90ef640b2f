"""What is wrong with data, by file and line, before anything is spent on it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from obverse.check.inspection import Inspection, Limits
from obverse.errors import InputError
from obverse.identity import text_uid
from obverse.read import on_disk, read, refuse_strange, said_guess, topics_of
from obverse.read.corpus import read_corpus_rows
from obverse.read.faults import FAULTS, Findings, Severity
from obverse.read.formats import NoRows, guess
from obverse.read.gathering import Gathering
from obverse.read.qrels import qrels_rows
from obverse.read.rows import rows
from obverse.records import Topic


def check(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    min_candidates: int = 2,
    encoder: str | None = None,
    max_tokens: int | None = None,
    against: Iterable[str | os.PathLike[str]] = (),
    apart_from: Iterable[str | os.PathLike[str]] = (),
    **options: Any,
) -> Findings:
    """Returns what is wrong with a source, in one pass, every fault with a fixed code and ten examples.

    Args:
        path: A file or folder of any known format, or a table of documents.
        format: Its format; guessed if left out.
        columns: The file's columns under obverse's names.
        min_candidates: Fewer documents than this are reported for a topic.
        encoder: Whose token limit documents are measured against.
        max_tokens: The limit in tokens; by default the encoder's own.
        against: Benchmarks whose queries and documents must not be in the data.
        apart_from: Other splits of the same data, which must share no query and no positive document with it.
        **options: What the format's reader takes.

    Raises:
        InputError: If the source is missing; everything else is a finding.
    """
    findings = Findings(collect=True, file=os.fspath(path))
    limits = Limits(min_candidates, *_tokens(encoder, max_tokens))
    inspection = Inspection(findings, limits)
    findings.inspector = inspection
    against, apart_from = list(against), list(apart_from)
    for other in against:
        inspection.leaks |= known_texts(other)
    with on_disk(path, findings) as source:
        _inspect(source, format, findings, columns, apart_from, options)
    inspection.close()
    return findings


def _inspect(
    path: str | os.PathLike[str],
    format: str | None,
    findings: Findings,
    columns: Mapping[str, str] | None,
    apart_from: Iterable[str | os.PathLike[str]],
    options: dict[str, Any],
) -> None:
    try:
        form = format or _guess(path, dict(columns or {}), findings)
        if form == "corpus":
            refuse_strange(options, form, read_corpus_rows)
            for _ in read_corpus_rows(path, findings, columns=columns, **options):
                pass
        elif form == "qrels":
            refuse_strange(options, form, qrels_rows)
            for _ in qrels_rows(path, findings):
                findings.rows += 1
                findings.usable += 1
        elif form is not None:
            apart = {uid: name for other in apart_from for uid, name in known_texts(other).items()}
            topics = topics_of(path, form, findings, columns, options)
            if isinstance(topics, Gathering) and not apart:
                for _ in topics.parts():
                    pass  # the inspector looks at them
            else:
                for topic in topics:
                    _apart(topic, apart, findings)
    except InputError as error:
        if error.code is None:  # there is nothing to look at
            raise
        findings.close_lines()
        _note_stop(error, error.code, findings)
    if findings.rows and not findings.usable:
        _note_unusable(findings)


_PLACE = re.compile(r"(?P<file>.*):(?P<line>\d+)(, (?P<field>.+))?", re.DOTALL)


def _note_stop(error: InputError, code: str, findings: Findings) -> None:
    """Notes what stops every read, at its place and with what to do about it."""
    before, said = findings.file, error.where or findings.file
    place = _PLACE.fullmatch(said)
    findings.file = place["file"] if place else said
    line = int(place["line"]) if place else None
    field = place["field"] if place else None
    findings.note(code, line, field, f"{error.what}; {error.fix}" if error.fix else error.what)
    findings.file = before


def _note_unusable(findings: Findings) -> None:
    """Notes that a read will end without a topic, and why, if there is one reason for all rows."""
    if findings.counts["missing_query_text"] == findings.rows:
        message = "no row has a query; name its column: --map query=..."
        findings.note("missing_column", None, "query", message)
    else:
        reasons = ", ".join(f"{n:,} {why}" for why, n in findings.drops.by_reason.most_common())
        message = f"not one row can be used ({reasons or 'see the other faults'})"
        findings.note("nothing_usable", None, None, message)


def to_json(findings: Findings) -> dict[str, Any]:
    """Returns the findings as ``obverse check --json`` prints them."""
    return {
        "rows": findings.rows,
        "usable": findings.usable,
        "faults": [
            {
                "code": code,
                "severity": str(FAULTS[code].severity),
                "count": count,
                "examples": [example.to_json() for example in findings.examples[code]],
            }
            for code, count in findings.worst_first()
        ],
    }


def worst(findings: Findings) -> Severity | None:
    """Returns the worst severity found, or None where nothing was."""
    found = {FAULTS[code].severity for code in findings.counts}
    return next((severity for severity in Severity if severity in found), None)


def as_bad_as(findings: Findings, least: Severity) -> dict[str, int]:
    """Returns the codes and counts of the faults that are at least so bad, the worst first."""
    kinds = list(Severity)
    counted = kinds[: kinds.index(least) + 1]
    return {code: n for code, n in findings.worst_first() if FAULTS[code].severity in counted}


_COUNTED = {
    Severity.ERROR: ("error", "errors"),
    Severity.WARNING: ("error or warning", "errors or warnings"),
    Severity.NOTE: ("fault", "faults"),
}


def said_of_copy(findings: Findings, least: Severity) -> str:
    """Returns the line that says what a mended copy still has of the faults that are at least so bad."""
    left = as_bad_as(findings, least)
    one, many = _COUNTED[least]
    if not left:
        return f"the copy has no {one} left"
    count = sum(left.values())
    what = f"1 {one} is" if count == 1 else f"{count:,} {many} are"
    return f"{what} left in the copy: {', '.join(left)}"


def report(findings: Findings) -> list[str]:
    """Returns the findings as lines for a person: per fault count, share, what it is, what is done, examples."""
    rows = max(1, findings.rows)
    lines = [*findings.said, f"{findings.rows:,} rows, {findings.usable:,} usable"]
    for code, count in findings.worst_first():
        kind = FAULTS[code]
        lines.append("")
        lines.append(
            f"{kind.severity}  {code}  {count:,} ({_share(count, rows)}): {kind.means}; {kind.done}"
        )
        for example in findings.examples[code]:
            place = example.file if example.line is None else f"{example.file}:{example.line}"
            field = f" {example.field}" if example.field else ""
            lines.append(f"    {place}{field}: {example.message}")
    if not findings.counts:
        lines.append("nothing is wrong with it")
    return lines


def _share(count: int, rows: int) -> str:
    return f"{count / rows:.1%} of rows" if count <= rows else f"{count / rows:.1f} a row"


def known_texts(path: str | os.PathLike[str]) -> dict[int, str]:
    """Returns the content hashes of a data set's queries and positive documents, with its name."""
    name, quiet = os.fspath(path), Findings(collect=True)
    known: dict[int, str] = {}
    options: dict[str, Any] = {}
    form, _ = guess(path)
    if form == "beir":
        options["split"] = "test"
    for topic in read(path, form, findings=quiet, **options):
        for text in _telling_texts(topic):
            known[text_uid(text)] = name
    return known


def _telling_texts(topic: Topic) -> Iterator[str]:
    yield topic.query
    positive = {doc_id for view in topic.views for doc_id in view.positives}
    for doc in topic.docs:
        if doc.doc_id in positive:
            yield f"{doc.title} {doc.text}" if doc.title else doc.text


def _apart(topic: Topic, apart: dict[int, str], findings: Findings) -> None:
    for number, text in enumerate(_telling_texts(topic) if apart else ()):
        other = apart.get(text_uid(text))
        if other is not None:
            what = "query" if number == 0 else "positive document"
            findings.note(
                "split_leak",
                None,
                what,
                f"topic {topic.topic_id!r}: its {what} {text[:50]!r} is in {other}",
            )


def _guess(path: str | os.PathLike[str], columns: dict[str, str], findings: Findings) -> str | None:
    try:
        form, why = guess(path, columns)
    except NoRows:
        for _ in rows(path, findings, columns=columns):
            pass  # every broken row is noted, and that there is no other
        return None
    findings.said.append(said_guess(path, form, why, findings))
    return form


def _tokens(encoder: str | None, max_tokens: int | None) -> tuple[int, Any]:
    if encoder is None:
        return 0, None
    from obverse.models import load_encoder

    loaded = load_encoder(encoder, max_tokens=max_tokens)
    return loaded.max_tokens, loaded.count_tokens


__all__ = ["as_bad_as", "check", "known_texts", "report", "said_of_copy", "to_json", "worst"]
