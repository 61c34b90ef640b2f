"""Hard negatives for topics: documents that look right for the query and are not labelled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol

from obverse.errors import SettingError
from obverse.identity import text_uid
from obverse.log import say
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops

_BATCH = 256


class Index(Protocol):
    """Ranks the corpus for queries: ``(document number, score)``, the best first."""

    def search_all(self, queries: Sequence[str], depth: int) -> Iterable[list[tuple[int, float]]]:
        """Returns the hits of each query."""
        ...


@dataclass(slots=True)
class Starved:
    """How many topics got fewer negatives than asked for."""

    asked: int
    topics: int = 0
    short: int = 0
    missing: int = 0
    examples: list[str] = field(default_factory=list)

    def count(self, topic_id: str, got: int) -> None:
        self.topics += 1
        if got < self.asked:
            self.short += 1
            self.missing += self.asked - got
            if len(self.examples) < 5:
                self.examples.append(f"{topic_id} ({got})")

    def __str__(self) -> str:
        if not self.short:
            return f"every topic got {self.asked} negatives"
        return (
            f"starved: {self.short:,} of {self.topics:,} topics got fewer than {self.asked} negatives "
            f"({self.missing:,} missing; never topped up at random): {', '.join(self.examples)}"
        )


def mine(
    topics: Iterable[Topic],
    corpus: Mapping[str, Doc] | Sequence[Doc],
    by: str = "bm25",
    take: int = 5,
    *,
    depth: int = 200,
    language: str = "english",
    stopwords: str = "off",
    drops: Drops | None = None,
) -> Iterator[Topic]:
    """Yields the topics with hard negatives added: to the plain view, or to every view where there is none.

    Never taken: documents that any view labels, documents whose text is that of a labelled or already taken one
    (:mod:`obverse.identity`), and documents without a score. Ties go to the higher document id. A topic that
    gets fewer than ``take`` is reported, never topped up at random.

    Args:
        topics: What to mine for; the query alone is asked, without any instruction.
        corpus: The documents to mine from.
        by: ``bm25``.
        take: Negatives per topic.
        depth: How far down the ranking to look.
        language: Whose stemmer BM25 uses, or ``none``.
        stopwords: ``off`` or ``english``.
        drops: Notes documents passed over because their text is a labelled document's.

    Raises:
        SettingError: If a setting makes no sense.
    """
    docs = list(corpus.values()) if isinstance(corpus, Mapping) else list(corpus)
    if take < 1:
        raise SettingError("--take must be at least 1", fix="Give the negatives per topic")
    if not docs:
        raise SettingError("the corpus is empty", fix="Give documents to mine from")
    index = _index(by, docs, language, stopwords)
    uids: dict[int, int] = {}
    starved = Starved(take)
    drops = Drops() if drops is None else drops
    rest = iter(topics)
    while batch := list(islice(rest, _BATCH)):
        hits = index.search_all([topic.query for topic in batch], depth)
        for topic, ranked in zip(batch, hits, strict=True):
            chosen = _choose(topic, ranked, docs, uids, take, drops)
            starved.count(topic.topic_id, len(chosen))
            yield with_negatives(topic, [docs[number] for number in chosen], {"mined_by": by})
    say(f"mine: {starved}")


def _index(by: str, docs: Sequence[Doc], language: str, stopwords: str) -> Index:
    if by == "bm25":
        from obverse.mine.bm25 import BM25Index
        from obverse.mine.tokens import Tokeniser

        return BM25Index(docs, Tokeniser(language, stopwords))
    raise SettingError(f"cannot mine by {by!r}", fix="Use bm25")


def _choose(
    topic: Topic,
    ranked: Sequence[tuple[int, float]],
    docs: Sequence[Doc],
    uids: dict[int, int],
    take: int,
    drops: Drops,
) -> list[int]:
    labelled = {doc_id for view in topic.views for doc_id in view.labels}
    known = {text_uid(full_text(doc)): doc.doc_id for doc in topic.docs}
    chosen: list[int] = []
    for number, _ in ranked:
        doc = docs[number]
        if doc.doc_id in labelled:
            continue
        uid = uids.get(number) or uids.setdefault(number, text_uid(full_text(doc)))
        if uid in known:
            drops.add(
                topic.topic_id,
                "a candidate with the text of a labelled or taken document",
                candidate=doc.doc_id,
                same_as=known[uid],
            )
            continue
        known[uid] = doc.doc_id
        chosen.append(number)
        if len(chosen) == take:
            break
    return chosen


def with_negatives(topic: Topic, docs: Sequence[Doc], origin: Mapping[str, object]) -> Topic:
    """Returns the topic with documents added as negatives of its plain view, else of all its views."""
    if not docs:
        return topic
    plain = topic.plain_view
    added = {doc.doc_id: Label.NEGATIVE for doc in docs}

    def grown(view: View) -> View:
        if plain is not None and not view.is_plain:
            return view
        return replace(
            view,
            labels={**view.labels, **added},
            origin={**view.origin, **origin, "mined": len(docs)},
        )

    return replace(
        topic, docs=(*topic.docs, *docs), views=tuple(grown(view) for view in topic.views)
    )


def full_text(doc: Doc) -> str:
    """Returns title and text as one string, as documents are compared."""
    return f"{doc.title} {doc.text}" if doc.title else doc.text
