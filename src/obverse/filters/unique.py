"""Takes away what stands there twice: topics, instructions, and negatives that are copies of a positive."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from obverse.filters.dropping import keep_views
from obverse.identity import normalised, same_text_rule, text_uid
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops, Stage

SAME_TOPIC = "same query and positive as an earlier topic"
SAME_INSTRUCTION = "same instruction as another view of the query"
NEAR_INSTRUCTION = "nearly the same instruction as another view of the query"
IS_QUERY = "the instruction only repeats the query"
COPY = "negative with the text of a positive"
NEAR_COPY = "negative with nearly the text of a positive"

_WORD = re.compile(r"\w+")


def unique(near_instructions: float = 0.8, near_documents: float = 0.9) -> Stage:
    """Returns the stage that takes away doubles.

    Texts are the same where they are equal after :func:`obverse.identity.normalised`; they are nearly the same where
    the Jaccard overlap of their shingles reaches a limit (runs of three words in documents, of five characters in
    instructions). A topic goes where its query and plain positives stood earlier; a view goes where the same query
    has the instruction already, or nearly the same one with the same positives; a negative that is a copy of one of
    its view's positives becomes ``ignore``, also as an instruction negative: no instruction can tell copies apart.

    Args:
        near_instructions: The limit for instructions, in [0, 1]; 1 looks for the same texts alone.
        near_documents: The limit for documents.
    """

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        seen_topics: set[tuple[int, frozenset[int]]] = set()
        seen_instructions: set[tuple[int, int]] = set()
        for topic in topics:
            key = _topic_key(topic)
            if key in seen_topics:
                drops.add(topic.topic_id, SAME_TOPIC)
                continue
            if key is not None:
                seen_topics.add(key)
            views = _distinct_views(topic, seen_instructions, near_instructions, drops)
            if (left := keep_views(topic, views, drops)) is not None:
                yield _without_copies(left, near_documents, drops)

    return stage


def _topic_key(topic: Topic) -> tuple[int, frozenset[int]] | None:
    """Topics that hold no documents are told apart by the ids of their positives."""
    if topic.plain_view is None:
        return None
    texts = {doc.doc_id: doc.text for doc in topic.docs}
    positives = frozenset(text_uid(texts.get(d, f"\0{d}")) for d in topic.plain_view.positives)
    return text_uid(topic.query), positives


def _distinct_views(
    topic: Topic, seen: set[tuple[int, int]], limit: float, drops: Drops
) -> list[View]:
    kept: list[View] = []
    query = text_uid(topic.query)
    for view in topic.views:
        reason = None
        key = (query, text_uid(view.instruction))
        if view.is_plain:
            reason = SAME_INSTRUCTION if any(other.is_plain for other in kept) else None
        elif key in seen:
            reason = SAME_INSTRUCTION
        elif normalised(view.instruction) == normalised(topic.query):
            reason = IS_QUERY
        elif any(_nearly(view, other, limit) for other in kept if not other.is_plain):
            reason = NEAR_INSTRUCTION
        if reason:
            drops.add(topic.topic_id, reason, view=view)
            continue
        if not view.is_plain:
            seen.add(key)
        kept.append(view)
    return kept


def _nearly(view: View, other: View, limit: float) -> bool:
    """Two instructions that ask for different documents are different, however alike they look."""
    if limit >= 1 or set(view.positives) != set(other.positives):
        return False
    return overlap(characters(view.instruction), characters(other.instruction)) >= limit


def _without_copies(topic: Topic, limit: float, drops: Drops) -> Topic:
    docs = {doc.doc_id: doc for doc in topic.docs}
    copies: dict[tuple[str, str], str | None] = {}

    def rule(a: str, b: str) -> str | None:
        if (a, b) not in copies:
            copies[a, b] = copy_rule(docs[a], docs[b], limit)
        return copies[a, b]

    views, noted = [], set()
    for view in topic.views:
        labels = dict(view.labels)
        for doc_id in view.negatives:
            for positive in view.positives:
                if (
                    doc_id not in docs
                    or positive not in docs
                    or not (how := rule(doc_id, positive))
                ):
                    continue
                labels[doc_id] = Label.IGNORE
                if (doc_id, positive) not in noted:
                    noted.add((doc_id, positive))
                    reason = NEAR_COPY if how == "shingles" else COPY
                    drops.add(topic.topic_id, reason, doc_id=doc_id, same_as=positive, rule=how)
        views.append(
            view
            if labels == view.labels
            else View(view.instruction, labels, view.origin, view.checks)
        )
    return topic.with_views(views) if noted else topic


def copy_rule(a: Doc, b: Doc, limit: float = 0.9) -> str | None:
    """Says by which rule two documents are copies (see :func:`same_text_rule`; ``shingles``), or returns None."""
    if how := same_text_rule(a.text, b.text):
        return how
    if limit >= 1 or not _sizes_allow(a.text, b.text, limit):
        return None
    return "shingles" if overlap(words(a.text), words(b.text)) >= limit else None


def _sizes_allow(a: str, b: str, limit: float) -> bool:
    """Texts of very different lengths cannot overlap; half the limit leaves room for words of other lengths."""
    return min(len(a), len(b)) >= limit / 2 * max(len(a), len(b))


def words(text: str, size: int = 3) -> set[str]:
    """Returns the runs of words of a text; a shorter text is one run."""
    tokens = _WORD.findall(normalised(text))
    return {" ".join(tokens[i : i + size]) for i in range(max(1, len(tokens) - size + 1))}


def characters(text: str, size: int = 5) -> set[str]:
    """Returns the runs of characters of a text, without punctuation; a shorter text is one run."""
    flat = " ".join(_WORD.findall(normalised(text)))
    return {flat[i : i + size] for i in range(max(1, len(flat) - size + 1))}


def overlap(a: set[str], b: set[str]) -> float:
    """Returns the Jaccard overlap of two sets, in [0, 1]."""
    return len(a & b) / len(a | b) if a or b else 1.0
