"""Drops what stands in a test set: by id, by text, by a run of thirteen words, by closeness of queries."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.errors import InputError, SettingError
from obverse.files import in_folder, read_corpus, read_json_lines, read_topics
from obverse.filters.dropping import keep_views
from obverse.filters.unique import overlap, words
from obverse.identity import normalised, text_uid
from obverse.records import Doc, Topic
from obverse.stages import Drops, Stage

if TYPE_CHECKING:
    from obverse.models import Encoder

LEVELS = ("id", "text", "ngram", "embedding")
REASONS = {
    "id": "leak: the id of a test document",
    "text": "leak: the text of a test query or document",
    "ngram": "leak: thirteen words in a row of a test query or document",
    "embedding": "leak: nearly a test query",
}
RUN = 13
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class HeldOut:
    """What must not be trained on.

    Attributes:
        name: What it is called in the made-file.
        queries: The texts of the test queries.
        doc_ids: The ids of relevant documents, with the text where it is known.
        uids: Content hashes of queries and relevant documents.
        runs: Hashes of every run of thirteen words in them.
    """

    name: str = ""
    queries: list[str] = field(default_factory=list)
    doc_ids: dict[str, str | None] = field(default_factory=dict)
    uids: set[int] = field(default_factory=set)
    runs: set[int] = field(default_factory=set)

    def add(self, other: HeldOut) -> None:
        """Adds another test set."""
        self.queries += other.queries
        self.doc_ids |= other.doc_ids
        self.uids |= other.uids
        self.runs |= other.runs

    def add_query(self, *texts: str) -> None:
        """Adds a test query; of an instruction with it, its runs of words."""
        self.queries.append(texts[0])
        self.uids.add(text_uid(texts[0]))
        for text in texts:
            self.runs |= set(runs(text))

    def add_doc(self, doc_id: str, doc: Doc | None) -> None:
        """Adds a relevant document."""
        self.doc_ids[doc_id] = None if doc is None else doc.text
        if doc is not None and doc.text.strip():
            self.uids.add(text_uid(doc.text))
            self.runs |= set(runs(doc.text))


def leak(
    against: Sequence[str | HeldOut],
    levels: Sequence[str] = ("id", "text", "ngram"),
    encoder: Encoder | str | None = None,
    closeness: float = 0.95,
) -> Stage:
    """Returns the stage that drops topics and views that a test set holds.

    A topic goes where its query is a test query: by its text, by a run of thirteen words, or by the cosine of the two
    queries. A view goes where one of its positives is a relevant document of the test set: by its id (if the texts,
    where both are known, have at least half of their words in common: ids of other corpora collide), by its text, or
    by a run of thirteen words; the topic goes with its plain view. Negatives may be shared: test sets and training
    sets are often cut from one corpus.

    Args:
        against: Test sets: topics benchmarks (a folder or a topics file), BEIR folders with ``qrels/test.tsv``, or
            what was read already.
        levels: Which of ``id``, ``text``, ``ngram``, ``embedding`` are looked at.
        encoder: For the level ``embedding``.
        closeness: The cosine from which two queries are nearly the same.

    Raises:
        SettingError: If a level is unknown, or no test set is named.
    """
    unknown = set(levels) - set(LEVELS)
    if unknown:
        raise SettingError(f"unknown level {min(unknown)!r}", fix=f"Use {', '.join(LEVELS)}")
    if not against:
        raise SettingError("no test set is named", fix="Give --against FOLDER")
    if "embedding" in levels and encoder is None:
        raise SettingError("the level embedding needs an encoder", fix="Give --model")

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        tests = read_test_sets(against)
        near = _Nearness(encoder, tests.queries, closeness) if "embedding" in levels else None
        for topic in topics:
            if reason := _query_leaks(topic, tests, levels, near):
                drops.add(topic.topic_id, reason, query=topic.query)
                continue
            texts = {doc.doc_id: doc for doc in topic.docs}
            found = {
                doc_id: reason
                for doc_id in {d for view in topic.views for d in view.positives}
                if (reason := _doc_leaks(doc_id, texts.get(doc_id), tests, levels))
            }
            plain = topic.plain_view
            if plain and (shared := [d for d in plain.positives if d in found]):
                drops.add(topic.topic_id, found[shared[0]], doc_id=shared[0])
                continue
            kept = []
            for view in topic.views:
                if shared := [doc_id for doc_id in view.positives if doc_id in found]:
                    drops.add(topic.topic_id, found[shared[0]], view=view, doc_id=shared[0])
                else:
                    kept.append(view)
            if (left := keep_views(topic, kept, drops)) is not None:
                yield left

    return stage


def leak_report(
    topics: Iterable[Topic],
    against: Sequence[str | HeldOut],
    levels: Sequence[str] = ("id", "text", "ngram"),
) -> dict[str, Any]:
    """Returns what the filter would take away: ``{"against", "levels", "dropped"}``, the counts by reason.

    Raises:
        SettingError: If a level is unknown, or no test set is named.
        InputError: If a test set cannot be read.
    """
    drops = Drops()
    for _ in leak(against, levels)(topics, drops):
        pass
    names = [one.name if isinstance(one, HeldOut) else Path(one).resolve().name for one in against]
    dropped = {reason: n for reason, n in drops.by_reason.items() if reason in REASONS.values()}
    return {"against": names, "levels": list(levels), "dropped": dropped}


def _query_leaks(
    topic: Topic, tests: HeldOut, levels: Sequence[str], near: _Nearness | None
) -> str | None:
    if "text" in levels and text_uid(topic.query) in tests.uids:
        return REASONS["text"]
    if "ngram" in levels and not tests.runs.isdisjoint(runs(topic.query)):
        return REASONS["ngram"]
    if near is not None and near(topic.query):
        return REASONS["embedding"]
    return None


def _doc_leaks(doc_id: str, doc: Doc | None, tests: HeldOut, levels: Sequence[str]) -> str | None:
    if "id" in levels and doc_id in tests.doc_ids:
        known = tests.doc_ids[doc_id]
        if known is None or doc is None or overlap(words(known, 1), words(doc.text, 1)) >= 0.5:
            return REASONS["id"]
    if doc is None:
        return None
    if "text" in levels and text_uid(doc.text) in tests.uids:
        return REASONS["text"]
    if "ngram" in levels and not tests.runs.isdisjoint(runs(doc.text)):
        return REASONS["ngram"]
    return None


class _Nearness:
    """Whether a query is close to one of the test queries."""

    def __init__(self, encoder: Encoder | str | None, queries: list[str], closeness: float) -> None:
        if isinstance(encoder, str):
            from obverse.models import load_encoder

            encoder = load_encoder(encoder)
        assert encoder is not None  # leak has checked
        self._encoder, self._closeness = encoder, closeness
        self._tests = encoder.queries([(query, "") for query in queries])

    def __call__(self, query: str) -> bool:
        vector = self._encoder.queries([(query, "")])[0]
        return bool(len(self._tests)) and float(np.max(self._tests @ vector)) >= self._closeness


def runs(text: str) -> Iterator[int]:
    """Yields hashes of the runs of thirteen words of a text; they hold within this process alone."""
    tokens = _WORD.findall(normalised(text))
    for start in range(len(tokens) - RUN + 1):
        yield hash(" ".join(tokens[start : start + RUN]))


def read_test_sets(sources: Iterable[str | os.PathLike[str] | HeldOut]) -> HeldOut:
    """Returns what stands in test sets, taken together.

    Raises:
        InputError: If a folder or file is no test set.
    """
    tests = HeldOut()
    for source in sources:
        if isinstance(source, HeldOut):
            tests.add(source)
            continue
        path = Path(source)
        if not path.is_dir():
            _add_topics(tests, read_topics(path), {})
        elif (topics := _find(path, "topics.jsonl")) is not None:
            corpus = _find(path, "corpus.jsonl")
            _add_topics(tests, read_topics(topics), read_corpus(corpus) if corpus else {})
        else:
            _add_beir(tests, path)
    return tests


def _find(folder: Path, stem: str) -> Path | None:
    try:
        return in_folder(folder, stem)
    except InputError:
        return None


def _add_topics(tests: HeldOut, topics: Iterable[Topic], corpus: dict[str, Doc]) -> None:
    for topic in topics:
        tests.add_query(topic.query, *(view.instruction for view in topic.instructed_views))
        own = {doc.doc_id: doc for doc in topic.docs}
        for doc_id in {doc_id for view in topic.views for doc_id in view.positives}:
            tests.add_doc(doc_id, own.get(doc_id) or corpus.get(doc_id))


def _add_beir(tests: HeldOut, folder: Path) -> None:
    queries = {
        str(row.get("_id")): str(row.get("text", ""))
        for _, row in read_json_lines(in_folder(folder, "queries.jsonl"))
    }
    corpus = read_corpus(in_folder(folder, "corpus.jsonl"))
    qrels = folder / "qrels" / "test.tsv"
    if not qrels.is_file():
        raise InputError(
            "no such file", where=str(qrels), fix="Give a BEIR folder with its test qrels"
        )
    used: set[str] = set()
    for line in qrels.read_text(encoding="utf-8").splitlines()[1:]:
        query_id, doc_id, grade = [*line.split("\t"), "", ""][:3]
        if grade.strip() not in ("", "0") and query_id in queries:
            tests.add_doc(doc_id, corpus.get(doc_id))
            used.add(query_id)
    for query_id in sorted(used):
        tests.add_query(queries[query_id])
