"""Another encoder beside the one that is trained, without another download: its word vectors alone, averaged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from obverse.models import Encoder, Vectors
from obverse.recipes.sides import turned
from obverse.records import Topic


def word_vectors(encoder: Encoder, texts: Sequence[str]) -> Vectors:
    """Returns texts as the mean of their input embeddings, without any layer of the encoder: float32 ``[n, d]``."""
    import torch

    model: Any = encoder.model
    inner: Any = model.transformers_model
    table = inner.get_input_embeddings().weight.detach().float().cpu()
    tokenizer = model.tokenizer
    rows = []
    for text in texts:
        ids = tokenizer.encode(
            text, truncation=True, max_length=encoder.max_tokens, add_special_tokens=False
        )
        rows.append(table[torch.tensor(ids or [0])].mean(0))
    vectors = torch.stack(rows).numpy()
    normed: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return normed


def word_vector_gains(encoder: Encoder, topics: Sequence[Topic]) -> dict[str, float]:
    """Returns the similarity gain of each topic's turned view in word vectors alone, by topic_id.

    The gain is that of :mod:`obverse.filters.similarity_gain`: how much nearer the instruction draws the query to the
    document that it asks for.
    """
    found = {}
    for topic in topics:
        view = turned(topic)
        if view is None:
            continue
        doc = encoder.template.doc(topic.doc(view.positives[0]))
        asked = encoder.template.query(topic.query, view.instruction)
        alone = encoder.template.query(topic.query, "")
        a, b, d = word_vectors(encoder, [asked, alone, doc])
        found[topic.topic_id] = float((a - b) @ d)
    return found
