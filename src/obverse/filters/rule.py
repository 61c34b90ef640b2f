"""Drops views by rules that need no model: wording, and labels that a program can prove."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from obverse.filters.dropping import keep_views
from obverse.records import Label, Topic, View
from obverse.stages import Drops, Stage
from obverse.synthesis.conditions import condition_from, satisfies
from obverse.synthesis.dialogue import Rejected
from obverse.synthesis.wording import check_instruction


def rule(max_words: int = 300, max_sentences: int = 12) -> Stage:
    """Returns the stage that drops instructed views whose instruction or labels break a rule.

    The instruction: no placeholder, no talk of passages or their numbers, no run of words out of a document, not too
    long, in the query's writing system, not that of another view with other positives. The labels: every positive has
    a text; where the view's origin names a condition, positives meet it and negatives of either kind break it. The
    reason is ``rule: `` and a fixed code.

    Args:
        max_words: The most words of an instruction.
        max_sentences: The most sentences of an instruction.
    """

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        for topic in topics:
            kept = []
            for view in topic.views:
                broken = (
                    None if view.is_plain else broken_rule(topic, view, max_words, max_sentences)
                )
                if broken is None:
                    kept.append(view)
                else:
                    drops.add(
                        topic.topic_id, f"rule: {broken.code}", view=view, detail=broken.detail
                    )
            if (left := keep_views(topic, kept, drops)) is not None:
                yield left

    return stage


def broken_rule(
    topic: Topic, view: View, max_words: int = 300, max_sentences: int = 12
) -> Rejected | None:
    """Returns the first rule that an instructed view breaks, or None."""
    try:
        originals: list[str | None] = [*_contraries(topic, view)]
        for original in originals or [None]:
            check_instruction(
                view.instruction,
                query=topic.query,
                texts=[f"{doc.title}\n{doc.text}" for doc in topic.docs],
                original=original,
                max_sentences=max_sentences,
                max_words=max_words,
            )
        _check_labels(topic, view)
    except Rejected as broken:
        return broken
    return None


def _contraries(topic: Topic, view: View) -> list[str]:
    return [
        other.instruction
        for other in topic.instructed_views
        if other is not view and set(other.positives) != set(view.positives)
    ]


def _check_labels(topic: Topic, view: View) -> None:
    docs = {doc.doc_id: doc for doc in topic.docs}
    for doc_id in view.positives:
        if doc_id in docs and not docs[doc_id].text.strip():
            raise Rejected("blank-positive", doc_id)
    if not view.origin.get("condition"):
        return
    condition = condition_from(view.origin["condition"])
    for doc_id, label in view.labels.items():
        if doc_id not in docs or label == Label.IGNORE:
            continue
        if satisfies(condition, docs[doc_id]) != (label == Label.POSITIVE):
            raise Rejected("label-disproved", f"{doc_id} is {label}")
