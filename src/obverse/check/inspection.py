"""The closer look of ``obverse check``: at ids, texts, labels and instructions, while the rows stream by."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from obverse.check.languages import language
from obverse.check.schema import RepeatedRows, SchemaWatch
from obverse.identity import normalised, same_text_rule, text_uid
from obverse.read.documents import full_text
from obverse.read.faults import Example, Findings
from obverse.records import Doc, Label, Topic, View

_FILTER_WORDS = re.compile(
    r"(?i)\b(?:under|below|less than|cheaper than|up to|max(?:imum)?)\s*[$€£]?\s*\d"
    r"|[$€£]\s*\d|\d\s*(?:eur|usd|dollars|euros)\b"
    r"|\b(?:before|after|since|until)\s+(?:19|20)\d\d\b"
)
_COPY_WORDS = 8
"""An instruction that shares this many words in a row with a positive copies it."""

_NULL_WORDS = frozenset({"nan", "null", "none", "undefined", "n/a", "<na>", "nil"})
_LONG_QUERY = 2_000
_NEAR = 0.9
"""Share of common words from which two texts are nearly the same."""

_APART = (1 - _NEAR) / (1 + _NEAR) + 1e-9
"""Texts that share that much differ in at most this part of all their words, counted in both."""

_NEGATIVES = (Label.NEGATIVE, Label.INSTRUCTION_NEGATIVE)
Outline = tuple[int, int]


@dataclass(slots=True)
class Limits:
    """What is asked of the data.

    Attributes:
        min_candidates: Fewer documents than this make a topic poor.
        max_tokens: The encoder's limit.
        count_tokens: Counts an input's tokens; without it, lengths in tokens are not checked.
    """

    min_candidates: int = 2
    max_tokens: int = 0
    count_tokens: Callable[[str], int] | None = None


@dataclass(slots=True)
class Inspection:
    """Notes what reading alone would not see."""

    findings: Findings
    limits: Limits = field(default_factory=Limits)
    leaks: dict[int, str] = field(default_factory=dict)
    leak_code: str = "benchmark_leak"
    leaked_documents: bool = True
    _repeated: RepeatedRows = field(default_factory=RepeatedRows)
    _schema: SchemaWatch = field(default_factory=SchemaWatch)
    _texts: dict[int, str] = field(default_factory=dict)
    _ids: dict[str, int] = field(default_factory=dict)
    _outlines: dict[str, Outline] = field(default_factory=dict)
    _zeros: dict[str, tuple[str, Example]] = field(default_factory=dict)
    _languages: dict[str, Counter[str]] = field(default_factory=dict)
    _strays: dict[str, dict[str, list[Example]]] = field(default_factory=dict)
    _instructed: int = 0
    _filterable: list[Example] = field(default_factory=list)
    _filter_count: int = 0
    _queries: int = 0

    def rows(self, lines: Sequence[int], rows: list[dict[str, Any]]) -> None:
        """Follows the shape of rows."""
        self._schema.rows(lines, rows, self.findings)

    def raws(self, lines: Sequence[int], raws: Sequence[bytes]) -> None:
        """Looks for rows that stand twice."""
        self._repeated.add(lines, raws, self.findings)

    def document(self, doc_id: str, title: str, text: str, line: int, field: str, uid: int) -> None:
        """Looks at a document's id, language, length and copies."""
        self._id(doc_id, line, field)
        whole = f"{title} {text}" if title else text
        if self._ids.setdefault(doc_id, uid) != uid:
            self.findings.note(
                "id_with_two_texts", line, field, f"document {doc_id!r} has another text before"
            )
        other = self._texts.setdefault(uid, doc_id)
        if other != doc_id:
            self.findings.note(
                "duplicate_document", line, field, f"{doc_id!r} has the text of {other!r}"
            )
        self._outlines[doc_id] = outline(whole)
        if len(whole) < 20 and whole.strip().lower() in _NULL_WORDS:
            self.findings.note("null_word", line, field, f"document {doc_id!r} is {whole!r}")
        self._language("document", whole, doc_id, line, field)
        self._tokens(whole, f"document {doc_id!r}", line, field)
        if self.leaked_documents and uid in self.leaks:
            self.findings.note(
                self.leak_code, line, field, f"document {doc_id!r} is in {self.leaks[uid]}"
            )

    def topic(self, topic: Topic, line: int) -> None:
        """Looks at a topic's query, candidates and views."""
        self._queries += 1
        self._id(topic.topic_id, line, "query_id")
        self._language("query", topic.query, topic.topic_id, line, "query")
        self._filter(topic.query, line, "query")
        if topic.query.strip().lower() in _NULL_WORDS:
            self.findings.note("null_word", line, "query", f"the query is {topic.query!r}")
        if len(topic.query) > _LONG_QUERY:
            self.findings.note("huge_query", line, "query", f"has {len(topic.query):,} characters")
        found = self.leaks.get(text_uid(topic.query)) if self.leaks else None
        if found is not None:
            self.findings.note(self.leak_code, line, "query", f"{topic.query[:60]!r} is in {found}")
        if topic.docs and len(topic.docs) < self.limits.min_candidates:
            self.findings.note(
                "too_few_candidates",
                line,
                None,
                f"topic {topic.topic_id!r} has {len(topic.docs)}, asked for {self.limits.min_candidates}",
            )
        docs = {doc.doc_id: doc for doc in topic.docs}
        if len(topic.views) > 1:
            self._contradictions(topic.views, line)
        for number, view in enumerate(topic.views):
            field = f"views[{number}].instruction" if len(topic.views) > 1 else "instruction"
            if docs:
                self._twins(view, docs, line)
            if not view.is_plain:
                self._instruction(topic, view, docs, line, field)

    def close(self) -> None:
        """Notes what only the whole shows: strays in language, ids that differ by zeros, advice."""
        self._repeated.close(self.findings)
        for zeros, example in self._zeros.values():
            bare = zeros.lstrip("0") or "0"
            if bare in self._ids:
                self._again("zeros_only_differ", example, f"{zeros!r} and {bare!r} are two ids")
        for what, counts in self._languages.items():
            usual, count = counts.most_common(1)[0]
            if count < 0.6 * counts.total():
                continue
            for name, examples in self._strays[what].items():
                if name != usual and counts[name] <= 0.2 * counts.total():
                    for example in examples:
                        self._again(
                            "wrong_language", example, f"{example.message}: {name} among {usual}"
                        )
                    self.findings.counts["wrong_language"] += counts[name] - len(examples)
        asked = self._instructed + self._queries
        if self._filter_count and self._filter_count >= 0.1 * asked:
            self.findings.counts["filter_instead"] = self._filter_count
            self.findings.examples["filter_instead"] = self._filterable

    def _again(self, code: str, example: Example, message: str) -> None:
        before, self.findings.file = self.findings.file, example.file
        self.findings.note(code, example.line, example.field, message)
        self.findings.file = before

    def _id(self, name: str, line: int, field: str) -> None:
        if name != name.strip():
            self.findings.note("space_in_id", line, field, f"the id {name!r} has white space")
        if len(name) > 1 and name.startswith("0") and name.isdecimal():
            if name not in self._zeros:
                example = Example(self.findings.place, line, field, name)
                self._zeros[name] = (name, example)
                self.findings.note("leading_zeros", line, field, f"the id {name!r}")
            self._ids.setdefault(name, 0) if field == "query_id" else None

    def _language(self, what: str, text: str, name: str, line: int, field: str) -> None:
        found = language(text)
        if found is None:
            return
        self._languages.setdefault(what, Counter())[found] += 1
        examples = self._strays.setdefault(what, {}).setdefault(found, [])
        if len(examples) < 3:
            examples.append(Example(self.findings.place, line, field, f"{what} {name!r}"))

    def _tokens(self, text: str, name: str, line: int, field: str) -> None:
        count, limit = self.limits.count_tokens, self.limits.max_tokens
        if count is None or len(text) <= limit:
            return
        tokens = count(text)
        if tokens > limit:
            self.findings.note(
                "over_token_limit",
                line,
                field,
                f"{name} has {tokens:,} tokens, {tokens - limit:,} beyond {limit:,}",
            )

    def _twins(self, view: View, docs: dict[str, Doc], line: int) -> None:
        """Negatives with a positive's text, exactly or nearly."""
        outlines = self._outlines
        positives = [(doc_id, *outlines[doc_id]) for doc_id in view.positives]
        for negative, label in view.labels.items():
            if label not in _NEGATIVES:
                continue
            bits, size = outlines[negative]
            for positive, other, other_size in positives:
                if (bits ^ other).bit_count() <= _APART * (size + other_size):
                    found = self._twin(docs[negative], docs[positive], line)
                    if found:
                        break

    def _twin(self, negative: Doc, positive: Doc, line: int) -> bool:
        """Looks at two documents that may be the same, or nearly; notes it and returns True where they are."""
        one, other = full_text(negative), full_text(positive)
        rule = same_text_rule(one, other)
        if rule:
            self.findings.note(
                "same_text_two_ids",
                line,
                None,
                f"negative {negative.doc_id!r} is the text of positive {positive.doc_id!r} (same by: {rule})",
            )
            return True
        words, others = frozenset(one.lower().split()), frozenset(other.lower().split())
        shared = len(words & others) / max(1, len(words | others))
        if shared >= _NEAR:
            self.findings.note(
                "near_duplicate",
                line,
                None,
                f"negative {negative.doc_id!r} shares {shared:.0%} of its words with positive {positive.doc_id!r}",
            )
        return shared >= _NEAR

    def _contradictions(self, views: Iterable[View], line: int) -> None:
        said: dict[str, dict[str, Label]] = {}
        for view in views:
            known = said.setdefault(normalised(view.instruction), {})
            for doc_id, label in view.labels.items():
                before = known.setdefault(doc_id, label)
                if before != label and Label.POSITIVE in (before, label):
                    self.findings.note(
                        "contradictory_labels",
                        line,
                        "views",
                        f"document {doc_id!r} is {before} and {label} under {view.instruction[:40]!r}",
                    )

    def _instruction(
        self, topic: Topic, view: View, docs: dict[str, Doc], line: int, field: str
    ) -> None:
        self._instructed += 1
        instruction = normalised(view.instruction)
        self._filter(view.instruction, line, field)
        self._language("instruction", view.instruction, topic.topic_id, line, field)
        if instruction == normalised(topic.query):
            self.findings.note("instruction_equals_query", line, field, repr(topic.query[:60]))
        words = instruction.split()
        runs = {
            " ".join(words[at : at + _COPY_WORDS]) for at in range(len(words) - _COPY_WORDS + 1)
        }
        if not runs:
            return
        for doc_id in view.positives:
            text = normalised(full_text(docs[doc_id])) if doc_id in docs else ""
            copied = next((run for run in runs if run in text), None)
            if copied is not None:
                self.findings.note(
                    "instruction_copies_document",
                    line,
                    field,
                    f"copies {copied[:60]!r} from document {doc_id!r}",
                )
                return

    def _filter(self, text: str, line: int, field: str) -> None:
        if _FILTER_WORDS.search(text):
            self._filter_count += 1
            if len(self._filterable) < 10:
                self._filterable.append(
                    Example(
                        self.findings.place,
                        line,
                        field,
                        f"{text[:60]!r}: a filter on a price or date field answers this exactly",
                    )
                )


def outline(text: str) -> Outline:
    """Returns a set of bits for the words of a text, and how many different words there are.

    Two texts that differ in n words differ in at most n bits.
    """
    words = set(text.lower().split())
    bits = 0
    for word in words:
        bits |= 1 << (hash(word) & 255)
    return bits, len(words)
