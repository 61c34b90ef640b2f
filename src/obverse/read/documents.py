"""Documents by number: each text is kept once, in temporary files, and memory holds ids and hashes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.identity import text_uid
from obverse.read.faults import Findings
from obverse.read.judgements import Numbers
from obverse.read.passages import Passage, names_of
from obverse.read.stored_texts import StoredTexts
from obverse.records import Doc

KEPT = 256 << 20
"""Bytes of documents that are kept once they were made: topics name the same ones again and again."""

_DOC_SIZE = 200

HUGE = 32_000
"""Characters beyond which a document is reported: about 8,000 tokens, more than encoders read."""


@dataclass(slots=True)
class Passages:
    """Documents in columns, with where each stands.

    Attributes:
        titles: Empty where none has one.
        marks: What tells documents of one id apart.
    """

    ids: Sequence[str]
    titles: Sequence[str]
    texts: Sequence[str]
    marks: Sequence[int]
    lines: Sequence[int]
    fields: Sequence[str]

    def these(self, places: list[int]) -> Passages:
        """Returns the documents at some places, with a title each, be it empty, and without marks."""

        def chosen(column: Sequence[Any]) -> list[Any]:
            return [column[at] for at in places]

        titles = chosen(self.titles) if self.titles else [""] * len(places)
        return Passages(
            chosen(self.ids),
            titles,
            chosen(self.texts),
            (),
            chosen(self.lines),
            chosen(self.fields),
        )

    def one(self, at: int) -> tuple[Passage, int, str]:
        title = self.titles[at] if self.titles else ""
        return (self.ids[at], title, self.texts[at]), self.lines[at], self.fields[at]


class Documents:
    """Documents by number, their texts in temporary files, each stored once."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self.numbers: dict[Any, int] = {}
        self.marks = array("q")
        self.ids: list[str] = []
        self.titles, self.texts = StoredTexts(), StoredTexts()
        self._same = array("q")
        self._made: dict[int, Doc] = {}
        self._made_size = 0

    def __len__(self) -> int:
        return len(self.ids)

    def number(self, passage: Passage, line: int, field: str) -> int:
        """Returns the document's number; a second text under one id becomes a document of its own."""
        doc_id, title, text = passage
        mark = mark_of(title, text)
        found = self.numbers.get(doc_id)
        if found is None:
            return self._add(passage, mark, line, field)
        if self.marks[found] == mark:
            return found
        return self._second_text(passage, mark, line, field)

    def numbers_of(self, passages: Passages, found: Numbers) -> Numbers:
        """Returns the number of each of many documents, as :meth:`number` does one by one, ``[n]``.

        Args:
            found: What :meth:`found` said of them.
        """
        ids, marks, found = passages.ids, passages.marks, found.copy()
        fresh: list[int] = []
        for at in np.flatnonzero(found < 0).tolist():
            number = self.numbers.get(ids[at])
            if number is None:
                number = self.numbers[ids[at]] = len(self.ids)
                self.ids.append(ids[at])
                self.marks.append(marks[at])
                fresh.append(at)
            elif self.marks[number] != marks[at]:
                self._store(passages, fresh)
                fresh = []
                one, line, field = passages.one(at)
                number = self._second_text(one, marks[at], line, field)
            found[at] = number
        self._store(passages, fresh)
        return found

    def found(self, ids: Sequence[str], marks: Sequence[int]) -> Numbers:
        """Returns the number of each document that was seen before, else -1, ``[n]``."""
        return found_among(self.numbers, self.marks, ids, marks)

    def known(self, items: list[Any]) -> list[int]:
        """Returns the number of each item that is an object with the id and text of a document seen before, else -1.

        What was looked at once, and found in order, need not be looked at again.
        """
        if set(map(type, items)) != {dict} or len(every := set(map(tuple, items))) != 1:
            return [self._known(item) for item in items]
        values, titled = getter(next(iter(every)))
        if values is None:
            return [-1] * len(items)
        ids, texts, titles = zip(*map(values, items), strict=True)
        if not set(map(type, ids)) == set(map(type, texts)) == set(map(type, titles)) == {str}:
            return [self._known(item) for item in items]
        marks = map(mark_of, titles, texts) if titled and any(titles) else map(hash, texts)
        numbers, stored = map(self.numbers.get, ids, repeat(-1)), self.marks
        return [n if n >= 0 and stored[n] == mark else -1 for n, mark in zip(numbers, marks)]  # noqa: B905

    def _known(self, item: Any) -> int:
        values, titled = getter(tuple(item)) if type(item) is dict else (None, False)
        if values is None:
            return -1
        doc_id, text, title = values(item)
        if not type(doc_id) is type(text) is type(title) is str:
            return -1
        number = self.numbers.get(doc_id, -1)
        mark = mark_of(title, text) if titled else hash(text)
        return number if number >= 0 and self.marks[number] == mark else -1

    def _second_text(self, passage: Passage, mark: int, line: int, field: str) -> int:
        doc_id, title, text = passage
        for turn in range(2, 1_000_000):
            other = f"{doc_id}#{turn}"
            found = self.numbers.get(other)
            if found is None:
                self._findings.note(
                    "id_with_two_texts",
                    line,
                    field,
                    f"document {doc_id!r} has another text before; this one is called {other!r}",
                )
                return self._add((other, title, text), mark, line, field)
            if self.marks[found] == mark:
                return found
        raise AssertionError("unreachable")

    def _add(self, passage: Passage, mark: int, line: int, field: str) -> int:
        number = self.numbers[passage[0]] = len(self.ids)
        self.ids.append(passage[0])
        self.marks.append(mark)
        doc_id, title, text = passage
        self._store(Passages([doc_id], [title], [text], [mark], [line], [field]), [0])
        return number

    def _store(self, passages: Passages, fresh: list[int]) -> None:
        """Stores the texts of documents that have their numbers, and looks at them."""
        if not fresh:
            return
        new = passages.these(fresh)
        self.texts.extend(list(new.texts))
        self.titles.extend(list(new.titles))
        compared = list(map(whole_text, new.titles, new.texts))
        uids = list(map(text_uid, compared))
        self._same.extend(uids)
        if max(map(len, new.texts)) > HUGE:
            columns = zip(new.ids, new.texts, new.lines, new.fields, strict=True)
            for doc_id, text, line, field in columns:
                if len(text) > HUGE:
                    note_huge(self._findings, doc_id, len(text), line, field)
        inspector = self._findings.inspector
        if inspector is not None:
            looks = list(map(inspector.looks.text, compared))
            inspector.documents(new.ids, compared, new.lines, new.fields, uids, looks)

    def doc(self, number: int) -> Doc:
        """Returns a document; the same object again while it is kept. Once one was read, no more are added."""
        made = self._made.get(number)
        if made is not None:
            return made
        made = Doc(self.ids[number], self.texts[number], self.titles[number])
        size = self.texts.size(number) + _DOC_SIZE
        self._made_size += size
        if self._made_size > KEPT:
            self._made.clear()
            self._made_size = size
        self._made[number] = made
        return made

    def whole(self, number: int) -> str:
        """Returns title and text of a document as one string, as documents are compared."""
        return whole_text(self.titles[number], self.texts[number])

    def twins(self) -> NDArray[np.int32]:
        """Returns for each document the number of the first one with the same text, as compared, ``[n]``."""
        _, first, each = np.unique(
            np.frombuffer(self._same, dtype=np.int64), return_index=True, return_inverse=True
        )
        return np.asarray(first[each], dtype=np.int32)

    def has_twins(self, numbers: Numbers) -> bool:
        """Whether two of these documents have the same text, as compared."""
        same = np.frombuffer(self._same, dtype=np.int64)[numbers]
        return len(np.unique(same)) < len(same)

    @property
    def is_unicode(self) -> bool:
        """Whether every text can be written as UTF-8."""
        return self.texts.is_unicode and self.titles.is_unicode

    def doc_id(self, number: int) -> str:
        return self.ids[number]


