"""Takes doubtful negatives out of the labels: those that a frozen encoder ranks about as high as the positive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from obverse.errors import SettingError
from obverse.records import Label, Topic, View
from obverse.stages import Drops, Stage

if TYPE_CHECKING:
    from obverse.models import Encoder

DOUBTFUL = "negative that scores like a positive"
STARVED = "few negatives left (view kept)"
_TOPICS_AT_ONCE = 64


def margin(encoder: Encoder | str, ratio: float = 0.95, at_least: int = 1) -> Stage:
    """Returns the stage that sets doubtful negatives to ``ignore``.

    A negative is doubtful where its cosine to the view's input is above s - (1 - ratio) |s|, with s the lowest score
    of the view's positives: the same distance below s whatever its sign. Instruction negatives are never touched:
    that they score high without being right is what they are for. Views that are left with fewer than ``at_least``
    negatives are named, never topped up and never dropped.

    After Moreira et al. (2024), *NV-Retriever: Improving text embedding models with effective hard-negative mining*,
    https://arxiv.org/abs/2407.15831 (the positive-aware cut by percentage); safe for negative scores is ours.

    Args:
        encoder: The encoder, or the name of one.
        ratio: In (0, 1]; 1 cuts what scores above the positive alone.
        at_least: Views with fewer negatives of either kind are reported.

    Raises:
        SettingError: If the ratio is out of range.
    """
    if not 0 < ratio <= 1:
        raise SettingError(f"--ratio {ratio} is not in (0, 1]", fix="Give 0.95, say")

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        remaining = iter(topics)
        model = None
        while chunk := list(islice(remaining, _TOPICS_AT_ONCE)):
            model = model or _loaded(encoder)
            for topic, scores in zip(chunk, view_scores(model, chunk), strict=True):
                views = [
                    _cut(topic, view, found, ratio, drops)
                    for view, found in zip(topic.views, scores, strict=True)
                ]
                for view in views:
                    if len(view.negatives) < at_least:
                        drops.add(topic.topic_id, STARVED, view=view, left=len(view.negatives))
                yield topic.with_views(views)

    return stage


def view_scores(encoder: Encoder, topics: Iterable[Topic]) -> list[list[dict[str, float]]]:
    """Returns, for each view of each topic, the cosine of every document that the topic holds."""
    batch = list(topics)
    pairs = [(topic.query, view.instruction) for topic in batch for view in topic.views]
    docs = [doc for topic in batch for doc in topic.docs]
    if not pairs or not docs:
        return [[{} for _ in topic.views] for topic in batch]
    queries, vectors = iter(encoder.queries(pairs)), encoder.docs(docs)
    found, start = [], 0
    for topic in batch:
        own = vectors[start : start + len(topic.docs)]
        start += len(topic.docs)
        doc_ids = [doc.doc_id for doc in topic.docs]
        rows = [np.asarray(own @ next(queries), dtype=np.float64).tolist() for _ in topic.views]
        found.append([dict(zip(doc_ids, row, strict=True)) for row in rows])
    return found


def cutoff(positive: float, ratio: float) -> float:
    """Returns the score above which a negative is doubtful."""
    return positive - (1 - ratio) * abs(positive)


def _cut(topic: Topic, view: View, scores: dict[str, float], ratio: float, drops: Drops) -> View:
    known = [scores[doc_id] for doc_id in view.positives if doc_id in scores]
    if not known:
        return view
    limit = cutoff(min(known), ratio)
    labels = dict(view.labels)
    for doc_id in view.ids(Label.NEGATIVE):
        if scores.get(doc_id, -2.0) > limit:
            labels[doc_id] = Label.IGNORE
            drops.add(
                topic.topic_id, DOUBTFUL, view=view, doc_id=doc_id, score=round(scores[doc_id], 4)
            )
    return view if labels == view.labels else replace(view, labels=labels)


def _loaded(encoder: Encoder | str) -> Encoder:
    if isinstance(encoder, str):
        from obverse.models import load_encoder

        return load_encoder(encoder)
    return encoder
