"""Keeps the instructed views whose instruction moves the frozen encoder towards the right documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from obverse.errors import InputError
from obverse.filters.dropping import keep_views
from obverse.records import Doc, Topic, View
from obverse.stages import Drops, Stage

if TYPE_CHECKING:
    from obverse.models import Encoder

REASON = "similarity gain not above the threshold"
_TOPICS_AT_ONCE = 128


def similarity_gain(
    encoder: Encoder | str, threshold: float = 0.0, max_tokens: int | None = None
) -> Stage:
    """Returns the stage that drops instructed views whose gain is not above a threshold.

    The gain of a view is the mean over its positives d+ of sim(f(I + q), d+) - sim(f(q), d+), where f is the frozen
    encoder that is going to be trained, q the query, I the instruction and sim the cosine. It asks for the right
    direction only, never that the ranking has turned already. Every gain, kept or dropped, is stored in
    ``checks["similarity_gain"]``.

    After *Natural Hard-Negative Mining from Positives for Instruction-Following Retrieval* (the geometric filter);
    the mean over several positives is ours.

    Args:
        encoder: The encoder, or the name of one. Gains are that encoder's: another one drops other views.
        threshold: Cosine difference, in [-2, 2].
        max_tokens: Where an encoder is named, its token limit; by default the model's own.
    """

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        remaining = iter(topics)
        model = None
        while chunk := list(islice(remaining, _TOPICS_AT_ONCE)):
            model = model or _loaded(encoder, max_tokens)
            gains = iter(view_gains(model, chunk))
            for topic in chunk:
                views = []
                for view in topic.views:
                    if view.is_plain:
                        views.append(view)
                        continue
                    gain = next(gains)
                    checked = view.checked(similarity_gain=gain)
                    if gain > threshold:
                        views.append(checked)
                    else:
                        drops.add(topic.topic_id, REASON, view=view, gain=gain)
                if left := keep_views(topic, views, drops):
                    yield left

    return stage


def view_gains(encoder: Encoder, topics: Iterable[Topic]) -> list[float]:
    """Returns the gain of every instructed view, in order.

    Raises:
        InputError: If a topic lacks the text of a positive, as in a topics benchmark.
    """
    pairs: list[tuple[str, str]] = []
    docs: list[Doc] = []
    owners: list[int] = []
    for topic in topics:
        texts = {doc.doc_id: doc for doc in topic.docs}
        for view in topic.instructed_views:
            docs += _positives(topic, view, texts)
            owners += [len(pairs)] * len(view.positives)
            pairs.append((topic.query, view.instruction))
    if not pairs:
        return []
    with_instruction = encoder.queries(pairs)
    alone = encoder.queries([(query, "") for query, _ in pairs])
    moved = (with_instruction - alone)[owners]
    by_doc = np.einsum("nd,nd->n", moved, encoder.docs(docs), dtype=np.float64)
    sums = np.bincount(owners, weights=by_doc, minlength=len(pairs))
    gains: list[float] = (sums / np.bincount(owners, minlength=len(pairs))).round(6).tolist()
    return gains


def _positives(topic: Topic, view: View, texts: dict[str, Doc]) -> list[Doc]:
    try:
        return [texts[doc_id] for doc_id in view.positives]
    except KeyError as missing:
        raise InputError(
            f"the topic holds no document {missing}",
            where=f"topic {topic.topic_id!r}",
            fix="Filter topics that hold their documents (key docs)",
        ) from None


def _loaded(encoder: Encoder | str, max_tokens: int | None) -> Encoder:
    if isinstance(encoder, str):
        from obverse.models import load_encoder

        return load_encoder(encoder, max_tokens=max_tokens)
    return encoder


def gain_summary(gains: Iterable[float]) -> dict[str, float]:
    """Returns the distribution of gains: n, mean, share above 0, and the quantiles 5, 25, 50, 75 and 95 %."""
    values = np.asarray(list(gains), dtype=np.float64)
    if not len(values):
        return {"n": 0}
    quantiles = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
    names = ("q05", "q25", "median", "q75", "q95")
    return {
        "n": len(values),
        "mean": round(float(values.mean()), 4),
        "above_0": round(float((values > 0).mean()), 4),
        **{name: round(float(q), 4) for name, q in zip(names, quantiles, strict=True)},
    }
