"""Hard negatives for topics: documents that look right for the query and are not labelled."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from obverse.errors import SettingError
from obverse.identity import text_uid
from obverse.log import say
from obverse.mine.windows import Window
from obverse.records import Doc, Label, Topic, View
from obverse.sampling import rng_for
from obverse.stages import Drops

if TYPE_CHECKING:
    from obverse.mine.kept import Kept
    from obverse.models import Encoder

METHODS = ("bm25", "dense")
INDEXES = {"faiss": "dense", "tantivy": "bm25"}
"""Optional indexes and what they search."""
_BATCH = 256


class Index(Protocol):
    """Ranks the corpus for queries: ``(document number, score)``, the best first."""

    def search_all(self, queries: Sequence[str], depth: int) -> Iterable[list[tuple[int, float]]]:
        """Returns the hits of each query."""
        ...

    def scores(self, query: str, docs: Sequence[Doc]) -> list[float]:
        """Returns the scores of documents that need not be in the corpus."""
        ...


@dataclass(slots=True)
class Starved:
    """How many topics got fewer negatives than asked for, and what the candidates were refused for."""

    asked: int
    topics: int = 0
    short: int = 0
    missing: int = 0
    examples: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)

    def count(self, topic_id: str, got: int) -> None:
        self.topics += 1
        if got < self.asked:
            self.short += 1
            self.missing += self.asked - got
            if len(self.examples) < 5:
                self.examples.append(f"{topic_id} ({got})")

    def __str__(self) -> str:
        refused = "; ".join(f"{count:,} {why}" for why, count in self.refused.most_common())
        passed = f"; passed over: {refused}" if refused else ""
        if not self.short:
            return f"every topic got {self.asked} negatives{passed}"
        return (
            f"starved: {self.short:,} of {self.topics:,} topics got fewer than {self.asked} negatives "
            f"({self.missing:,} missing, never topped up at random): {', '.join(self.examples)}{passed}"
        )


def mine(
    topics: Iterable[Topic],
    corpus: Mapping[str, Doc] | Sequence[Doc],
    by: str = "bm25",
    take: int = 5,
    *,
    first_rank: int = 1,
    last_rank: int = 200,
    min_score: float | None = None,
    max_score: float | None = None,
    below_positive: float | None = None,
    pick: str = "best",
    language: str = "english",
    stopwords: str = "off",
    k1: float = 0.9,
    b: float = 0.4,
    encoder: Encoder | str | None = None,
    memory_mb: int = 1_000,
    index: str = "own",
    cache: str | os.PathLike[str] | None = None,
    seed: int = 0,
    drops: Drops | None = None,
) -> Iterator[Topic]:
    """Yields the topics with hard negatives added: to the plain view, or to every view where there is none.

    Never taken: documents that any view labels, documents whose text is that of a labelled or already taken one
    (:mod:`obverse.identity`), and, by BM25, documents without a common word. Ties go to the higher document id. A
    topic that gets fewer than ``take`` is reported, never topped up at random.

    Args:
        topics: What to mine for; the query alone is asked, without any instruction.
        corpus: The documents to mine from.
        by: ``bm25``, ``dense``, or ``bm25+dense``, which takes from the two in turn.
        take: Negatives per topic.
        first_rank: The best rank that is taken, from 1.
        last_rank: The worst rank that is looked at.
        min_score: The least score of a negative.
        max_score: The highest.
        below_positive: A negative must score below this share of the lowest positive's score, such as 0.95.
        pick: ``best`` takes the best that are left, ``random`` draws among all in the window.
        language: Whose stemmer BM25 uses, or ``none``.
        stopwords: What BM25 leaves out: ``off`` or ``english``.
        k1: BM25: how soon repeated words stop counting.
        b: BM25: how much long documents are held back, in [0, 1].
        encoder: For dense mining: an encoder, or the name of one.
        memory_mb: How much dense search may hold at once, in MB.
        index: ``own``; ``faiss`` for dense; ``tantivy`` for BM25, on disk; or ``tantivy+faiss``.
        cache: Where indexes and vectors are kept between runs, by content; None keeps none.
        seed: For ``pick="random"``; the draw depends on the seed and the topic alone.
        drops: Notes candidates passed over because their text is a labelled document's.

    Raises:
        SettingError: If a setting makes no sense.
    """
    window = Window(first_rank, last_rank, min_score, max_score, below_positive)
    docs = list(corpus.values()) if isinstance(corpus, Mapping) else list(corpus)
    if take < 1:
        raise SettingError("--take must be at least 1", fix="Give the negatives per topic")
    if pick not in ("best", "random"):
        raise SettingError(f"--pick {pick!r}", fix="Use best or random")
    if not docs:
        raise SettingError("the corpus is empty", fix="Give documents to mine from")
    methods = by.split("+")
    if not set(methods) <= set(METHODS):
        raise SettingError(f"cannot mine by {by!r}", fix="Use bm25, dense or bm25+dense")
    asked = _indexes(index, methods)
    if k1 < 0 or not 0 <= b <= 1:
        raise SettingError(f"k1 is {k1} and b is {b}", fix="Give k1 of 0 or more and b from 0 to 1")
    kept = _kept(cache)
    indexes = [
        _bm25(docs, language, stopwords, k1, b, kept, "tantivy" in asked)
        if method == "bm25"
        else _dense(docs, encoder, memory_mb, kept, "faiss" in asked)
        for method in methods
    ]
    miner = _Miner(docs, window, take, pick, seed, Drops() if drops is None else drops)
    rest = iter(topics)
    while batch := list(islice(rest, _BATCH)):
        queries = [topic.query for topic in batch]
        found = [list(each.search_all(queries, last_rank)) for each in indexes]
        for number, topic in enumerate(batch):
            ranked = [
                miner.allowed(topic, each, hits[number])
                for each, hits in zip(indexes, found, strict=True)
            ]
            chosen = miner.choose(topic, ranked)
            origin = {"mined_by": by, "mined": len(chosen)}
            yield with_negatives(topic, [docs[at] for at in chosen], origin)
    say(f"mine: {miner.starved}")


def _indexes(index: str, methods: Sequence[str]) -> set[str]:
    """Returns the optional indexes that were asked for."""
    names = set(index.split("+")) - {"own"}
    if not names <= set(INDEXES):
        raise SettingError(f"--index {index!r}", fix="Use own, faiss, tantivy or tantivy+faiss")
    for name in sorted(names):
        if INDEXES[name] not in methods:
            raise SettingError(
                f"--index {name} searches {INDEXES[name]}, and --by is {'+'.join(methods)}",
                fix=f"Give --by {INDEXES[name]}, or leave out --index",
            )
    return names


def _kept(cache: str | os.PathLike[str] | None) -> Kept | None:
    from obverse.mine.kept import Kept

    return Kept(cache) if cache else None


def _bm25(
    docs: Sequence[Doc],
    language: str,
    stopwords: str,
    k1: float,
    b: float,
    kept: Kept | None,
    tantivy: bool,
) -> Index:
    from obverse.mine.bm25 import BM25Index
    from obverse.mine.tantivy_index import TantivyIndex
    from obverse.mine.tokens import Tokeniser

    kind = TantivyIndex if tantivy else BM25Index
    return kind(docs, Tokeniser(language, stopwords), k1=k1, b=b, kept=kept)


def _dense(
    docs: Sequence[Doc],
    encoder: Encoder | str | None,
    memory_mb: int,
    kept: Kept | None,
    faiss: bool,
) -> Index:
    from obverse.mine.dense import DenseIndex
    from obverse.models import PACKAGED, load_encoder

    loaded = load_encoder(encoder or PACKAGED) if not hasattr(encoder, "queries") else encoder
    return DenseIndex(docs, loaded, memory_mb=memory_mb, kept=kept, faiss=faiss)  # type: ignore[arg-type]


@dataclass(slots=True)
class _Miner:
    """Chooses among ranked documents."""

    docs: Sequence[Doc]
    window: Window
    take: int
    pick: str
    seed: int
    drops: Drops
    uids: dict[int, int] = field(default_factory=dict)
    starved: Starved = field(init=False)

    def __post_init__(self) -> None:
        self.starved = Starved(self.take)

    def allowed(self, topic: Topic, index: Index, hits: Sequence[tuple[int, float]]) -> list[int]:
        """Returns the candidates of one ranking that the window lets through and no view labels."""
        labelled = {doc_id for view in topic.views for doc_id in view.labels}
        ceiling = self.window.ceiling(self._lowest_positive(topic, index))
        found = []
        for rank, (number, score) in enumerate(hits, start=1):
            if self.docs[number].doc_id in labelled:
                continue
            why = self.window.refusal(rank, score, ceiling)
            if why is None:
                found.append(number)
            else:
                self.starved.refused[why] += 1
        return found

    def _lowest_positive(self, topic: Topic, index: Index) -> float | None:
        if self.window.below_positive is None:
            return None
        view = topic.plain_view or topic.views[0]
        positives = [doc for doc in topic.docs if doc.doc_id in set(view.positives)]
        return min(index.scores(topic.query, positives), default=None)

    def choose(self, topic: Topic, ranked: Sequence[list[int]]) -> list[int]:
        """Returns the chosen candidates, taken from the rankings in turn; no text twice."""
        known = {text_uid(full_text(doc)): doc.doc_id for doc in topic.docs}
        if self.pick == "random":
            rng = rng_for(self.seed, "mine", topic.topic_id)
            ranked = [rng.sample(candidates, len(candidates)) for candidates in ranked]
        chosen: list[int] = []
        for number in _in_turn(ranked):
            if len(chosen) == self.take:
                break
            doc = self.docs[number]
            uid = self.uids.get(number) or self.uids.setdefault(number, text_uid(full_text(doc)))
            if uid not in known:
                known[uid] = doc.doc_id
                chosen.append(number)
            elif number not in chosen:
                self.drops.add(
                    topic.topic_id,
                    "a candidate with the text of a labelled or taken document",
                    candidate=doc.doc_id,
                    same_as=known[uid],
                )
        self.starved.count(topic.topic_id, len(chosen))
        return chosen


def _in_turn(ranked: Sequence[list[int]]) -> Iterator[int]:
    for place in range(max(map(len, ranked), default=0)):
        for candidates in ranked:
            if place < len(candidates):
                yield candidates[place]


def with_negatives(topic: Topic, docs: Sequence[Doc], origin: Mapping[str, object]) -> Topic:
    """Returns the topic with documents added as negatives of its plain view, else of all its views."""
    if not docs:
        return topic
    plain = topic.plain_view
    added = {doc.doc_id: Label.NEGATIVE for doc in docs}

    def grown(view: View) -> View:
        if plain is not None and not view.is_plain:
            return view
        return replace(view, labels={**view.labels, **added}, origin={**view.origin, **origin})

    return replace(
        topic, docs=(*topic.docs, *docs), views=tuple(grown(view) for view in topic.views)
    )


def full_text(doc: Doc) -> str:
    """Returns title and text as one string, as documents are compared."""
    return f"{doc.title} {doc.text}" if doc.title else doc.text
