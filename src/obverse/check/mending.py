"""A mended copy of a file: what reading would skip, guess or set aside is settled, and every change is said."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from obverse.check.mended_rows import FORMS, Row, RowMender, mended_document
from obverse.errors import InputError, SettingError
from obverse.files import to_json, whole_file, write_topics
from obverse.log import say
from obverse.read import read
from obverse.read.faults import Findings
from obverse.read.formats import guess
from obverse.read.half_pairs import without_half_pairs
from obverse.read.hugging_face import is_hugging_face
from obverse.read.ir_data import PREFIX
from obverse.read.qrels import qrels_rows
from obverse.read.rows import rows, table_kind
from obverse.records import Topic, topic_from_json, topic_to_json
from obverse.stages import say_replaced
from obverse.write.tables import within_commas, within_tabs

_LINES = {
    "byte_order_mark": "byte-order marks removed",
    "crlf": "line ends CR LF made LF",
    "blank_line": "blank lines removed",
    "not_a_number": "NaN made null",
    "bad_json": "rows that are no JSON left out",
    "not_an_object": "rows that are no object left out",
    "not_utf8": "rows that are not UTF-8 left out",
    "ragged_row": "rows with the wrong number of fields left out",
    "duplicate_key": "keys that stood twice written once, as the last one says",
}

_MADE: dict[str, tuple[str, ...]] = {
    "JSON Lines": (".jsonl", ".json", ".ndjson"),
    "TSV or CSV": (".tsv", ".csv", ".tab"),
    "JSON Lines or Parquet": (".jsonl", ".json", ".ndjson", ".parquet"),
}
"""What a copy is written as, and what it may be called; other suffixes say nothing."""

_TABLE = re.compile(r"\.(jsonl?|ndjson|csv|tsv|parquet)(\.(gz|zst))?$")


def mend(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    quoting: str = "guess",
) -> Counter[str]:
    """Writes a mended copy of a file and returns what was changed, counted; each change is said on stderr.

    Rows stay rows and keep their other keys. JSON stays JSON Lines, a table stays a table (CSV where the copy's name
    says so, else TSV), topics stay topics.
    Columns that were mapped have obverse's names.

    Raises:
        SettingError: If the source is no file, or the copy cannot be called so, or would replace the source.
    """
    refuse_unmendable(source, out, format=format, columns=columns)
    say_replaced(out)
    changes: Counter[str] = Counter()
    findings = Findings(collect=True)
    form = format or guess(source, dict(columns or {}))[0]
    if form == "msmarco":
        raise SettingError(
            "--fix needs a first line that names the columns",
            where=os.fspath(source),
            fix="Write one: query, positive, negative",
        )
    if form == "topics":
        topics = read(source, "topics", findings=findings)
        left = write_topics(out, (_speakable(topic, changes) for topic in topics))
        changes["topics left out"] = findings.rows - findings.usable
    elif form == "qrels":
        left = _write_table(out, _judgements(source, findings, changes), changes)
    else:
        cells = _is_table(source)
        found = partial(rows, source, columns=columns, quoting=quoting)
        made = _settled(found, form, findings, changes, cells=cells)
        whole = (_whole(row, changes) for row in made)
        left = _write_table(out, whole, changes) if cells else _write_json(out, whole)
    for code, what in _LINES.items():
        if findings.counts[code]:
            changes[what] += findings.counts[code]
    changes = +changes
    for what, count in changes.most_common():
        say(f"fix: {count:,} {what}")
    how = "" if changes else "; nothing had to be changed"
    say(f"fix: {os.fspath(out)} written, {left:,} rows" + (how if left else "; none could be kept"))
    if columns:
        say(f"fix: its columns have obverse's names ({', '.join(columns)}): read it without --map")
    return changes


def refuse_unmendable(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> None:
    """Raises what is wrong with asking for a mended copy, before anything is read.

    Raises:
        SettingError: If the source is no file, or the copy is standard output, has the name of what it will not
            be, or would replace the source.
    """
    name = os.fspath(source)
    if os.fspath(out) == "-":
        raise SettingError(
            "--fix writes to a file, not to standard output",
            fix="The report goes there; name a file, and check it: --fix mended.jsonl",
        )
    if Path(source).is_dir():
        files = sorted(str(file) for file in Path(source).rglob("*") if _TABLE.search(file.name))
        raise SettingError(
            "--fix mends single files, and this is a folder",
            where=name,
            fix=f"Mend its files one by one: obverse check {files[0]} --fix OUT, and so on"
            if files
            else "It holds no JSON Lines, CSV, TSV or Parquet file",
        )
    if name == "-" or is_hugging_face(name) or name.startswith(PREFIX):
        raise SettingError(
            "--fix mends files alone", where=name, fix="Save the rows to a file first"
        )
    if Path(out).resolve() == Path(source).resolve():
        raise SettingError("--fix would replace the source", fix="Give another name")
    with contextlib.suppress(InputError):  # what cannot be read, the check says
        _refuse_name(out, format or guess(source, dict(columns or {}))[0], source)


def _refuse_name(out: str | os.PathLike[str], form: str, source: str | os.PathLike[str]) -> None:
    """Raises what is wrong with the name of a copy: a suffix of what it will not be."""
    if form == "topics":
        made = "JSON Lines or Parquet"
    elif form == "qrels" or _is_table(source):
        made = "TSV or CSV"
    else:
        made = "JSON Lines"
    suffix = Path(_plain_name(out)).suffix
    if suffix not in _MADE[made] and suffix in chain.from_iterable(_MADE.values()):
        raise SettingError(
            f"--fix writes this source as {made}, which is not called {suffix}",
            where=os.fspath(out),
            fix=f"Let its name end in {_MADE[made][0]}",
        )


def is_quoted(out: str | os.PathLike[str]) -> bool:
    """Whether a copy's name says CSV, which is quoted where it must be."""
    return _plain_name(out).endswith(".csv")


