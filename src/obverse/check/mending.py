"""A mended copy of a file: what reading would skip, guess or set aside is settled, and every change is said."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from obverse.errors import SettingError
from obverse.files import to_json, whole_file, write_topics
from obverse.identity import text_uid
from obverse.log import say
from obverse.read import read
from obverse.read.clicks import CLICKED_KEYS, IMPRESSION_KEYS, SHOWN_KEYS
from obverse.read.faults import Findings
from obverse.read.formats import guess
from obverse.read.hugging_face import is_hugging_face
from obverse.read.ir_data import PREFIX
from obverse.read.passages import ID_KEYS, TEXT_KEYS
from obverse.read.query_rows import ID_KEYS as QUERY_ID_KEYS
from obverse.read.query_rows import query_of
from obverse.read.rows import rows, table_kind

_LINES = {
    "byte_order_mark": "byte-order marks removed",
    "crlf": "line ends CR LF made LF",
    "blank_line": "blank lines removed",
    "not_a_number": "NaN made null",
    "bad_json": "rows that are no JSON left out",
    "not_an_object": "rows that are no object left out",
    "not_utf8": "rows that are not UTF-8 left out",
    "ragged_row": "rows with the wrong number of fields left out",
}

_TABLE = re.compile(r"\.(jsonl?|ndjson|csv|tsv|parquet)(\.(gz|zst))?$")


def mend(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Counter[str]:
    """Writes a mended copy of a file and returns what was changed, counted; each change is said on stderr.

    Rows stay rows and keep their other keys. JSON stays JSON Lines, a table stays a table, topics stay topics.

    Raises:
        SettingError: If the source is no file, or the copy would replace the source.
    """
    refuse_unmendable(source, out)
    changes: Counter[str] = Counter()
    findings = Findings(collect=True)
    form = format or guess(source, dict(columns or {}))[0]
    if form == "topics":
        write_topics(out, read(source, "topics", findings=findings))
        changes["topics left out"] = findings.rows - findings.usable
    elif table_kind(source) in ("json", "parquet"):
        _write_json(out, rows(source, findings, columns=columns), form, changes)
    else:
        _write_table(out, rows(source, findings, columns=columns), form, changes)
    for code, what in _LINES.items():
        if findings.counts[code]:
            changes[what] += findings.counts[code]
    changes = +changes
    for what, count in changes.most_common():
        say(f"fix: {count:,} {what}")
    say(f"fix: {os.fspath(out)} written" + ("" if changes else "; nothing had to be changed"))
    return changes


def refuse_unmendable(source: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    """Raises what is wrong with asking for a mended copy, before anything is read.

    Raises:
        SettingError: If the source is no file, or the copy would replace the source.
    """
    name = os.fspath(source)
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
    if os.fspath(out) != "-" and Path(out).resolve() == Path(source).resolve():
        raise SettingError("--fix would replace the source", fix="Give another name")


def _write_json(
    out: str | os.PathLike[str],
    found: Iterator[tuple[int, dict[str, Any]]],
    form: str,
    changes: Counter[str],
) -> None:
    settle = mended_row if form in ("clicks", "triplets") else _mended_document
    with whole_file(out) as stream:
        for _, row in found:
            settled = settle(row, changes)
            if settled is not None:
                stream.write(to_json(settled) + b"\n")


def _write_table(
    out: str | os.PathLike[str],
    found: Iterator[tuple[int, dict[str, Any]]],
    form: str,
    changes: Counter[str],
) -> None:
    names: list[str] | None = None
    blank: Callable[[dict[str, Any]], bool] = (
        _no_text if form == "corpus" else lambda row: not str(query_of(row) or "").strip()
    )
    with whole_file(out) as stream:
        for _, row in found:
            if names is None:
                names = list(row)
                stream.write(("\t".join(names) + "\n").encode())
            if blank(row):
                changes["rows with a blank text left out"] += 1
                continue
            fields = [str(row.get(name) if row.get(name) is not None else "") for name in names]
            if any("\t" in field or "\n" in field for field in fields):
                changes["tabs and line ends inside fields made blanks"] += 1
                fields = [field.replace("\t", " ").replace("\n", " ") for field in fields]
            stream.write(("\t".join(fields) + "\n").encode("utf-8", "surrogatepass"))


def mended_row(row: dict[str, Any], changes: Counter[str]) -> dict[str, Any] | None:
    """Returns a click or triplet row as it should be, or None where it cannot be used."""
    query = query_of(row)
    if not isinstance(query, str) or not query.strip():
        changes["rows without a query left out"] += 1
        return None
    row = dict(row)
    for key in QUERY_ID_KEYS:
        if key in row:
            row[key] = _string_id(row[key], changes)
    impressions = next((key for key in IMPRESSION_KEYS if key in row), None)
    if impressions is not None:
        row[impressions] = _list(row[impressions], changes)
        if not any(isinstance(item, dict) and item.get("clicked") for item in row[impressions]):
            changes["rows without a positive left out"] += 1
            return None
        return row
    clicked = next((key for key in CLICKED_KEYS if key in row), None)
    if clicked is None or isinstance(row[clicked], (bool, int, float)):
        return row
    row[clicked] = _list(row[clicked], changes)
    if not row[clicked]:
        changes["rows without a positive left out"] += 1
        return None
    shown = next((key for key in SHOWN_KEYS if key in row), None)
    if shown is not None:
        texts = {_uid(item) for item in row[clicked]}
        kept = [item for item in _list(row[shown], changes) if _uid(item) not in texts]
        changes["negatives with the text of a positive removed"] += len(
            _list(row[shown], Counter())
        ) - len(kept)
        row[shown] = kept
    return row


def _list(value: Any, changes: Counter[str]) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        changes["single values put into lists"] += 1
        value = [value]
    kept = []
    for item in value:
        made = {"text": item} if isinstance(item, str) else item
        changes["strings made documents"] += isinstance(item, str)
        settled = _mended_document(made, changes) if isinstance(made, dict) else None
        if settled is not None:
            kept.append(settled)
        elif not isinstance(made, dict):
            changes["documents of no known form removed"] += 1
    return kept


def _mended_document(row: dict[str, Any], changes: Counter[str]) -> dict[str, Any] | None:
    if _no_text(row):
        changes["blank documents removed"] += 1
        return None
    row = dict(row)
    for key in ID_KEYS:
        if key in row:
            row[key] = _string_id(row[key], changes)
    return row


def _no_text(row: dict[str, Any]) -> bool:
    texts = [row.get(key) for key in (*TEXT_KEYS, "title")]
    return not any(isinstance(text, str) and text.strip() for text in texts)


def _string_id(value: Any, changes: Counter[str]) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    changes["number ids made strings"] += 1
    return str(int(value)) if value == int(value) else repr(value)


def _uid(item: dict[str, Any]) -> int:
    title = item.get("title") or ""
    text = next((item[key] for key in TEXT_KEYS if isinstance(item.get(key), str)), "")
    return text_uid(f"{title} {text}" if title else text)
