"""Hard negatives for topics: documents that look right for the query and are not labelled."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from obverse.errors import InputError, SettingError
from obverse.log import say
from obverse.mine.choosing import Miner, with_negatives
from obverse.mine.windows import Window
from obverse.records import Doc, Topic
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

    Never taken: the topic's own documents, documents whose text is that of one of these or of an already taken one
    (:mod:`obverse.identity`; a missing title makes no difference), and, by BM25, documents without a common word.
    Ties go to the higher document id. A topic that gets fewer than ``take`` is reported, never topped up at random;
    the view's origin says how many were ``mined``.

    Args:
        topics: What to mine for; the query alone is asked, without any instruction. Topics without documents, as in
            a topics benchmark, get those that their views label from the corpus.
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
        drops: Notes candidates passed over because the topic has their text.

    Raises:
        SettingError: If a setting makes no sense.
        InputError: If a topic has no documents and the corpus lacks one that it labels.
    """
    window = Window(first_rank, last_rank, min_score, max_score, below_positive)
    docs = list(corpus.values() if isinstance(corpus, Mapping) else corpus)
    by_id = corpus if isinstance(corpus, Mapping) else {doc.doc_id: doc for doc in docs}
    if not docs:
        raise SettingError("the corpus is empty", fix="Give documents to mine from")
    methods = _methods(by)
    asked = _indexes(index, methods)
    _check(take, pick, k1, b, memory_mb)
    kept = _kept(cache)
    indexes = [
        _bm25(docs, language, stopwords, k1, b, kept, "tantivy" in asked)
        if method == "bm25"
        else _dense(docs, encoder, memory_mb, kept, "faiss" in asked)
        for method in methods
    ]
    miner = Miner(docs, window, take, pick, seed, Drops() if drops is None else drops, len(methods))
    rest = iter(topics)
    while batch := [_with_docs(topic, by_id) for topic in islice(rest, _BATCH)]:
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


def _with_docs(topic: Topic, corpus: Mapping[str, Doc]) -> Topic:
    """Returns a topic that has its documents."""
    if topic.docs:
        return topic
    wanted = dict.fromkeys(doc_id for view in topic.views for doc_id in view.labels)
    missing = next((doc_id for doc_id in wanted if doc_id not in corpus), None)
    if missing is not None:
        raise InputError(
            f"topic {topic.topic_id!r} labels document {missing!r}, which the corpus lacks",
            fix="Give the corpus that the topics were judged on",
        )
    return replace(topic, docs=tuple(corpus[doc_id] for doc_id in wanted))


def _methods(by: str) -> list[str]:
    methods = by.split("+")
    if not set(methods) <= set(METHODS) or len(set(methods)) < len(methods):
        raise SettingError(f"cannot mine by {by!r}", fix="Use bm25, dense or bm25+dense")
    return methods


def _check(take: int, pick: str, k1: float, b: float, memory_mb: int) -> None:
    if take < 1:
        raise SettingError("--take must be at least 1", fix="Give the negatives per topic")
    if pick not in ("best", "random"):
        raise SettingError(f"--pick {pick!r}", fix="Use best or random")
    if not (0 <= k1 < math.inf and 0 <= b <= 1):
        raise SettingError(f"k1 is {k1} and b is {b}", fix="Give k1 of 0 or more and b from 0 to 1")
    if memory_mb < 1:
        raise SettingError(f"--memory-mb is {memory_mb}", fix="Give at least 1")


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