def _plain_name(out: str | os.PathLike[str]) -> str:
    return os.fspath(out).lower().removesuffix(".gz").removesuffix(".zst")


def _is_table(source: str | os.PathLike[str]) -> bool:
    return table_kind(source) not in ("json", "parquet")


def _whole(row: Any, changes: Counter[str]) -> Any:
    """Returns a row with U+FFFD for each half of a surrogate pair."""
    made, count = without_half_pairs(row)
    changes["texts with half of a surrogate pair given U+FFFD for it"] += count
    return made


def _speakable(topic: Topic, changes: Counter[str]) -> Topic:
    row = topic_to_json(topic)
    made = _whole(row, changes)
    return topic_from_json(made) if made != row else topic


def _write_json(out: str | os.PathLike[str], found: Iterator[Row]) -> int:
    count = 0
    with whole_file(out) as stream:
        for row in found:
            count += 1
            stream.write(to_json(_plain(row)) + b"\n")
    return count


def _plain(value: Any) -> Any:
    """Returns a value of Parquet, which may be a date, a decimal or bytes, as JSON can hold it."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _write_table(out: str | os.PathLike[str], found: Iterator[Row], changes: Counter[str]) -> int:
    names, count, quoted = list[str](), 0, is_quoted(out)
    with whole_file(out) as stream:
        for row in found:
            count += 1
            if not names:
                names = list(row)
                line = within_commas(names) if quoted else "\t".join(names)
                stream.write((line + "\n").encode())
            cells = [_cell(row.get(name)) for name in names]
            fields = cells if quoted else within_tabs(cells)
            changes["tabs and line ends inside fields made blanks"] += fields != cells
            line = within_commas(fields) if quoted else "\t".join(fields)
            stream.write((line + "\n").encode())
    return count


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return to_json(value).decode()
    return "" if value is None else str(value)


def _settled(
    found: Callable[[Findings], Iterator[tuple[int, Row]]],
    form: str,
    findings: Findings,
    changes: Counter[str],
    *,
    cells: bool,
) -> Iterator[Row]:
    """Yields the rows as they should be; they are read twice, as many rows together say what answers a query."""
    if form not in FORMS:
        if form != "corpus":
            say(f"fix: lines are mended; rows of the format {form} are written as they are")
        for _, row in found(findings):
            settled = mended_document(row, changes) if form == "corpus" else row
            if settled is not None:
                yield settled
        return
    mender = RowMender(form, changes, cells=cells)
    for _, row in found(Findings(collect=True)):
        mender.see(row)
    for _, row in found(findings):
        settled = mender.settled(row, findings.raw)
        if settled is not None:
            yield settled


def _judgements(
    source: str | os.PathLike[str], findings: Findings, changes: Counter[str]
) -> Iterator[Row]:
    for _, query_id, doc_id, grade in qrels_rows(source, findings):
        yield {"query-id": query_id, "corpus-id": doc_id, "score": grade}
    changes["judgements whose grade is no whole number left out"] += findings.counts["bad_grade"]