@lru_cache(maxsize=10_000)
def getter(
    keys: tuple[str, ...],
) -> tuple[Callable[[dict[str, Any]], tuple[Any, ...]] | None, bool]:
    """Returns what gets id, text and title of an object with these keys, and whether there is a title."""
    doc_id, text, title = names_of(keys)
    if not doc_id or not text:
        return None, False
    return itemgetter(doc_id, text, title or text), bool(title)


def found_among(
    numbers: dict[str, int], known: array[int], ids: Sequence[str], marks: Sequence[int]
) -> Numbers:
    """Returns the numbers of documents, -1 where the id is unknown or stands for another text, ``[n]``."""
    found = np.fromiter(map(numbers.get, ids, repeat(-1)), np.int64, len(ids))
    if not known:
        return found
    same = np.frombuffer(known, dtype=np.int64)[found] == np.fromiter(marks, np.int64, len(ids))
    return np.where(same & (found >= 0), found, -1)


def mark_of(title: str, text: str) -> int:
    """Returns what tells documents of one id apart within this process."""
    return hash((title, text)) if title else hash(text)


def marks_of(titles: Sequence[str] | None, texts: Sequence[str]) -> list[int]:
    """Returns :func:`mark_of` of many."""
    return list(map(mark_of, titles, texts) if titles and any(titles) else map(hash, texts))


def whole_text(title: str, text: str) -> str:
    """Returns title and text as one string, as documents are compared."""
    return f"{title} {text}" if title else text


def full_text(doc: Doc) -> str:
    """Returns a document's title and text as one string, as documents are compared."""
    return whole_text(doc.title, doc.text)


def inspected(findings: Findings, doc_id: str, whole: str, line: int, field: str) -> None:
    """Shows a document, title and text in one, to the inspector, if there is one."""
    if findings.inspector is not None:
        look, uid = findings.inspector.looks.text(whole), text_uid(whole)
        findings.inspector.documents([doc_id], [whole], [line], [field], [uid], [look])


def note_huge(
    findings: Findings, doc_id: str, size: int, line: int | None, field: str | None
) -> None:
    """Notes a document longer than :data:`HUGE`, with how much is beyond it."""
    findings.note(
        "huge_document",
        line,
        field,
        f"document {doc_id!r} has {size:,} characters (about {size // 4:,} tokens), {size - HUGE:,} beyond {HUGE:,}",
    )
