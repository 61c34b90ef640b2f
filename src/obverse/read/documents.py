"""Documents by number: each text is kept once, in a temporary file, and memory holds ids and hashes."""

from __future__ import annotations

import mmap
import tempfile
import weakref
from array import array

from obverse.identity import text_uid
from obverse.read.faults import Findings
from obverse.read.passages import Passage
from obverse.records import Doc

HUGE = 32_000
"""Characters beyond which a document is reported: about 8,000 tokens, more than encoders read."""


class Documents:
    """Documents by number, their texts in a temporary file, each stored once."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._numbers: dict[str, int] = {}
        self._ids: list[str] = []
        self._hashes = array("q")
        self._uids = array("q")
        self._starts = array("q", [0])
        self._title_sizes = array("i")
        self._view: mmap.mmap | None = None

    def __len__(self) -> int:
        return len(self._ids)

    def number(self, passage: Passage, line: int, field: str) -> int:
        """Returns the document's number; a second text under one id becomes a document of its own."""
        doc_id, title, text = passage
        mark = hash((title, text)) if title else hash(text)
        found = self._numbers.get(doc_id)
        if found is None:
            return self._add(passage, mark, line, field)
        if self._hashes[found] == mark:
            return found
        return self._second_text(passage, mark, line, field)

    def _second_text(self, passage: Passage, mark: int, line: int, field: str) -> int:
        doc_id, title, text = passage
        for turn in range(2, 1_000_000):
            other = f"{doc_id}#{turn}"
            found = self._numbers.get(other)
            if found is None:
                self._findings.note(
                    "id_with_two_texts",
                    line,
                    field,
                    f"document {doc_id!r} has another text before; this one is called {other!r}",
                )
                return self._add((other, title, text), mark, line, field)
            if self._hashes[found] == mark:
                return found
        raise AssertionError("unreachable")

    def _add(self, passage: Passage, mark: int, line: int, field: str) -> int:
        doc_id, title, text = passage
        number = len(self._ids)
        self._numbers[doc_id] = number
        self._ids.append(doc_id)
        self._hashes.append(mark)
        whole = (title + text).encode("utf-8", "surrogatepass")
        self._file.write(whole)
        self._uids.append(0)
        self._title_sizes.append(len(title))
        if len(text) > HUGE:
            note_huge(self._findings, doc_id, len(text), line, field)
        self._starts.append(self._starts[-1] + len(whole))
        if self._findings.inspector is not None:
            self._findings.inspector.document(doc_id, title, text, line, field)
        return number

    def doc(self, number: int) -> Doc:
        """Returns a document. Once one was read, no more are added."""
        if self._view is None:
            self._file.flush()
            self._view = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        start = self._starts[number]
        text = str(self._view[start : self._starts[number + 1]], "utf-8", "surrogatepass")
        cut = self._title_sizes[number]
        return Doc(self._ids[number], text[cut:], text[:cut])

    def uid(self, number: int, doc: Doc) -> int:
        """Returns the content hash of a document, worked out once."""
        uid = self._uids[number]
        if not uid:
            uid = self._uids[number] = text_uid(full_text(doc))
        return uid

    def doc_id(self, number: int) -> str:
        return self._ids[number]


def full_text(doc: Doc) -> str:
    """Returns title and text as one string, as documents are compared."""
    return f"{doc.title} {doc.text}" if doc.title else doc.text


def first_word(doc: Doc) -> str | None:
    """The first word as compared: texts that differ in it are not the same. None where case is not so simple."""
    text = f"{doc.title} {doc.text[:80]}" if doc.title else doc.text
    if not text.isascii():
        return None
    words = text.split(None, 1)
    return words[0].lower() if words else None


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
