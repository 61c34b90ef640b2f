"""Losses over the label matrix: each distinct document is encoded once, and counts once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from obverse.training.relations import Relation

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def info_nce(similarities: Tensor, matrix: Tensor, temperature: float) -> Tensor:
    """Returns the contrastive loss of every anchor over its own positives and negatives.

    For each positive p of an anchor: log(exp(s_p) + sum over negatives of exp(s_n)) - s_p, with s = similarity /
    temperature; the mean over the anchor's positives. Other positives and masked documents stay out of the sum.

    After van den Oord et al. (2018), *Representation Learning with Contrastive Predictive Coding*,
    https://arxiv.org/abs/1807.03748; with labelled relations as in Arctic Embed's training.

    Args:
        similarities: ``[b, u]``, float32: b anchors, u documents.
        matrix: ``[b, u]`` of :class:`Relation`.
        temperature: Above 0.

    Returns:
        ``[b]``; 0 for an anchor without a negative.
    """
    logits = similarities / temperature
    positive = matrix == Relation.POSITIVE
    negative = matrix >= Relation.INSTRUCTION_NEGATIVE
    # The lowest finite number instead of -inf: a row without negatives would otherwise have a gradient of NaN.
    lowest = torch.finfo(logits.dtype).min
    against = torch.logsumexp(logits.masked_fill(~negative, lowest), dim=1, keepdim=True)
    terms = torch.where(positive, torch.logaddexp(logits, against) - logits, 0.0)
    return terms.sum(dim=1) / positive.sum(dim=1).clamp(min=1)


class MatrixLoss(nn.Module):
    """The loss of a batch of relations, as the sentence-transformers trainer calls it.

    Args:
        model: The encoder that is trained.
        temperature: Divides the similarities.
        keep_close: Weight of the mean cosine distance between plain queries (and documents, where they are trained)
            and the frozen base's vectors of the same inputs; the labels then hold ``base_queries`` (and
            ``base_docs``).
        frozen_docs: ``[m, d]``, the vectors of all documents where only the query side is trained; the batch's
            ``columns`` then name its documents.
        micro_batch: Texts per forward pass; rows come sorted by length, so short ones are not padded to long ones.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        *,
        temperature: float = 0.02,
        keep_close: float = 0.0,
        frozen_docs: Tensor | None = None,
        micro_batch: int = 16,
    ) -> None:
        super().__init__()
        self.model = model
        self.temperature, self.keep_close, self.micro_batch = temperature, keep_close, micro_batch
        self.frozen_docs = frozen_docs

    def forward(
        self, features: Iterable[dict[str, Any]], labels: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        """Returns ``{"contrast", "keep_close"}``, which the trainer adds up and logs apart."""
        sides = list(features)
        queries = self.vectors(sides[0])
        docs = self.frozen_docs if self.frozen_docs is not None else self.vectors(sides[1])
        # Products of bf16 vectors lose the differences that the temperature lives on: float32, outside autocast.
        with torch.autocast(device_type=queries.device.type, enabled=False):
            queries, docs = queries.float(), docs.float()
            matrix = labels["matrix"]
            loss = info_nce(queries @ docs.T, matrix, self.temperature)
            parts = {"contrast": (loss * labels["weights"]).sum() / labels["weights"].sum()}
            if self.keep_close:
                apart = _distance(queries, labels["base_queries"], labels["plain"])
                if "base_docs" in labels:
                    apart = apart + _distance(
                        docs, labels["base_docs"], labels["base_docs"].new_ones(len(docs))
                    )
                parts["keep_close"] = self.keep_close * apart
        return parts

    def vectors(self, features: dict[str, Any]) -> Tensor:
        """Returns the vectors of one side, micro-batch by micro-batch, each cut to its own longest text.

        Returns:
            ``[n, d]`` in the order of the features' rows.
        """
        mask = features["attention_mask"]
        outputs = []
        for start in range(0, len(mask), self.micro_batch):
            rows = slice(start, start + self.micro_batch)
            columns = mask[rows].any(dim=0)
            part = {
                key: value[rows][:, columns]
                if isinstance(value, Tensor) and value.dim() == 2
                else value
                for key, value in features.items()
            }
            outputs.append(self.model(part)["sentence_embedding"])
        return torch.cat(outputs)


def _distance(vectors: Tensor, base: Tensor, chosen: Tensor) -> Tensor:
    """The mean cosine distance of the chosen rows; both sides have unit length."""
    return ((1 - (vectors * base.float()).sum(dim=1)) * chosen).sum() / chosen.sum().clamp(min=1)
