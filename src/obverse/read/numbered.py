"""Rows that label documents, a block at a time: numbers take the place of documents that are all in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from obverse.read.documents import Passages, getter, marks_of
from obverse.read.json_rows import Row
from obverse.read.judgements import Numbers
from obverse.read.passages import is_blank
from obverse.read.query_rows import is_asked

_MARK = "\ufeff"


class DocNumbers(Protocol):
    """What gives documents their numbers."""

    def found(self, ids: Sequence[str], marks: Sequence[int]) -> Numbers: ...

    def numbers_of(self, passages: Passages, found: Numbers) -> Numbers: ...


class NumberedDocs(list[int]):
    """Numbers of documents, where the documents stood in a row."""


def is_odd(text: str) -> bool:
    """Whether a text that should say something is empty, blank or begins with a byte-order mark."""
    return not text or text[0] == _MARK or is_blank(text)


def odd_among(texts: Sequence[str], places: list[int]) -> list[int]:
    """Returns the places at which a text is odd."""
    some = [at for at in places if not (texts[at][:1] > " " and texts[at].isascii())]
    return [at for at in some if is_odd(texts[at])]


@dataclass(slots=True)
class LabelledPart:
    """Neighbouring rows, their documents apart.

    Attributes:
        rows: The rows.
        lines: The line of each.
        places: Where documents stood: the row, its field, and how many.
        docs: Their numbers, ``[n]``.
    """

    rows: list[Row]
    lines: Sequence[int]
    places: list[tuple[int, str, int]]
    docs: Numbers

    def with_docs(self) -> list[Row]:
        """Returns the rows with numbers in place of documents."""
        numbers, end = self.docs.tolist(), 0
        for at, field, count in self.places:
            self.rows[at][field] = NumberedDocs(numbers[end : end + count])
            end += count
        return self.rows


def labelled_part(
    rows: list[Row], lines: Sequence[int], fields: list[str], documents: DocNumbers
) -> LabelledPart | None:
    """Returns rows with numbers in place of documents, or None where some row needs a closer look."""
    if not all(map(is_asked, rows)):
        return None
    items: list[Any] = []
    places: list[tuple[int, str, int]] = []
    for at, row in enumerate(rows):
        for field in fields:
            value = row.get(field)
            if type(value) is list:
                items += value
                places.append((at, field, len(value)))
            elif value is not None:
                return None
    columns = _columns(items)
    if columns is None:
        return None
    ids, titles, texts = columns
    marks = marks_of(titles, texts)
    found = documents.found(ids, marks)
    unknown = np.flatnonzero(found < 0).tolist()
    if "" in ids or odd_among(texts, unknown):
        return None
    where = [lines[at] for at, _, count in places for _ in range(count)]
    names = [field for _, field, count in places for _ in range(count)]
    numbers = documents.numbers_of(Passages(ids, titles, texts, marks, where, names), found)
    bare = [dict(row) for row in rows]
    for at, field, _ in places:
        bare[at][field] = None
    return LabelledPart(bare, lines, places, numbers)


def _columns(items: list[Any]) -> tuple[Sequence[str], Sequence[str], Sequence[str]] | None:
    """Returns ids, titles and texts of documents, or None where one is not in order."""
    if not items or set(map(type, items)) != {dict}:
        return None
    ways = [getter(keys) for keys in set(map(tuple, items))]
    if len(ways) == 1 and ways[0][0] is not None:
        ids, texts, titles = zip(*map(ways[0][0], items), strict=True)
        titles = titles if ways[0][1] else ()
    elif all(values is not None for values, _ in ways):
        ids, titles, texts = zip(*map(_triple, items), strict=True)
    else:
        return None
    if not all(set(map(type, column)) <= {str} for column in (ids, texts, titles)):
        return None
    return ids, titles, texts


def _triple(item: Row) -> tuple[Any, Any, Any]:
    values, titled = getter(tuple(item))
    assert values is not None
    doc_id, text, title = values(item)
    return doc_id, title if titled else "", text
