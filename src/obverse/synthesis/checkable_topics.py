"""Checkable dual views out of nothing but a corpus: neighbours on the same subject, told apart by a program."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from obverse.errors import SettingError
from obverse.identity import text_uid
from obverse.log import progress
from obverse.mine.bm25 import BM25Index
from obverse.records import Doc, Label, Topic, View
from obverse.sampling import rng_for
from obverse.stages import Drops
from obverse.synthesis.checkable import dual
from obverse.synthesis.conditions import facts, shared_subject

_FEWEST_WORDS = 2


def checkable_topics(
    corpus: Mapping[str, Doc] | Iterable[Doc],
    size: int = 5_000,
    seed: int = 0,
    *,
    take: int = 6,
    exclude: Collection[str] = (),
    drops: Drops | None = None,
) -> Iterator[Topic]:
    """Yields topics with a plain view and two checkable views each.

    Two neighbours by BM25 share a subject: the words of one's title that the other holds too are the query, and
    without an instruction both are right. Each instruction then asks for something that one meets and the other
    breaks. Further neighbours are negatives in the plain view where they lack a word of the query, else ignored;
    under an instruction they are negatives where they break it.

    Args:
        corpus: The documents.
        size: How many topics at most; fewer come where the corpus gives no more.
        seed: Draws depend on it and on the two documents.
        take: Candidates per topic.
        exclude: Documents that stand in no topic, such as those of a held-out set.
        drops: Notes when the corpus ran out.

    Raises:
        SettingError: If the corpus is too small or a setting makes no sense.
    """
    values = corpus.values() if isinstance(corpus, Mapping) else corpus
    docs = [
        doc
        for doc in values
        if doc.doc_id not in exclude and doc.text.strip() and doc.title.strip()
    ]
    if len(docs) < 3 or take < 2 or size < 1:
        raise SettingError(
            f"{len(docs)} documents with title and text, {take} candidates, {size} topics make no sense",
            fix="Give at least three titled documents, --take 2 or more and --size 1 or more",
        )
    neighbours = _neighbours(docs, take)
    order = list(range(len(docs)))
    rng_for(seed, "checkable_topics").shuffle(order)
    made, used = 0, set[frozenset[int]]()
    for turn in range(take):
        for number in order:
            topic = _topic(number, turn, docs, neighbours, used, seed)
            if topic is None:
                continue
            yield topic
            made += 1
            if made == size:
                return
    if drops is not None:
        drops.add("-", "the corpus gives no more", made=made, asked=size)


def _neighbours(docs: Sequence[Doc], take: int) -> list[list[int]]:
    """Returns the best neighbours of each document, without copies of it or of one another."""
    index = BM25Index(docs)
    uids = [text_uid(doc.text) for doc in docs]
    found: list[list[int]] = []
    for number, doc in progress(enumerate(docs), "neighbours", len(docs)):
        near: dict[int, int] = {}
        for other, _ in index.search(doc.title, 3 * take):
            if uids[other] != uids[number]:
                near.setdefault(uids[other], other)
        found.append(list(near.values())[:take])
    return found


def _topic(
    number: int,
    turn: int,
    docs: Sequence[Doc],
    neighbours: Sequence[Sequence[int]],
    used: set[frozenset[int]],
    seed: int,
) -> Topic | None:
    near = neighbours[number]
    if turn >= len(near) or (pair := frozenset((number, near[turn]))) in used:
        return None
    first, second = docs[number], docs[near[turn]]
    query = shared_subject(first, second)
    if len(query.split()) < _FEWEST_WORDS:
        return None
    rest = [docs[n] for n in near if n != near[turn]]
    words = set(query.split())
    plain = View(
        "",
        {first.doc_id: Label.POSITIVE, second.doc_id: Label.POSITIVE}
        | {
            doc.doc_id: Label.IGNORE if words <= facts(doc).tokens.keys() else Label.NEGATIVE
            for doc in rest
        },
        {"method": "checkable", "side": "plain"},
    )
    topic = Topic(
        f"checkable-{first.doc_id}-{second.doc_id}", query, (first, second, *rest), (plain,)
    )
    rng = rng_for(seed, "checkable", topic.topic_id)
    views = dual(topic, plain, first.doc_id, second.doc_id, rng)
    if not views:
        return None
    used.add(pair)
    return topic.with_views([plain, *views])
