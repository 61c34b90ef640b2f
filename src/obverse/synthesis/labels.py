"""The labels of an instructed view, derived from the plain view's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from obverse.records import Label, Topic, View


def instructed_labels(
    plain: View, *, positive: str, demoted: str, ignored: Collection[str]
) -> dict[str, Label]:
    """Returns the labels under an instruction that makes one document right and another wrong.

    Args:
        plain: The view without instruction; its documents are judged, in its order.
        positive: The document that the instruction asks for.
        demoted: The document that is on topic and ruled out: the instruction negative.
        ignored: Documents that may satisfy the instruction too and so must not count as negatives.
    """
    return {
        doc_id: Label.POSITIVE
        if doc_id == positive
        else Label.INSTRUCTION_NEGATIVE
        if doc_id == demoted
        else Label.IGNORE
        if doc_id in ignored
        else Label.NEGATIVE
        for doc_id in plain.labels
    }


def with_ignored(labels: Mapping[str, Label], doc_ids: Collection[str]) -> dict[str, Label]:
    """Returns the labels with some documents set to ``ignore``; positives stay."""
    return {
        doc_id: Label.IGNORE if doc_id in doc_ids and label != Label.POSITIVE else label
        for doc_id, label in labels.items()
    }


def ignoring(topic: Topic, doc_ids: Collection[str]) -> Topic:
    """Returns the topic whose plain view ignores some documents."""
    if not any(doc_id in view.labels for doc_id in doc_ids for view in topic.views):
        return topic
    return topic.with_views(
        replace(view, labels=with_ignored(view.labels, doc_ids)) if view.is_plain else view
        for view in topic.views
    )
