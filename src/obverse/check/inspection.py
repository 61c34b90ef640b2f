"""The closer look of ``obverse check``: at ids, texts, labels and instructions, while the rows stream by."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from obverse.check.languages import language
from obverse.check.near import NEAR, Outlines
from obverse.check.schema import RepeatedRows, SchemaWatch, marks, shape
from obverse.identity import normalised, same_text_rule, text_uid
from obverse.read.documents import full_text
from obverse.read.faults import Example, Findings, Looks
from obverse.read.gathering import Gathering
from obverse.read.kept import Kept
from obverse.records import Doc, Label, Topic, View

_BOUNDS = ("under", "below", "less than", "cheaper than", "up to", "maximum", "max")
_SIGNS = ("$", "€", "£")
_MONEY = ("eur", "usd", "dollars", "euros")
_WHEN = ("before", "after", "since", "until")
_FILTER_WORDS = re.compile(
    rf"(?i)\b(?:{'|'.join(_BOUNDS)})\s*[{''.join(_SIGNS)}]?\s*\d"
    rf"|[{''.join(_SIGNS)}]\s*\d|\d\s*(?:{'|'.join(_MONEY)})\b"
    rf"|\b(?:{'|'.join(_WHEN)})\s+(?:19|20)\d\d\b"
)
_FILTER_PARTS = (*_BOUNDS, *_SIGNS, *_MONEY, *_WHEN)
"""A text that matches holds one of these; most texts do not, and this is told faster."""
_COPY_WORDS = 8
"""An instruction that shares this many words in a row with a positive copies it."""

_NULL_WORDS = frozenset(
    {"nan", "null", "none", "undefined", "n/a", "#n/a", "<na>", "nil", "nat", "(null)"}
)
_LONG_QUERY = 2_000

_LOOKS = Looks(language, shape, marks)


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
    looks: Looks = _LOOKS
    leaks: dict[int, str] = field(default_factory=dict)
    leak_code: str = "benchmark_leak"
    leaked_documents: bool = True
    _repeated: RepeatedRows = field(default_factory=RepeatedRows)
    _schema: SchemaWatch = field(default_factory=SchemaWatch)
    _texts: dict[int, str] = field(default_factory=dict)
    _ids: dict[str, int] = field(default_factory=dict)
    _outlines: Outlines = field(default_factory=Outlines)
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

    def as_before(self, shape: Any, count: int) -> bool:
        """Follows the shape of rows that need not be seen."""
        return self._schema.as_before(shape, count)

    def raws(self, lines: Sequence[int], marks: bytes) -> None:
        """Looks for rows that stand twice."""
        self._repeated.add(lines, marks, self.findings)

    def documents(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        lines: Sequence[int],
        fields: Sequence[str],
        uids: Sequence[int],
        looks: Sequence[str | None],
    ) -> None:
        """Looks at the ids, languages, lengths and copies of documents."""
        note = self.findings.note
        columns = zip(ids, texts, lines, fields, uids, looks, strict=True)
        for doc_id, text, line, place, uid, found in columns:
            self._id(doc_id, line, "id" if place == "text" else place)
            if self._ids.setdefault(doc_id, uid) != uid:
                message = f"document {doc_id!r} has another text before"
                note("id_with_two_texts", line, place, message)
            other = self._texts.setdefault(uid, doc_id)
            if other != doc_id:
                message = f"{doc_id!r} has the text of {other!r}"
                note("duplicate_document", line, place, message)
            if len(text) < 20 and text.strip().lower() in _NULL_WORDS:
                note("null_word", line, place, f"document {doc_id!r} is {text!r}")
            self._spoken("document", found, doc_id, line, place)
            self._tokens(text, doc_id, line, place)
            if self.leaks and self.leaked_documents and uid in self.leaks:
                message = f"document {doc_id!r} is in {self.leaks[uid]}"
                note(self.leak_code, line, place, message)

    def topic(self, topic: Topic, line: int) -> None:
        """Looks at a topic of a topics file."""
        self._asked(topic.topic_id, topic.query, len(topic.docs), line)
        if len(topic.views) > 1:
            self._contradictions(topic.views, line)
        docs = {doc.doc_id: doc for doc in topic.docs}
        for place, view in enumerate(topic.views):
            if docs:
                self._twins(_pairs(view, docs, line))
            if not view.is_plain:
                field = f"views[{place}].instruction" if len(topic.views) > 1 else "instruction"
                positives = [docs[doc_id] for doc_id in view.positives if doc_id in docs]
                self._instruction(
                    topic.topic_id, topic.query, view.instruction, positives, line, field
                )

    def topics(self, gathering: Gathering, found: Kept) -> None:
        """Looks at the topics that rows were gathered to."""
        counts = np.diff(found.docs()[1]).tolist()
        views, bounds = found.views.tolist(), pairwise(found.view_starts.tolist())
        columns = zip(found.topics.tolist(), counts, bounds, strict=True)
        for place, (topic, count, (first, end)) in enumerate(columns):
            line = gathering.line_of(topic)
            self._asked(gathering.topic_ids[topic], gathering.queries[topic], count, line)
            instructions = [gathering.instructions[view] for view in views[first:end]]
            if any(instructions):
                self._instructions(gathering, found, first, instructions, topic)
            if end - first > 1 and len(set(map(normalised, instructions))) < end - first:
                self._contradictions(gathering.made(found, place).views, line)
        self._twins(self._near(gathering, found))

    def _near(self, gathering: Gathering, found: Kept) -> Iterator[tuple[Doc, Doc, int, int]]:
        """Yields the pairs that may be the same or nearly, by topic, the plain view first."""
        labels, doc = found.labels, gathering.documents.doc
        negatives, positives = found.pairs()
        some, others = labels.docs[negatives], labels.docs[positives]
        near = self._outlines.alike(some, others, gathering.documents.whole)
        views, topics = labels.views[negatives[near]], labels.topics[negatives[near]]
        instructed = np.asarray([bool(gathering.instructions[view]) for view in views.tolist()])
        for at in near[np.lexsort((near, instructed, topics))].tolist():
            line = gathering.line_of(int(labels.topics[negatives[at]]))
            yield doc(int(some[at])), doc(int(others[at])), int(negatives[at]), line

    def _instructions(
        self,
        gathering: Gathering,
        found: Kept,
        first: int,
        instructions: list[str],
        topic: int,
    ) -> None:
        """Looks at the instructions of a topic's views, the plain one first."""
        order = sorted(range(len(instructions)), key=lambda at: bool(instructions[at]))
        for place, at in enumerate(order):
            if instructions[at]:
                field = f"views[{place}].instruction" if len(order) > 1 else "instruction"
                copied = map(gathering.documents.doc, found.positives(first + at))
                self._instruction(
                    gathering.topic_ids[topic],
                    gathering.queries[topic],
                    instructions[at],
                    copied,
                    gathering.line_of(topic),
                    field,
                )

    def _asked(self, topic_id: str, query: str, count: int, line: int) -> None:
        """Looks at a topic's id, query and number of candidates."""
        note = self.findings.note
        self._queries += 1
        self._id(topic_id, line, "query_id")
        self._language("query", query, topic_id, line, "query")
        self._filter(query, line, "query")
        if len(query) < 20 and query.strip().lower() in _NULL_WORDS:
            note("null_word", line, "query", f"the query is {query!r}")
        if len(query) > _LONG_QUERY:
            note("huge_query", line, "query", f"has {len(query):,} characters")
        found = self.leaks.get(text_uid(query)) if self.leaks else None
        if found is not None:
            note(self.leak_code, line, "query", f"{query[:60]!r} is in {found}")
        least = self.limits.min_candidates
        if 0 < count < least:
            message = f"topic {topic_id!r} has {count}, asked for {least}"
            note("too_few_candidates", line, None, message)

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
        self._spoken(what, language(text), name, line, field)

    def _spoken(self, what: str, found: str | None, name: str, line: int, field: str) -> None:
        """Counts a language."""
        if found is None:
            return
        self._languages.setdefault(what, Counter())[found] += 1
        examples = self._strays.setdefault(what, {}).setdefault(found, [])
        if len(examples) < 3:
            examples.append(Example(self.findings.place, line, field, f"{what} {name!r}"))

    def _tokens(self, text: str, doc_id: str, line: int, field: str) -> None:
        count, limit = self.limits.count_tokens, self.limits.max_tokens
        if count is None or len(text) <= limit:
            return
        tokens = count(text)
        if tokens > limit:
            self.findings.note(
                "over_token_limit",
                line,
                field,
                f"document {doc_id!r} has {tokens:,} tokens, {tokens - limit:,} beyond {limit:,}",
            )

    def _twins(self, pairs: Iterable[tuple[Doc, Doc, int, int]]) -> None:
        """Notes negatives with a positive's text, exactly or nearly.

        Args:
            pairs: A negative, a positive of its view, what tells the negative's labels apart, and a line.
        """
        done = -1
        for negative, positive, label, line in pairs:
            if label != done and self._twin(negative, positive, line):
                done = label

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
        if shared >= NEAR:
            self.findings.note(
                "near_duplicate",
                line,
                None,
                f"negative {negative.doc_id!r} shares {shared:.0%} of its words with positive {positive.doc_id!r}",
            )
        return shared >= NEAR

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
        self,
        topic_id: str,
        query: str,
        instruction: str,
        positives: Iterable[Doc],
        line: int,
        field: str,
    ) -> None:
        self._instructed += 1
        compared = normalised(instruction)
        self._filter(instruction, line, field)
        self._language("instruction", instruction, topic_id, line, field)
        if compared == normalised(query):
            self.findings.note("instruction_equals_query", line, field, repr(query[:60]))
        words = compared.split()
        # Every run of eight words holds one of these fours whole.
        fours = [" ".join(words[at : at + 4]) for at in range(0, len(words) - 3, 4)]
        for doc in positives if len(words) >= _COPY_WORDS else ():
            text = normalised(full_text(doc))
            copied = _copied(words, text) if any(four in text for four in fours) else None
            if copied is not None:
                message = f"copies {copied[:60]!r} from document {doc.doc_id!r}"
                self.findings.note("instruction_copies_document", line, field, message)
                return

    def _filter(self, text: str, line: int, field: str) -> None:
        lowered = text.lower()
        if any(part in lowered for part in _FILTER_PARTS) and _FILTER_WORDS.search(text):
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


def _copied(words: list[str], text: str) -> str | None:
    """Returns a run of words that stands in a text, or None."""
    runs = {" ".join(words[at : at + _COPY_WORDS]) for at in range(len(words) - _COPY_WORDS + 1)}
    return next((run for run in runs if run in text), None)


def _pairs(view: View, docs: dict[str, Doc], line: int) -> Iterator[tuple[Doc, Doc, int, int]]:
    """Yields the pairs of a view that may be the same or nearly."""
    negatives, positives = view.negatives, view.positives
    texts = [full_text(docs[doc_id]) for doc_id in (*negatives, *positives)]
    some = np.repeat(np.arange(len(negatives)), len(positives))
    others = np.tile(np.arange(len(negatives), len(texts)), len(negatives))
    for at in Outlines().alike(some, others, texts.__getitem__).tolist():
        label, other = divmod(at, len(positives))
        yield docs[negatives[label]], docs[positives[other]], label, line
