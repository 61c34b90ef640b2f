"""A step of training as a table that a person can read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from obverse.errors import SettingError
from obverse.models import Vectors
from obverse.training.batches import Batches
from obverse.training.relations import Relation

_WIDTH = 60


def explained(batches: Batches, step: int, temperature: float = 0.02) -> Iterator[str]:
    """Yields tab-separated lines: anchor, candidate, relation, similarity, weight, reason of a mask.

    ``weight`` is the candidate's share of the anchor's softmax under the encoder as it is: what it adds to the
    gradient. Masked candidates have none.

    Args:
        batches: The run's batches.
        step: Counted from 0.
        temperature: Divides the similarities.

    Raises:
        SettingError: If the run has no such step.
    """
    plan = batches.plan
    if not 0 <= step < len(plan):
        raise SettingError(
            f"there is no step {step}", fix=f"The run has steps 0 to {len(plan) - 1}"
        )
    found = batches.relations(step)
    encoder = batches.encoder
    queries = encoder.encode(batches.query_texts(found), task="query")
    similarities = queries @ encoder.encode(found.texts, task="document").T
    yield (
        f"step {step} of {len(plan)}, epoch {plan.epoch_of(step)}: {len(found.anchors)} anchors, "
        f"{len(found.texts)} distinct documents"
    )
    yield "\t".join(
        ("topic", "anchor", "candidate", "relation", "similarity", "weight", "why masked")
    )
    for row, anchor in enumerate(found.anchors):
        weights = _weights(similarities[row], found.matrix[row], temperature)
        text = encoder.template.query(anchor.topic.query, anchor.view.instruction)
        for place in np.argsort(-similarities[row], kind="stable"):
            relation = Relation(found.matrix[row, place])
            yield "\t".join(
                (
                    anchor.topic.topic_id,
                    _short(text),
                    _short(found.texts[place]),
                    relation.name.lower(),
                    f"{similarities[row, place]:.4f}",
                    "" if relation == Relation.MASKED else f"{weights[place]:.4f}",
                    found.reasons.get((row, int(place)), "") if relation == Relation.MASKED else "",
                )
            )


def _weights(similarities: Vectors, relations: NDArray[np.int8], temperature: float) -> Vectors:
    logits = np.where(relations == Relation.MASKED, -np.inf, similarities / temperature)
    shares = np.exp(logits - logits.max())
    found: Vectors = shares / shares.sum()
    return found


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"
