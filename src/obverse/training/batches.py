"""From a step of the plan to the tensors that the loss takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from obverse.inputs import Shortened, fit
from obverse.models import Encoder
from obverse.records import Topic
from obverse.training.plan import Plan, chosen_negatives
from obverse.training.relations import Relations, relations

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(slots=True)
class BaseVectors:
    """Vectors of the frozen base, by input string: of the queries to stay close to, and of documents."""

    queries: Mapping[str, Tensor] = field(default_factory=dict)
    docs: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(slots=True)
class Batches:
    """Makes the batch of any step; the trainer's data collator.

    Attributes:
        topics: By id.
        plan: Which topics stand in which step.
        encoder: Gives tokeniser, template and token limit.
        max_negatives: Own negatives per view at the most.
        in_batch: Whether other topics' documents are negatives.
        plain_weight: The weight of anchors without instruction; those with one weigh 1.
        frozen: All documents by content hash, where their side is not trained.
        base: Vectors of the frozen base, where the model is kept close to it.
        lost: What shortening took from instructions.
    """

    topics: Mapping[str, Topic]
    plan: Plan
    encoder: Encoder
    max_negatives: int | None = 30
    in_batch: bool = True
    plain_weight: float = 1.0
    frozen: Mapping[int, str] | None = None
    base: BaseVectors = field(default_factory=BaseVectors)
    lost: Shortened = field(default_factory=Shortened)
    valid_label_columns: list[str] = field(default_factory=lambda: ["label"])

    def relations(self, step: int) -> Relations:
        """Returns the label matrix of a step."""
        epoch = self.plan.epoch_of(step)
        return relations(
            [self.topics[topic_id] for topic_id in self.plan.batch(step)],
            self.encoder.template,
            negatives=lambda topic, view: chosen_negatives(
                view, self.max_negatives, seed=self.plan.seed, epoch=epoch, topic_id=topic.topic_id
            ),
            in_batch=self.in_batch,
            others=self.frozen,
        )

    def query_texts(self, found: Relations) -> list[str]:
        """Returns the encoder's inputs of the anchors, each within the token limit, its query whole."""
        encoder = self.encoder
        return [
            fit(
                encoder.template,
                anchor.topic.query,
                anchor.view.instruction,
                encoder.max_tokens,
                encoder.count_tokens,
                self.lost,
            )
            for anchor in found.anchors
        ]

    def __call__(self, rows: Sequence[Mapping[str, int]]) -> dict[str, Any]:
        """Returns the features of queries and documents, sorted by length, and the labels in the same order."""
        step = rows[0]["step"]
        found = self.relations(step)
        texts = self.query_texts(found)
        order = _by_length(texts)
        batch: dict[str, Any] = {}
        self._add(batch, "query", [texts[row] for row in order])
        matrix = torch.from_numpy(found.matrix)[order]
        plain = torch.tensor([float(found.anchors[row].view.is_plain) for row in order])
        labels = {"weights": torch.where(plain > 0, self.plain_weight, 1.0), "plain": plain}
        if self.base.queries:
            labels["base_queries"] = torch.stack(
                [self.base.queries.get(texts[row], self._nothing) for row in order]
            )
        if self.frozen is None:
            columns = _by_length(found.texts)
            docs = [found.texts[column] for column in columns]
            self._add(batch, "document", docs)
            matrix = matrix[:, columns]
            if self.base.docs:
                labels["base_docs"] = torch.stack([self.base.docs[text] for text in docs])
        labels["matrix"] = matrix
        batch["label"] = labels
        return batch

    def _add(self, batch: dict[str, Any], side: str, texts: list[str]) -> None:
        for key, value in self.encoder.model.preprocess(texts, task=side).items():
            batch[f"{side}_{key}"] = value

    @property
    def _nothing(self) -> Tensor:
        return torch.zeros_like(next(iter(self.base.queries.values())))


def _by_length(texts: Sequence[str]) -> list[int]:
    return sorted(range(len(texts)), key=lambda place: (len(texts[place]), place))
