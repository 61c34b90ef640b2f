"""Click logs and impressions to topics: who clicked what, and which of the rest was really passed over.

Three shapes of rows: ``clicked`` and ``shown`` lists; an ``impressions`` list whose items say ``clicked`` and
``position``; and flat rows, one shown document each. Rows of one query become one topic.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from obverse.errors import SettingError
from obverse.read.ahead import blocks_ahead
from obverse.read.click_rules import ClickRule, Judging
from obverse.read.faults import Findings
from obverse.read.flat_rows import FlatRows, FlatWork, Numbering, session_name
from obverse.read.gathering import Gathering
from obverse.read.json_rows import Row
from obverse.read.judgements import CLICKED, LAST_POSITION, NO_POSITION, SHOWN
from obverse.read.passages import ID_KEYS, TEXT_KEYS, lacking, passages
from obverse.read.query_rows import ID_KEYS as QUERY_ID_KEYS
from obverse.read.query_rows import QUERY_KEYS, instruction_of, query_of, start_row

CLICKED_KEYS = ("clicked", "clicks", "positives", "positive", "pos")
SHOWN_KEYS = ("shown", "negatives", "negative", "neg", "not_clicked")
IMPRESSION_KEYS = ("impressions", "results")
_FLAT_NAMES = {
    "query": QUERY_KEYS,
    "topic_id": QUERY_ID_KEYS,
    "doc_id": ID_KEYS,
    "text": TEXT_KEYS,
    "title": ("title",),
    "clicked": CLICKED_KEYS,
    "lists": IMPRESSION_KEYS + SHOWN_KEYS,
    "position": ("position", "rank"),
    "session": ("session_id",),
    "time": ("timestamp", "time"),
}
RULES = ("auto", "examined", "all")
_YES = {"1", "true", "yes", "y", "t", "1.0"}
_NO = {"0", "false", "no", "n", "f", "", "0.0", "none", "null"}


def read_clicks(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    columns: Mapping[str, str] | None = None,
    quoting: str = "guess",
    rule: str = "auto",
    max_position: int | None = None,
    min_impressions: int = 1,
    merge: str = "query_id",
    workers: int | None = None,
) -> Gathering:
    """Returns the topics of a click log.

    Args:
        columns: The file's columns by obverse's names.
        quoting: Quotes in CSV and TSV: ``csv``, ``none``, ``guess``.
        rule: Which documents that were shown and not clicked are negatives: ``examined`` (those above the last
            click of their session), ``all``, or ``auto``: ``examined`` where there are positions, else ``all``.
        max_position: Impressions below this rank are left out (1 is the top).
        min_impressions: A negative must have been shown this often for the query.
        merge: ``query_id`` (rows without one: by the query's text) or ``query`` (always by the query's text).
        workers: Processes that work ahead on a large JSON Lines file; by default as many as there are processors,
            up to 4. They change nothing but the time.

    Raises:
        SettingError: If the rule needs positions and there are none.
    """
    if rule not in RULES:
        raise SettingError(f"unknown rule {rule!r}", fix=f"Use one of {', '.join(RULES)}")
    if merge not in ("query_id", "query"):
        raise SettingError(f"cannot merge by {merge!r}", fix="Use query_id or query")
    gathering = Gathering(findings, "clicks")
    sessions = Numbering()

    def long_way(line: int, row: Row) -> None:
        topic = start_row(gathering, line, row, by_query=merge == "query")
        if topic is None:
            return
        view = gathering.view(topic, instruction_of(row, line, findings))
        session = row.get("session_id")
        stamp = row.get("timestamp", row.get("time"))
        if stamp is not None and stamp != "":
            _note_time(gathering, topic, stamp, line)
        if isinstance(session, (list, dict)):
            findings.note("wrong_type", line, "session_id", f"an id cannot be {session!r:.40}")
            session = repr(session)
        number = 0 if session is None or session != session else sessions[session_name(session)]
        _add_row(gathering, topic, view, number, line, row)

    flat = FlatRows(gathering, _FLAT_NAMES, sessions, long_way)
    blocks = blocks_ahead(
        path,
        findings,
        FlatWork(_FLAT_NAMES),
        gathering.documents,
        columns=columns,
        quoting=quoting,
        workers=workers,
    )
    for block in blocks:
        flat.take(block)
    decided = _decide(rule, gathering, max_position, min_impressions)
    gathering.origin = decided.origin
    judging = Judging(decided, findings)
    gathering.rule, gathering.clicks = judging, True
    gathering.close = lambda: findings.said.extend(judging.table())
    return gathering


def _decide(
    rule: str, gathering: Gathering, max_position: int | None, min_impressions: int
) -> ClickRule:
    positions = gathering.judgements.has_positions
    said = gathering.findings.said
    if not positions and (rule == "examined" or max_position is not None):
        what = "the examined rule" if rule == "examined" else "--max-position"
        raise SettingError(
            f"{what} cannot be applied: no row has a position",
            where=gathering.findings.file,
            fix="Add a column position (or name it: --map position=rank), or use --rule all",
        )
    name = rule if rule != "auto" else ("examined" if positions else "all")
    if rule == "auto" and positions:
        said.append(
            "rule in force: examined (negatives stand above the last click); --rule all takes all"
        )
    elif rule == "auto":
        said.append("rule in force: all; without positions the examined rule cannot be applied")
    else:
        said.append(f"rule in force: {name}")
    return ClickRule(name, max_position, min_impressions)


def _add_row(
    gathering: Gathering, topic: int, view: int, session: int, line: int, row: dict[str, Any]
) -> None:
    clicked_key = first_of(row, CLICKED_KEYS)
    impressions_key = first_of(row, IMPRESSION_KEYS)
    gathering.positive_field = impressions_key or clicked_key or "clicked"
    if impressions_key is not None:
        gathering.negative_field = impressions_key
        _add_impressions(gathering, topic, view, line, row, impressions_key)
    elif is_flat(row, clicked_key):
        _add_flat(gathering, topic, view, session, line, row, clicked_key)
    else:
        _add_lists(gathering, topic, view, line, row, clicked_key)


def _add_lists(
    gathering: Gathering,
    topic: int,
    view: int,
    line: int,
    row: dict[str, Any],
    clicked_key: str | None,
) -> None:
    findings, documents = gathering.findings, gathering.documents
    shown_key = first_of(row, SHOWN_KEYS)
    value = row.get(clicked_key) if clicked_key else None
    if shown_key is not None:
        value = resolved(value, row[shown_key], line, findings)
    clicked, reason = passages(value, clicked_key or "clicked", line, findings)
    if not clicked:
        gathering.because(topic, lacking(reason, "positive"))
    taken: set[int] = set()
    for passage, item in clicked:
        number = documents.number(passage, line, clicked_key or "clicked")
        taken.add(number)
        gathering.judgements.add(
            view, number, CLICKED, line, position_of(item, line, findings), line
        )
    gathering.negative_field = shown_key or "shown"
    if shown_key is None:
        return
    shown, _ = passages(row[shown_key], shown_key, line, findings)
    for passage, item in shown:
        number = documents.number(passage, line, shown_key)
        if number in taken:
            if shown_key != "shown":  # what was clicked had been shown
                message = f"document {passage[0]!r}"
                findings.note("positive_among_negatives", line, shown_key, message)
            continue
        gathering.judgements.add(view, number, SHOWN, line, position_of(item, line, findings), line)


def resolved(clicked: Any, shown: Any, line: int, findings: Findings) -> Any:
    """Puts documents for ids: some logs say what was clicked by the ids of what was shown."""
    if not isinstance(shown, list) or not isinstance(clicked, (list, str, int)):
        return clicked
    if isinstance(clicked, list) and clicked and isinstance(clicked[0], dict):
        return clicked
    named = {
        str(item[key]): item
        for item in shown
        if isinstance(item, dict)
        for key in ID_KEYS
        if key in item
    }
    names = clicked if isinstance(clicked, list) else [clicked]
    if not any(isinstance(name, (str, int)) and str(name) in named for name in names):
        return clicked
    for name in names:
        if str(name) not in named:
            findings.note("missing_document", line, "clicked", f"no document {name!r} was shown")
    return [named[str(name)] for name in names if str(name) in named]


def _add_impressions(
    gathering: Gathering,
    topic: int,
    view: int,
    line: int,
    row: dict[str, Any],
    key: str,
) -> None:
    findings = gathering.findings
    found, reason = passages(row[key], key, line, findings)
    any_click = False
    for passage, item in found:
        clicked = is_clicked(item, line, key, findings)
        any_click = any_click or clicked
        number = gathering.documents.number(passage, line, key)
        position = position_of(item, line, findings)
        gathering.judgements.add(view, number, CLICKED if clicked else SHOWN, line, position, line)
    if not any_click:
        gathering.because(topic, lacking(reason, "positive"))


def _add_flat(
    gathering: Gathering,
    topic: int,
    view: int,
    session: int,
    line: int,
    row: dict[str, Any],
    clicked_key: str | None,
) -> None:
    findings = gathering.findings
    gathering.negative_field = clicked_key or "clicked"
    found, reason = passages(without_query(row), "text", line, findings, bare=True)
    clicked = is_click(row.get(clicked_key or "clicked"), line, clicked_key or "clicked", findings)
    for passage, _ in found:
        number = gathering.documents.number(passage, line, "text")
        position = position_of(row, line, findings)
        gathering.judgements.add(
            view, number, CLICKED if clicked else SHOWN, line, position, session
        )
    if reason and clicked:
        gathering.because(topic, lacking(reason, "positive"))


def without_query(row: dict[str, Any]) -> dict[str, Any]:
    """The document of a flat row: ``id`` and ``name`` may be the row's own, so only sure names count."""
    return {
        key: row[key]
        for key in (*ID_KEYS, *TEXT_KEYS, "title")
        if key in row and row[key] is not query_of(row)
    }


