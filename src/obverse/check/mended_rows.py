"""Rows as reading understands them: what it would skip, guess or set aside is settled, with its own words for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from obverse.identity import text_uid
from obverse.read.clicks import (
    CLICKED_KEYS,
    IMPRESSION_KEYS,
    SHOWN_KEYS,
    first_of,
    is_click,
    is_clicked,
    is_flat,
    position_of,
    resolved,
    seconds,
    without_query,
)
from obverse.read.documents import whole_text
from obverse.read.faults import Findings
from obverse.read.flag_embedding import as_asked, hard_negatives, named
from obverse.read.judgements import NO_POSITION, POSITIVE
from obverse.read.passages import Passage, is_blank, names_of, passages, string_id
from obverse.read.promptriever import apart
from obverse.read.query_rows import ID_KEYS as QUERY_ID_KEYS
from obverse.read.query_rows import instruction_of, is_asked, query_of
from obverse.read.triplets import LISTS, labelled_kinds

Row = dict[str, Any]

_WORDS = {
    "number_id": "number ids made strings",
    "string_for_list": "single values put into lists",
    "object_for_list": "single values put into lists",
    "json_in_string": "lists written as strings made lists",
    "empty_text": "blank documents removed",
    "blank_text": "blank documents removed",
    "null_text": "blank documents removed",
    "missing_text": "blank documents removed",
    "wrong_type": "values of a wrong type made strings or removed",
    "bad_position": "positions that are none made null",
    "missing_document": "clicks on what was not shown removed",
}
_PASSAGES = ("positive_passages", "new_negatives", "negative_passages")
_ASKED: dict[str, Callable[[Row], Row]] = {
    "flag_embedding": as_asked,
    "tevatron": as_asked,
    "promptriever": apart,
}
FORMS = ("clicks", "triplets", *_ASKED)
"""Formats whose rows are settled; those of others are written as they are."""

_TWINS = "negatives with the text of a positive removed"
_Found = list[tuple[Passage, Any]]


class RowMender:
    """Settles the rows of one file, which has been seen once before: what answers a query stands in many rows.

    Args:
        cells: Whether the rows are cells of a table, where a list stays the string that it is.
    """

    def __init__(self, form: str, changes: Counter[str], *, cells: bool) -> None:
        self._form, self._changes, self._cells = form, changes, cells
        self._strings = form in ("triplets", "flag_embedding")
        self._asked = _ASKED.get(form, _as_it_is)
        self._answers: dict[tuple[str, str], dict[int, str]] = {}
        self._noted = Findings(collect=True)

    def see(self, row: Row) -> None:
        """Remembers what answers the row's query."""
        asked = self._asked(row)
        if is_asked(asked):
            known = self._answers.setdefault(self._key(asked), {})
            for doc_id, title, text in self._positives(row):
                known.setdefault(text_uid(whole_text(title, text)), doc_id)

    def settled(self, row: Row, raw: bytes = b"") -> Row | None:
        """Returns the row as it should be, or None where it cannot be used; what was changed is counted."""
        asked = self._asked(row)
        if not is_asked(asked):
            query = query_of(asked)
            told = isinstance(query, str) and not is_blank(query)
            what = "with an instruction of a wrong type" if told else "without a query"
            self._changes[f"rows {what} left out"] += 1
            return None
        answers = self._answers.get(self._key(asked), {})
        if not answers and "positive_document_ids" not in row:
            self._changes["rows without a positive left out"] += 1
            return None
        self._noted = Findings(collect=True, raw=raw)
        made = self._with_ids(dict(row))
        for stamp in ("timestamp", "time"):
            if made.get(stamp) not in (None, "") and seconds(made[stamp]) is None:
                made[stamp] = None
                self._changes["timestamps that are none made null"] += 1
        if isinstance(made.get("session_id"), (list, dict)):
            made["session_id"] = repr(made["session_id"])
            self._changes["sessions that are no ids made strings"] += 1
        if self._form == "triplets" and not self._fields(row):
            self._changes["rows that label no document left out"] += 1
            return None
        left = self._documents(made, answers)
        if left is not None:
            for code, count in self._noted.counts.items():
                if code in _WORDS and not (self._cells and code in _KEPT_IN_CELLS):
                    self._changes[_WORDS[code]] += count
        return left

    def _key(self, asked: Row) -> tuple[str, str]:
        quiet = Findings(collect=True)
        name = next((asked[key] for key in QUERY_ID_KEYS if asked.get(key) is not None), None)
        topic = string_id(name, "", 0, quiet) if name is not None else None
        query = text_uid(query_of(asked))  # an id with another query is another topic
        known = f"{topic or ''} {query}" if self._form != "promptriever" else f"{query}"
        return known, instruction_of(asked, 0, quiet)

    def _positives(self, row: Row) -> list[Passage]:
        """Returns the documents that the row says are right."""
        quiet = Findings(collect=True)
        if self._form == "clicks":
            key = first_of(row, IMPRESSION_KEYS)
            if key is not None:
                found, _ = passages(row[key], key, 0, quiet)
                return [passage for passage, item in found if is_clicked(item, 0, key, quiet)]
            key = first_of(row, CLICKED_KEYS)
            if is_flat(row, key):
                if not is_click(row.get(key or "clicked"), 0, "", quiet):
                    return []
                found, _ = passages(without_query(row), "text", 0, quiet, bare=True)
                return [passage for passage, _ in found]
        return [
            passage
            for name, positive in self._fields(row)
            if positive
            for passage, _ in self._found(row, name, quiet)
        ]

    def _fields(self, row: Row) -> list[tuple[str, bool]]:
        """Returns the row's fields of documents and whether they are right, these first."""
        if self._form == "triplets":
            kinds = labelled_kinds(row, 0, Findings(collect=True))
            return [(name, kind == POSITIVE) for name, kind in kinds]
        if self._form == "clicks":
            names = ((CLICKED_KEYS, True), (SHOWN_KEYS, False))
            found = [(first_of(row, keys), positive) for keys, positive in names]
            return [(name, positive) for name, positive in found if name is not None]
        if self._form == "flag_embedding":
            return [(name, name == "pos") for name in ("pos", "neg") if name in row]
        return [(name, name == _PASSAGES[0]) for name in _PASSAGES if name in row]

    def _found(self, row: Row, name: str, findings: Findings) -> _Found:
        value = row[name]
        if self._form == "flag_embedding":
            value = named(value, row.get(f"{name}_id"))
        shown = first_of(row, SHOWN_KEYS) if self._form == "clicks" else None
        if shown is not None and name != shown:
            value = resolved(value, row[shown], 0, findings)
        bare = self._strings and name not in LISTS
        return passages(value, name, 0, findings, bare=bare)[0]

    def _with_ids(self, row: Row) -> Row:
        for key in QUERY_ID_KEYS:
            if row.get(key) is not None and type(row[key]) is not str:
                row[key] = string_id(row[key], key, 0, self._noted)
        return row

    def _documents(self, row: Row, answers: dict[int, str]) -> Row | None:
        if self._form == "clicks":
            key = first_of(row, IMPRESSION_KEYS)
            if key is not None:
                found = passages(row[key], key, 0, self._noted)[0]
                right = [one for one in found if is_clicked(one[1], 0, key, self._noted)]
                kept = [one for one in found if one in right or self._apart([one], answers, key)]
                self._changes[_TWINS] += len(found) - len(kept)
                row[key] = [self._impression(*one, one in right) for one in kept]
                return row
            key = first_of(row, CLICKED_KEYS)
            if is_flat(row, key):
                return self._flat(row, key or "clicked", answers)
        for name, positive in self._fields(row):
            found = self._found(row, name, self._noted)
            kept = found if positive else self._apart(found, answers, name)
            self._changes[_TWINS] += len(found) - len(kept)
            if self._form == "flag_embedding":
                self._flag(row, name, kept, answers)
            else:
                row[name] = self._value(row[name], kept, len(kept) < len(found), name)
        return row

    def _flat(self, row: Row, clicked: str, answers: dict[int, str]) -> Row | None:
        """Returns a row that is one document itself, or None where that is blank or a positive once more."""
        found = passages(without_query(row), "text", 0, self._noted, bare=True)[0]
        if not found:
            self._changes["rows with a blank document left out"] += 1
            return None
        (passage, _), *_ = found
        odd = self._noted.counts["wrong_type"]
        if not is_click(row.get(clicked), 0, clicked, self._noted):
            if not self._apart(found, answers, clicked):
                self._changes[_TWINS] += 1
                return None
            if self._noted.counts["wrong_type"] > odd:
                row[clicked] = False
        return self._placed(row | written(passage, without_query(row), self._changes))

    def _apart(self, found: _Found, answers: dict[int, str], name: str) -> _Found:
        """Returns the documents without those that have the text of a positive.

        What was clicked had been shown, so that in a log a positive may stand among what was shown.
        """
        again = self._form == "clicks" and name not in SHOWN_KEYS[1:]
        kept = []
        for passage, item in found:
            right = answers.get(text_uid(whole_text(*passage[1:])))
            if right is None or (again and right == passage[0]):
                kept.append((passage, item))
        return kept

    def _value(self, value: Any, kept: _Found, fewer: bool, name: str) -> Any:
        if value is None:
            return None
        lost = fewer or any(code in self._noted.counts for code in _LOSSES)
        if self._cells and isinstance(value, str) and not lost:
            return value
        items = [self._document(*one) for one in kept]
        alone = not isinstance(value, list) and len(items) < 2 and name not in LISTS
        if self._strings and alone and not self._noted.counts["json_in_string"]:
            return items[0] if items else None
        return items

    def _document(self, passage: Passage, item: Any) -> Any:
        """Returns an item of a list as it should be."""
        doc_id, _, text = passage
        if not isinstance(item, dict):
            if self._strings:
                return text
            self._changes["strings made documents"] += 1
            return {"id": doc_id, "text": text}
        return self._placed(written(passage, item, self._changes))

    def _impression(self, passage: Passage, item: Any, clicked: bool) -> Any:
        """Returns what was shown; a click that says neither yes nor no is none."""
        made, unclear = self._document(passage, item), Findings(collect=True)
        is_click(made.get("clicked"), 0, "", unclear)
        return made | {"clicked": clicked} if unclear.counts else made

    def _placed(self, made: Row) -> Row:
        """Returns an object whose position is a rank or null."""
        for key in ("position", "rank"):
            if made.get(key) not in (None, ""):
                single = {"position": made[key]}
                if position_of(single, 0, self._noted) == NO_POSITION:
                    made[key] = None
        return made

    def _flag(self, row: Row, name: str, kept: _Found, answers: dict[int, str]) -> None:
        """Puts documents back where texts and ids stand in lists of their own."""
        hard = hard_negatives(row)
        if name == "neg" and hard and isinstance(row[name], list):
            parts = {
                key: row[key][:hard] for key in (name, "neg_id") if isinstance(row.get(key), list)
            }
            left = self._apart(self._found(parts, name, Findings(collect=True)), answers, name)
            row["instruction_negatives"] = len(left)
        if isinstance(row.get(f"{name}_id"), list):
            row[f"{name}_id"] = [passage[0] for passage, _ in kept]
        row[name] = [passage[2] for passage, _ in kept]


_KEPT_IN_CELLS = ("string_for_list", "object_for_list", "json_in_string")
_LOSSES = ("empty_text", "blank_text", "null_text", "missing_text", "wrong_type")


def written(passage: Passage, item: Row, changes: Counter[str]) -> Row:
    """Returns an object with the id, title and text that were read of it, under its own keys."""
    made = dict(item)
    id_key, text_key, title_key = names_of(tuple(item))
    if id_key:
        changes["documents given an id"] += item[id_key] in (None, "")
        made[id_key] = passage[0]
    if title_key and item[title_key] is not None:
        made[title_key] = passage[1]
    if text_key:
        made[text_key] = passage[2]
    return made


def _as_it_is(row: Row) -> Row:
    return row


def mended_document(row: Row, changes: Counter[str]) -> Row | None:
    """Returns a row that is a document as it should be, or None where it is blank."""
    noted = Findings(collect=True)
    found, _ = passages(row, "document", 0, noted)
    for code, count in noted.counts.items():
        if code in _WORDS:
            changes[_WORDS[code]] += count
    return written(found[0][0], row, changes) if found else None
