"""What can be wrong with data: fixed codes, how bad each is, and what obverse does about it.

Readers and ``obverse check`` report to one :class:`Findings`, so that a fault has the same name everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from obverse.errors import InputError
from obverse.files import LineFacts
from obverse.records import Topic
from obverse.stages import Drops

EXAMPLES = 10
"""How many examples of a fault are kept."""


class Severity(StrEnum):
    """``error``: mend it before training. ``warning``: set aside or read with a guess. ``note``: harmless."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault.

    Attributes:
        severity: How bad it is.
        means: What it is, in a clause.
        done: What obverse does about it.
    """

    severity: Severity
    means: str
    done: str


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

TO_UTF8 = "Convert the file to UTF-8: iconv -f LATIN1 -t UTF-8"
"""What to do about bytes of another code."""

TO_UTF8_COLUMN = "Write the column again as UTF-8 text"
"""What to do about them in a Parquet file."""

FAULTS: dict[str, Kind] = {
    # lines and files
    "byte_order_mark": Kind(_N, "a byte-order mark (U+FEFF)", "removed"),
    "crlf": Kind(_N, "lines end in CR LF or CR", "the CR is removed"),
    "blank_line": Kind(_N, "a blank line", "skipped"),
    "line_separator": Kind(
        _N, "U+2028, U+2029 or U+0085 inside a text, which some tools take for a line end", "kept"
    ),
    "control_character": Kind(_N, "a control character inside a text", "kept"),
    "half_surrogate_pair": Kind(
        _W,
        "half of a surrogate pair, which is no character",
        "kept; U+FFFD as tokens; JSON Lines holds it as an escape, CSV, TSV, Parquet and arctic refuse it",
    ),
    "cut_archive": Kind(
        _E,
        "an archive that is cut off, damaged or of many files",
        "read stops; the message says what to do",
    ),
    "not_utf8": Kind(_E, "bytes that are not UTF-8", "the row cannot be used; convert the file"),
    "bad_json": Kind(_E, "a line that is no JSON", "the row cannot be used"),
    "not_a_number": Kind(_W, "NaN or Infinity, which JSON does not have", "read as null"),
    "not_an_object": Kind(_E, "a row that is no JSON object", "the row cannot be used"),
    "duplicate_key": Kind(_E, "a key that stands twice in one object", "the last one counts"),
    "ragged_row": Kind(_E, "more or fewer fields than the header", "the row cannot be used"),
    "stray_quotes": Kind(_N, "double quotes in a table without CSV quoting", "kept as text"),
    "empty_file": Kind(_E, "a file without rows", "nothing to read"),
    "unknown_format": Kind(_E, "none of the known formats", "name it with --format and --map"),
    # columns and types
    "missing_column": Kind(_E, "a column that every row lacks", "name it with --map"),
    "duplicate_column": Kind(
        _E, "two columns of one name", "read stops; give each column its own name"
    ),
    "late_key": Kind(_W, "a key that appears late or in few rows", "read where it is there"),
    "type_drift": Kind(_W, "a field whose type changes from row to row", "each is read as it is"),
    "wrong_type": Kind(_E, "a value of the wrong type", "not used"),
    "string_for_list": Kind(_W, "a bare string where a list belongs", "read as one passage"),
    "object_for_list": Kind(_W, "one object where a list belongs", "read as one document"),
    "json_in_string": Kind(_W, "a list written as a string", "read as the list that it says"),
    "string_for_document": Kind(
        _W, "a string among documents that are objects with id and text", "read as one passage"
    ),
    "text_only_document": Kind(
        _N,
        "documents that are plain strings, as all of the file",
        "each gets an id made from its text",
    ),
    "bad_position": Kind(_W, "a position that is no number", "read as no position"),
    "bad_time": Kind(_W, "a timestamp that is no time", "read as no time"),
    "bad_grade": Kind(_E, "a grade that is no whole number", "the judgement is not used"),
    "negative_grade": Kind(_W, "a grade below zero", "read as not relevant"),
    # ids
    "number_id": Kind(_W, "an id that is a JSON number", "read as its digits, as a string"),
    "missing_id": Kind(_N, "a document without an id", "gets an id made from its text"),
    "leading_zeros": Kind(_N, "an id with leading zeros", "kept: ids are strings"),
    "zeros_only_differ": Kind(
        _W, "ids that differ by leading zeros alone (007 and 7)", "kept apart: ids are strings"
    ),
    "space_in_id": Kind(_W, "an id with white space at its ends", "kept as it is"),
    "id_with_two_texts": Kind(
        _W, "one document id with two different texts", "the second text gets an id of its own"
    ),
    "query_id_with_two_queries": Kind(
        _W, "one query_id with two different queries", "the second query becomes another topic"
    ),
    "missing_document": Kind(_W, "a judgement of a document that is not there", "not used"),
    "missing_query": Kind(_W, "a judgement of a query that is not there", "not used"),
    # texts
    "empty_text": Kind(_W, "a document with an empty text", "the document is left out"),
    "blank_text": Kind(_W, "a document of white space alone", "the document is left out"),
    "null_text": Kind(_W, "a document whose text is null", "the document is left out"),
    "missing_text": Kind(_W, "a document without a text", "the document is left out"),
    "blank_query": Kind(_W, "an empty or blank query", "the row is set aside"),
    "missing_query_text": Kind(_W, "a row without a query", "the row is set aside"),
    "duplicate_document": Kind(_N, "one text under several document ids", "kept"),
    "null_word": Kind(_W, "a text that is the word nan, null, none or undefined", "kept"),
    "huge_query": Kind(_W, "a very long query", "kept; encoders cut it at their limit"),
    "huge_document": Kind(_W, "a very long document", "kept; encoders cut it at their limit"),
    "over_token_limit": Kind(_W, "a text longer than the encoder reads", "cut at the limit"),
    "wrong_language": Kind(_W, "a text in another script or language than the rest", "kept"),
    # judgements
    "nothing_usable": Kind(
        _E, "a source of which no row can be used", "read stops; the other faults say why"
    ),
    "no_positive": Kind(_W, "no positive document", "set aside"),
    "no_negative": Kind(
        _N, "no negative of its own", "kept: other topics' documents are its negatives"
    ),
    "too_few_candidates": Kind(_N, "fewer candidates than asked for", "kept; mine more"),
    "positive_among_negatives": Kind(
        _N, "a positive document also among the negatives, by id", "is no negative"
    ),
    "same_text_two_ids": Kind(
        _W, "a negative with the text of a positive, under another id", "is no negative"
    ),
    "near_duplicate": Kind(_W, "a negative nearly equal to a positive", "kept; look at it"),
    "clicked_elsewhere": Kind(
        _N, "a negative that was clicked in another row of the same query", "is no negative"
    ),
    "contradictory_labels": Kind(
        _E, "a document that is positive and negative under one instruction", "is no negative"
    ),
    "duplicate_row": Kind(_N, "a row that stands twice", "counted once"),
    "rule_without_positions": Kind(
        _W, "rows without positions under a click rule that needs them", "give no negatives"
    ),
    # instructions
    "instruction_equals_query": Kind(_W, "an instruction equal to its query", "kept; look at it"),
    "instruction_copies_document": Kind(
        _W, "an instruction that copies a passage of its document", "kept; look at it"
    ),
    "benchmark_leak": Kind(_E, "a text that a benchmark measures with", "leave it out"),
    "split_leak": Kind(_E, "a query or document that stands in another split", "split again"),
    # topics files
    "bad_topic": Kind(_E, "a row that is no topic", "the row cannot be used"),
    "unknown_label": Kind(_E, "a label that obverse does not know", "the row cannot be used"),
    "unknown_key": Kind(_E, "a key that obverse does not know", "the row cannot be used"),
    "duplicate_topic": Kind(_E, "a topic_id that stands twice", "the second cannot be used"),
    # advice
    "filter_instead": Kind(
        _N, "conditions on price, date or size", "a metadata filter serves these better"
    ),
}


LEFT_OUT = ("bad_json", "not_an_object", "not_utf8", "ragged_row")
"""Rows that stop a read, and that a mended copy is without."""


@dataclass(frozen=True, slots=True)
class Example:
    """One place where a fault was seen."""

    file: str
    line: int | None
    field: str | None
    message: str

    def to_json(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "field": self.field, "message": self.message}


@dataclass(frozen=True, slots=True)
class Looks:
    """What is found out of rows and texts by themselves, by plain functions, which other processes can run too.

    Attributes:
        text: Of a document's title and text, in one.
        rows: How rows are shaped.
        raws: Of lines: marks of eight bytes that tell different ones apart.
    """

    text: Callable[[str], Any]
    rows: Callable[[list[dict[str, Any]]], Any]
    raws: Callable[[Sequence[bytes]], bytes]


class Inspector(Protocol):
    """Looks closer than reading needs; ``obverse check`` hands one to the readers."""

    looks: Looks

    def rows(self, lines: Sequence[int], rows: list[dict[str, Any]]) -> None:
        """Sees rows as the reader gets them."""

    def as_before(self, shape: Any, count: int) -> bool:
        """Sees the shape of so many rows, or returns False where it has to see the rows themselves."""

    def raws(self, lines: Sequence[int], marks: bytes) -> None:
        """Sees the marks of lines of a JSON Lines file that hold an object."""

    def documents(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        lines: Sequence[int],
        fields: Sequence[str],
        uids: Sequence[int],
        looks: Sequence[Any],
    ) -> None:
        """Sees each distinct document once: title and text in one, its content hash, and what a look found."""

    def topic(self, topic: Topic, line: int) -> None:
        """Sees a topic of a topics file."""

    def topics(self, gathering: Any, found: Any) -> None:
        """Sees the topics that rows were gathered to, in columns."""


@dataclass(slots=True)
class Findings:
    """What a reader found out about its source.

    Attributes:
        collect: Whether faults that stop a read are noted instead of raised, as ``check`` wants it.
        file: The file being read; the place of every fault noted.
        rows: Data rows read.
        usable: Rows that ended in a topic.
        drops: The rows set aside, with their reasons.
        lines: Byte-order marks, CRs and blank lines.
        said: Lines for the summary: guesses, rules, tables.
        facts: The same for machines, by name.
        raw: The line being read, where lines are.
        spooled: The temporary file that standard input was copied to.
        object_documents: Whether some document was an object, not a plain string.
        inspector: Sees rows, documents and topics as they pass.
    """

    collect: bool = False
    file: str = "-"
    rows: int = 0
    usable: int = 0
    drops: Drops = field(default_factory=Drops)
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Example]] = field(default_factory=dict)
    lines: LineFacts = field(default_factory=LineFacts)
    said: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    inspector: Inspector | None = None
    raw: bytes = b""
    spooled: str = ""
    object_documents: bool = False

    def note(
        self, code: str, line: int | None, field: str | None, message: str, *, count: int = 1
    ) -> None:
        """Notes a fault of :data:`FAULTS`; the first ten of a code are kept as examples."""
        self.counts[code] += count
        kept = self.examples.setdefault(code, [])
        if len(kept) < EXAMPLES:
            kept.append(Example(self.place, line, field, message))

    def wrong(self, code: str, line: int | None, field: str | None, message: str, fix: str) -> None:
        """Notes a fault that makes a row unreadable, or raises it where a read should stop.

        Raises:
            InputError: Unless the findings only collect.
        """
        if not self.collect:
            if code in LEFT_OUT and self.file != self.spooled and self.file != "-":
                fix = f"{fix}; obverse check {self.file} --fix OUT writes a copy without what is broken"
            where = self.place if line is None else f"{self.place}:{line}"
            raise InputError(message, where=f"{where}, {field}" if field else where, fix=fix)
        self.note(code, line, field, message)

    def set_aside(self, topic_id: str, reason: str, line: int | None) -> None:
        """Notes a row that cannot be used, with its fixed reason."""
        self.drops.add(topic_id, reason, file=self.place, line=line)

    @property
    def place(self) -> str:
        """The file as the user called it: what came from standard input lies in a temporary file."""
        return "-" if self.file == self.spooled else self.file

    def summary(self) -> list[str]:
        """Returns the lines that a person reads after a read: what was skipped, mended, set aside."""
        lines = list(self.said)
        for code, count in self.worst_first():
            kind, seen = FAULTS[code], self.examples[code][0]
            place = seen.file if seen.line is None else f"{seen.file}:{seen.line}"
            where = f"{place}, {seen.field}" if seen.field else place
            lines.append(
                f"{kind.severity}: {count:,} x {code}: {kind.means} ({kind.done}); first: {where}: {seen.message}"
            )
        return lines

    def worst_first(self) -> list[tuple[str, int]]:
        """Returns the faults and their counts: errors, warnings, notes; the most frequent of each first."""
        return sorted(self.counts.items(), key=_worst_first)

    def close_documents(self) -> None:
        """Plain strings are a form of their own where the file has no other documents."""
        count = self.counts.pop("string_for_document", 0)
        examples = self.examples.pop("string_for_document", [])
        if count:
            code = "string_for_document" if self.object_documents else "text_only_document"
            self.counts[code], self.examples[code] = count, examples

    def close_lines(self) -> None:
        """Turns the counts of lines into faults; called once a file has been read."""
        facts = self.lines
        for code, count, line, message in (
            ("byte_order_mark", facts.marks, facts.first_mark, "byte-order mark removed"),
            ("crlf", facts.crlf, facts.first_crlf, "carriage return removed"),
            ("blank_line", facts.blank, facts.first_blank, "blank line skipped"),
        ):
            if count:
                self.note(code, line, None, message, count=count)
        self.lines = LineFacts()


def _worst_first(item: tuple[str, int]) -> tuple[int, int, str]:
    order = list(Severity)
    return order.index(FAULTS[item[0]].severity), -item[1], item[0]
