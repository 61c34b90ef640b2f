"""The demo's training data: real claims, real candidates, a recorded teacher's instructions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from obverse.demo.journey import Journey
from obverse.filters.similarity_gain import similarity_gain
from obverse.filters.unique import unique
from obverse.identity import text_uid
from obverse.llm.recorded import RecordedReplies
from obverse.mine import mine
from obverse.mix import mix
from obverse.read import read
from obverse.read.faults import Findings
from obverse.records import Doc, Topic
from obverse.sample import sample_candidates, sample_folder, sample_replies
from obverse.stages import Drops, Stage
from obverse.synthesis.engine import synthesize

if TYPE_CHECKING:
    from pathlib import Path

    from obverse.models import Encoder

METHOD = "natural_dual_view"
BM25: dict[str, Any] = {"by": "bm25", "take": 5, "k1": 1.5, "b": 0.75, "stopwords": "english"}
"""How the candidates were mined that the recorded replies judge."""


def make_training_set(
    journey: Journey,
    encoder: Encoder,
    held_out: Iterable[Topic],
    corpus: Mapping[str, Doc],
    seed: int,
    size: int | None = None,
) -> Path:
    """Makes the training topics, stage by stage, and returns their file.

    Args:
        journey: Where the files go and what the stages said.
        encoder: The frozen base encoder, for the similarity gain.
        held_out: Topics that training must not touch.
        corpus: The documents by id, to mine from.
        seed: Of synthesis and mixing.
        size: Stop at so many claims, four of five with recorded replies; by default all.
    """
    held = list(held_out)
    answers = {doc_id for topic in held for view in topic.views for doc_id in view.positives}
    claims = read(sample_folder(), "beir", findings=Findings(file="scifact"), split="train")
    apart = journey.stage(
        "read", claims, _each(apart_from(held), _first(size)), "1-read", "809 training claims"
    )
    mined = journey.stage("mine", apart, _mined(corpus), "2-mined", **BM25)
    judged = journey.stage(
        "synthesize",
        mined,
        lambda topics, drops: synthesize(
            _as_judged(topics),
            drops,
            method=METHOD,
            llm=RecordedReplies(sample_replies()),
            run_dir=journey.out / "data" / "3-run",
            seed=seed,
        ),
        "3-instructed",
        method=METHOD,
        replies="recorded",
    )
    kept = journey.stage(
        "filter",
        judged,
        _each(without_docs(answers), similarity_gain(encoder), unique()),
        "4-filtered",
    )
    return journey.stage("mix", kept, _shuffled(seed), "5-training", seed=seed)


def apart_from(held_out: Iterable[Topic]) -> Stage:
    """Returns the stage that drops topics with the query or a positive of a held-out topic, compared by content."""
    held = list(held_out)
    queries = {text_uid(topic.query) for topic in held}
    positives = {doc_id for topic in held for view in topic.views for doc_id in view.positives}

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        for topic in topics:
            if text_uid(topic.query) in queries:
                drops.add(topic.topic_id, "its query is that of a held-out topic")
            elif positives & {doc_id for view in topic.views for doc_id in view.positives}:
                drops.add(topic.topic_id, "its positive is a positive of a held-out topic")
            else:
                yield topic

    return stage


def _first(size: int | None) -> Stage:
    """Keeps so many topics, four of five such as have a recorded reply."""
    judged = {topic.query for topic in sample_candidates()} if size is not None else set()

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        room = (
            {True: 0, False: 0}
            if size is None
            else {True: size * 4 // 5, False: size - size * 4 // 5}
        )
        for topic in topics:
            kind = topic.query in judged
            if size is None or room[kind] > 0:
                room[kind] -= 1
                yield topic
            else:
                drops.add(topic.topic_id, "left out of the quick run")

    return stage


def without_docs(doc_ids: Collection[str]) -> Stage:
    """Returns the stage that takes documents out of every topic, whatever they are labelled."""

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        for topic in topics:
            gone = [doc.doc_id for doc in topic.docs if doc.doc_id in doc_ids]
            for doc_id in gone:
                drops.add(
                    topic.topic_id, "a candidate that is a held-out topic's answer", doc_id=doc_id
                )
            views = (
                replace(
                    view, labels={d: label for d, label in view.labels.items() if d not in gone}
                )
                for view in topic.views
            )
            docs = tuple(doc for doc in topic.docs if doc.doc_id not in gone)
            yield replace(topic, docs=docs, views=tuple(views)) if gone else topic

    return stage


def _mined(corpus: Mapping[str, Doc]) -> Stage:
    return lambda topics, drops: mine(topics, corpus, drops=drops, **BM25)


def _as_judged(topics: Iterable[Topic]) -> Iterator[Topic]:
    """The recorded replies judge the candidates that were mined when they were recorded: those take their place."""
    recorded = {topic.query: topic for topic in sample_candidates()}
    for topic in topics:
        yield recorded.get(topic.query, topic)


def _each(*stages: Stage) -> Stage:
    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        for one in stages:
            topics = one(topics, drops)
        yield from topics

    return stage


def _shuffled(seed: int) -> Stage:
    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        yield from mix({"scifact": list(topics)}, seed=seed)

    return stage
