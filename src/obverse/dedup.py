"""One topic for each query, one document for each text: what stands twice is put together, and said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from obverse.errors import SettingError
from obverse.identity import normalised, text_uid
from obverse.mine.tokens import Tokeniser
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops

_STRENGTH = {
    Label.IGNORE: 0,
    Label.NEGATIVE: 1,
    Label.INSTRUCTION_NEGATIVE: 2,
    Label.POSITIVE: 3,
}


def dedup(
    topics: Iterable[Topic], *, near: float | None = None, drops: Drops | None = None
) -> Iterator[Topic]:
    """Yields the topics with equal queries merged and equal documents of a topic made one.

    Texts are equal as :mod:`obverse.identity` says. Where labels of one document differ, the stronger stays:
    positive, instruction negative, negative, ignore. The topics are held in memory.

    Args:
        near: Also take away negatives that share at least this part of their words with a positive of their view,
            such as 0.9; without it only equal texts count.
        drops: Notes merged topics and documents.

    Raises:
        SettingError: If ``near`` is no share.
    """
    if near is not None and not 0 < near <= 1:
        raise SettingError(f"--near {near:g} is no share", fix="Give 0.9 or so")
    drops = Drops() if drops is None else drops
    merged: dict[int, Topic] = {}
    for topic in topics:
        key = text_uid(topic.query)
        if key in merged:
            drops.add(
                topic.topic_id, "merged into a topic of the same query", into=merged[key].topic_id
            )
            merged[key] = merged_topics(merged[key], topic)
        else:
            merged[key] = topic
    for topic in merged.values():
        made = one_document_per_text(topic, drops)
        yield made if near is None else without_near_negatives(made, near, drops)


def merged_topics(first: Topic, second: Topic) -> Topic:
    """Returns two topics of one query as one; a second text under a known id gets an id of its own."""
    docs = {doc.doc_id: doc for doc in first.docs}
    names: dict[str, str] = {}
    for doc in second.docs:
        name, turn = doc.doc_id, 2
        while name in docs and text_uid(_text(docs[name])) != text_uid(_text(doc)):
            name, turn = f"{doc.doc_id}#{turn}", turn + 1
        names[doc.doc_id] = name
        docs.setdefault(name, replace(doc, doc_id=name))
    views = {normalised(view.instruction): view for view in first.views}
    for view in second.views:
        labels = {names.get(doc_id, doc_id): label for doc_id, label in view.labels.items()}
        key = normalised(view.instruction)
        known = views.get(key)
        views[key] = (
            replace(view, labels=labels)
            if known is None
            else replace(known, labels=_stronger(known.labels, labels))
        )
    return replace(first, docs=tuple(docs.values()), views=tuple(views.values()))


def _stronger(a: Mapping[str, Label], b: Mapping[str, Label]) -> dict[str, Label]:
    labels = dict(a)
    for doc_id, label in b.items():
        before = labels.get(doc_id)
        if before is None or _STRENGTH[label] > _STRENGTH[before]:
            labels[doc_id] = label
    return labels


def one_document_per_text(topic: Topic, drops: Drops) -> Topic:
    """Returns the topic with each text once; the first id stays, with the strongest of its labels."""
    kept: dict[int, Doc] = {}
    names: dict[str, str] = {}
    for doc in topic.docs:
        first = kept.setdefault(text_uid(_text(doc)), doc)
        names[doc.doc_id] = first.doc_id
        if first is not doc:
            drops.add(
                topic.topic_id,
                "a document with the text of another",
                document=doc.doc_id,
                same_as=first.doc_id,
            )
    if len(kept) == len(topic.docs):
        return topic
    views = []
    for view in topic.views:
        labels: dict[str, Label] = {}
        for doc_id, label in view.labels.items():
            labels = _stronger(labels, {names.get(doc_id, doc_id): label})
        views.append(replace(view, labels=labels))
    return replace(topic, docs=tuple(kept.values()), views=tuple(views))


def without_near_negatives(topic: Topic, near: float, drops: Drops) -> Topic:
    """Returns the topic without negatives that share a part of their words with a positive of their view.

    Words are those of BM25, not stemmed: punctuation does not count, and scripts without spaces have some.
    """
    words_of = Tokeniser("none")
    words = {doc.doc_id: frozenset(words_of(_text(doc))) for doc in topic.docs}

    def cleaned(view: View) -> View:
        labels = dict(view.labels)
        for negative in view.ids(Label.NEGATIVE):
            twin = next((p for p in view.positives if _overlap(words, negative, p) >= near), None)
            if twin is not None:
                del labels[negative]
                drops.add(
                    topic.topic_id,
                    "a negative nearly equal to a positive",
                    view=view,
                    document=negative,
                    positive=twin,
                )
        return replace(view, labels=labels)

    return topic.with_views(map(cleaned, topic.views))


def _overlap(words: Mapping[str, frozenset[str]], a: str, b: str) -> float:
    if a not in words or b not in words:
        return 0.0
    return len(words[a] & words[b]) / max(1, len(words[a] | words[b]))


def _text(doc: Doc) -> str:
    return f"{doc.title} {doc.text}" if doc.title else doc.text