def first_of(row: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    """Returns the first of some keys that a row has."""
    return next((key for key in keys if key in row), None)


def is_flat(row: dict[str, Any], clicked_key: str | None) -> bool:
    """Whether a row is one document that was shown."""
    value = row.get(clicked_key) if clicked_key else None
    if isinstance(value, (list, dict)):
        return False
    has_doc = any(key in row for key in TEXT_KEYS) or "doc_id" in row
    return has_doc and not any(isinstance(row.get(key), list) for key in SHOWN_KEYS)


def is_clicked(item: Any, line: int, field: str, findings: Findings) -> bool:
    """Whether an impression was clicked."""
    return isinstance(item, dict) and is_click(item.get("clicked"), line, field, findings)


def is_click(value: Any, line: int, field: str, findings: Findings) -> bool:
    """Whether a value says that something was clicked; what says neither yes nor no is noted."""
    if isinstance(value, bool) or value is None:
        return bool(value)
    if isinstance(value, (int, float)):
        return value > 0
    word = str(value).strip().lower()
    if word in _YES or word in _NO:
        return word in _YES
    if word.isdecimal():
        return int(word) > 0
    findings.note("wrong_type", line, field, f"says neither yes nor no: {value!r:.40}")
    return False


def _note_time(gathering: Gathering, topic: int, stamp: Any, line: int) -> None:
    time = seconds(stamp)
    if time is None:
        gathering.findings.note("bad_time", line, "timestamp", f"{stamp!r:.40} is no time")
    else:
        gathering.seen(topic, time)


def seconds(stamp: Any) -> float | None:
    """Returns a time in seconds since 1970: from a number of them or of finer parts, or from an ISO 8601 date."""
    if isinstance(stamp, datetime):
        return stamp.replace(tzinfo=stamp.tzinfo or UTC).timestamp()
    if isinstance(stamp, bool):
        return None
    try:
        number = float(stamp)
        if not isfinite(number):
            return None
        if abs(number) > 1e20:
            return None
        while abs(number) > 1e11:
            number /= 1000
        return number
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return seconds(datetime.fromisoformat(str(stamp)))
    except (ValueError, OverflowError):
        return None


def position_of(item: Any, line: int, findings: Findings) -> int:
    """Returns the rank at which a document was shown, or NO_POSITION; what is no rank is noted."""
    if not isinstance(item, dict) or not ("position" in item or "rank" in item):
        return NO_POSITION
    value = item.get("position", item.get("rank"))
    if value is None or value == "":
        return NO_POSITION
    try:
        position = -1 if isinstance(value, bool) else int(float(value))
        if position != float(value) or not 0 <= position <= LAST_POSITION:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        findings.note("bad_position", line, "position", f"{value!r:.40} is no rank")
        return NO_POSITION
    return position
