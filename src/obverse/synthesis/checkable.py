"""Checkable dual views: instructions whose labels a program proves; no LLM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random

from obverse.records import Doc, Label, Topic, View
from obverse.sampling import rng_for
from obverse.stages import Drops, Stage
from obverse.synthesis.condition_wording import say_condition
from obverse.synthesis.conditions import KINDS, Condition, satisfies, telling_apart
from obverse.synthesis.dialogue import Skip, Views, asks_nothing
from obverse.synthesis.documents import candidates, plain_positive, show

QUOTAS: dict[str, float] = {
    "word": 5.0,
    "shorter": 2.0,
    **dict.fromkeys((kind for kind in KINDS if kind not in ("word", "shorter")), 1.0),
}
"""How often a kind is drawn, relative to the others that tell the two documents apart."""

_CONTRARY = 0.35


@asks_nothing
def checkable(topic: Topic, rng: Random, pairs: int = 1) -> Views:
    """Returns dual views whose conditions a program proves: one that keeps the positive, one that turns it round.

    The positive and a natural negative are told apart by what can be looked up: a word, the length, percentages,
    years, headings, a question, the first person, quotation marks, the script. Each view's positive meets its
    condition, the other document breaks it; further candidates that break it are negatives, those that meet it are
    ignored, because a program cannot say whether they answer the query.

    Ours; it answers an open question of Zeng et al. (2026), *Dual-View Training for Instruction-Following
    Information Retrieval*, https://arxiv.org/abs/2604.18845: whether an LLM is needed at all. Nothing is asked; the
    dialogue ends at once.

    Args:
        topic: A topic with a plain view.
        rng: Draws the negative, the conditions and their wording.
        pairs: How many pairs of views, each with another negative.

    Raises:
        Skip: If there is no own negative, or nothing tells the documents apart.
    """
    yield from ()
    shown = show(topic)
    positive = plain_positive(topic, shown)
    plain = topic.plain_view
    assert plain is not None  # plain_positive has looked
    others = [d for d in candidates(topic, shown) if plain.labels[d] != Label.IGNORE]
    rng.shuffle(others)
    views: list[View] = []
    for other in others:
        views += dual(topic, plain, positive, other, rng)
        if len(views) == 2 * pairs:
            break
    if not views:
        raise Skip("nothing checkable tells the documents apart")
    return views


def checkable_views(seed: int = 0, pairs: int = 1) -> Stage:
    """Returns the stage that adds checkable views to topics: the method without an engine, as it asks nothing.

    A topic that gets no view goes on as it is and is noted.
    """

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        for topic in topics:
            try:
                next(checkable(topic, rng_for(seed, "checkable", topic.topic_id), pairs))
            except StopIteration as end:
                yield topic.with_views([*topic.views, *end.value])
            except Skip as skip:
                drops.add(topic.topic_id, str(skip))
                yield topic

    return stage


def dual(topic: Topic, plain: View, first: str, second: str, rng: Random) -> list[View]:
    """Returns two views that ask for one document and for the other, or none where nothing tells them apart."""
    docs = {doc.doc_id: doc for doc in topic.docs}
    keep = draw(telling_apart(docs[first], docs[second], topic.query), rng)
    if keep is None:
        return []
    turned = keep.contrary()
    if rng.random() > _CONTRARY:
        different = (
            condition
            for condition in telling_apart(docs[second], docs[first], topic.query)
            if condition.kind != keep.kind
        )
        turned = draw(different, rng) or turned
    return [
        _view(plain, docs, "keep", keep, first, second, rng),
        _view(plain, docs, "promote", turned, second, first, rng),
    ]


def draw(conditions: Iterable[Condition], rng: Random) -> Condition | None:
    """Returns one condition: first its kind by the quotas, then one of that kind."""
    by_kind: dict[str, list[Condition]] = {}
    for condition in conditions:
        by_kind.setdefault(condition.kind, []).append(condition)
    if not by_kind:
        return None
    (kind,) = rng.choices(list(by_kind), [QUOTAS[kind] for kind in by_kind])
    return rng.choice(by_kind[kind])


def _view(
    plain: View,
    docs: Mapping[str, Doc],
    side: str,
    condition: Condition,
    positive: str,
    demoted: str,
    rng: Random,
) -> View:
    labels = {
        doc_id: Label.POSITIVE
        if doc_id == positive
        else Label.INSTRUCTION_NEGATIVE
        if doc_id == demoted
        else Label.IGNORE
        if satisfies(condition, docs[doc_id])
        else Label.NEGATIVE
        for doc_id in plain.labels
        if doc_id in docs
    }
    origin = {
        "method": "checkable",
        "side": side,
        "lever": condition.kind,
        "condition": condition.row(),
    }
    return View(say_condition(condition, rng), labels, origin)
