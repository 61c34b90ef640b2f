"""The loss over the query x document matrix: InfoNCE, and terms that can be added to it.

All functions take similarities or unit vectors in float32 (or float64) and know nothing of encoders, so they are
tested on plain numbers. Similarities are never computed in half precision: at temperature 0.02 its steps are as
large as the differences that count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from obverse.errors import SettingError
from obverse.training.relations import MASKED, Relation

if TYPE_CHECKING:
    from torch import Tensor


def need_finite(settings: Any) -> None:
    """Raises SettingError if a number among a dataclass's fields is infinite or none."""
    for each in fields(settings):
        value = getattr(settings, each.name)
        if isinstance(value, float) and not math.isfinite(value):
            raise SettingError(f"{each.name.replace('_', ' ')} is {value}", fix="Give a number")


@dataclass(frozen=True, slots=True)
class Terms:
    """Which terms make the loss, and how much each weighs; a weight of 0 leaves a term out.

    Attributes:
        temperature: Divides the cosine similarities before the softmax.
        contrast_instructions: Each positive document against the topic's other views under which it is none.
        contrast_queries: Each positive document against the queries of other topics.
        margin_weight: Weight of the margin term.
        margin: By how much, in cosine, a view's positive must lead the document that it swaps with.
        distill: Weight of the teacher's scores (``checks["teacher"]`` of the views).
        teacher_temperature: Divides the teacher's scores before its softmax.
        keep_close: Weight of the distance to the frozen base, of plain queries and of documents.
        matryoshka: Shorter widths that are trained along, such as 256, 128.
        matryoshka_weight: The share of each shorter width's loss beside the full one's, in [0, 1).
        plain_weight: Weight of plain rows in the mean; instructed ones weigh 1.
    """

    temperature: float = 0.02
    contrast_instructions: float = 0.0
    contrast_queries: float = 0.0
    margin_weight: float = 0.0
    margin: float = 0.1
    distill: float = 0.0
    teacher_temperature: float = 1.0
    keep_close: float = 0.0
    matryoshka: tuple[int, ...] = ()
    matryoshka_weight: float = 0.5
    plain_weight: float = 1.0

    def __post_init__(self) -> None:
        need_finite(self)
        for name in ("temperature", "teacher_temperature"):
            if getattr(self, name) <= 0:
                raise SettingError(
                    f"the {name.replace('_', ' ')} is {getattr(self, name)}",
                    fix="Give a positive number, such as 0.02",
                )
        for name in (
            "contrast_instructions",
            "contrast_queries",
            "margin_weight",
            "distill",
            "keep_close",
            "plain_weight",
        ):
            if getattr(self, name) < 0:
                raise SettingError(
                    f"{name} is {getattr(self, name)}", fix="Give a weight of at least 0"
                )
        if len(set(self.matryoshka)) < len(self.matryoshka):
            raise SettingError(
                f"a matryoshka width stands twice in {', '.join(map(str, self.matryoshka))}",
                fix="Name each once",
            )
        if not 0 <= self.matryoshka_weight < 1:
            raise SettingError(
                f"the matryoshka weight is {self.matryoshka_weight}",
                fix="Give a share of at least 0 and below 1",
            )


@dataclass(slots=True)
class Matrix:
    """What the loss needs to know of a batch beside the vectors.

    Attributes:
        codes: int8 ``[q, u]``, :class:`Relation` codes.
        topic: int64 ``[q]``, the topic of each query.
        plain: bool ``[q]``, queries without an instruction.
        teacher: float32 ``[q, u]``, NaN where there is no score; or None.
        base_queries: float32 ``[q, d]``, the frozen base's vectors; or None.
        base_docs: float32 ``[v, d]``, those of the first v documents, which are trained; or None.
        weight: float32 ``[q]``, the weight of each query's source in InfoNCE's mean; or None for 1.
    """

    codes: Tensor
    topic: Tensor
    plain: Tensor
    teacher: Tensor | None = None
    base_queries: Tensor | None = None
    base_docs: Tensor | None = None
    weight: Tensor | None = None


@dataclass(slots=True)
class Losses:
    """The terms of a batch's loss, weighted, and the similarities that they come from."""

    terms: dict[str, Tensor] = field(default_factory=dict)
    similarities: Tensor | None = None

    @property
    def total(self) -> Tensor:
        import torch

        return torch.stack(list(self.terms.values())).sum()


def objective(queries: Tensor, docs: Tensor, matrix: Matrix, terms: Terms) -> Losses:
    """Returns the loss of a batch by term.

    Args:
        queries: ``[q, d]``, unit length: q queries, d width.
        docs: ``[u, d]``, unit length: u documents.
        matrix: What each document is to each query.
        terms: Which terms there are.
    """
    found = Losses(similarities=queries @ docs.T)
    assert found.similarities is not None
    _add(found, found.similarities, matrix, terms, 1 - _short_share(terms))
    for width in terms.matryoshka:
        short = _cut(queries, width) @ _cut(docs, width).T
        part = Losses()
        _add(part, short, matrix, terms, _short_share(terms) / len(terms.matryoshka))
        found.terms |= {f"{name}_{width}": value for name, value in part.terms.items()}
    if terms.keep_close:
        found.terms["keep_close"] = terms.keep_close * kept_close(queries, docs, matrix)
    return found


def _short_share(terms: Terms) -> float:
    return terms.matryoshka_weight if terms.matryoshka else 0.0


def _cut(vectors: Tensor, width: int) -> Tensor:
    import torch.nn.functional as F

    return F.normalize(vectors[:, :width], dim=1)


def _add(found: Losses, similarities: Tensor, matrix: Matrix, terms: Terms, share: float) -> None:
    import torch

    scores, codes = similarities / terms.temperature, matrix.codes
    weights = torch.where(matrix.plain, terms.plain_weight, 1.0).to(scores.dtype)
    if matrix.weight is not None:
        weights = weights * matrix.weight.to(scores.dtype)
    found.terms["info_nce"] = share * info_nce(scores, codes, weights)
    same = matrix.topic[:, None] == matrix.topic[None, :]
    for name, between in (("contrast_instructions", same), ("contrast_queries", ~same)):
        if weight := getattr(terms, name):
            found.terms[name] = share * weight * contrast(scores, codes, between)
    if terms.margin_weight:
        lead = swap_margin(similarities, codes, matrix.topic, terms.margin)
        found.terms["margin"] = share * terms.margin_weight * lead
    if terms.distill and matrix.teacher is not None:
        taught = matrix.teacher / terms.teacher_temperature
        found.terms["distill"] = share * terms.distill * distillation(scores, taught)


def info_nce(scores: Tensor, codes: Tensor, weights: Tensor | None = None) -> Tensor:
    """Returns the contrastive loss of queries against documents, a mean over queries.

    For each positive p of a query, with its negatives n: ``log(exp(s_p) + sum exp(s_n)) - s_p``, averaged over the
    query's positives; its other positives and masked documents take no part. A query without positives is left out.
    After van den Oord et al. (2018), *Representation Learning with Contrastive Predictive Coding*,
    https://arxiv.org/abs/1807.03748.

    Args:
        scores: ``[q, u]``, similarities divided by the temperature.
        codes: ``[q, u]``, :class:`Relation` codes.
        weights: ``[q]``, the weight of each query in the mean.
    """
    import torch
    import torch.nn.functional as F

    positive = codes == Relation.POSITIVE
    negative = (codes < MASKED) & ~positive
    against = _log_sum(scores, negative)
    each = F.softplus(against[:, None] - scores) * positive
    count = positive.sum(1)
    per_query = each.sum(1) / count.clamp(min=1)
    weight = (count > 0).to(scores.dtype) * (1.0 if weights is None else weights)
    return (per_query * weight).sum() / weight.sum().clamp(min=torch.finfo(scores.dtype).tiny)


def _log_sum(scores: Tensor, kept: Tensor) -> Tensor:
    """The log-sum-exp over the kept entries of each row; a very low number, with no gradient, where none is kept."""
    lowest = -1e30
    filled = scores.masked_fill(~kept, lowest)
    return filled.logsumexp(1).where(kept.any(1), scores.new_tensor(lowest))


def contrast(scores: Tensor, codes: Tensor, between: Tensor) -> Tensor:
    """Returns the contrastive loss of documents against queries, a mean over (query, positive) pairs.

    A document is set against the queries for which it is a negative, among those that ``between`` names for the
    pair's query; pairs without any are left out. With the queries of the same topic this contrasts instructions.
    After Zhuang et al. (2025), *Towards Better Instruction Following Retrieval Models*,
    https://arxiv.org/abs/2505.21439, whose poisoned instructions and queries are here the batch's other rows.

    Args:
        scores: ``[q, u]``, similarities divided by the temperature.
        codes: ``[q, u]``, :class:`Relation` codes.
        between: bool ``[q, q]``, which other queries stand against each query's positives.
    """
    import torch.nn.functional as F

    query, column = (codes == Relation.POSITIVE).nonzero(as_tuple=True)
    others = scores[:, column].T
    other_codes = codes[:, column].T
    negative = (other_codes < MASKED) & (other_codes != Relation.POSITIVE) & between[query]
    some = negative.any(1)
    if not some.any():
        return scores.sum() * 0.0
    lead = _log_sum(others[some], negative[some]) - scores[query[some], column[some]]
    return F.softplus(lead).mean()


def swap_margin(similarities: Tensor, codes: Tensor, topic: Tensor, margin: float) -> Tensor:
    """Returns how far positives fail to lead the documents that they swap with, a mean over such pairs.

    A document swaps with a view's positive if the view rules it out and another view of the topic wants it:
    ``max(0, margin - (s_p - s_n))``.

    Args:
        similarities: ``[q, u]``, cosines.
        codes: ``[q, u]``, :class:`Relation` codes.
        topic: ``[q]``, the topic of each query.
        margin: The lead asked for, in cosine.
    """
    positive = codes == Relation.POSITIVE
    same = (topic[:, None] == topic[None, :]).to(similarities.dtype)
    wanted = (same @ positive.to(similarities.dtype)) > 0
    swapped = (codes == Relation.INSTRUCTION_NEGATIVE) & wanted
    query, column = positive.nonzero(as_tuple=True)
    pairs = swapped[query]
    lead = similarities[query, column][:, None] - similarities[query]
    short = (margin - lead).clamp(min=0) * pairs
    return short.sum() / pairs.sum().clamp(min=1)


def distillation(scores: Tensor, teacher: Tensor) -> Tensor:
    """Returns the divergence of the student's softmax from the teacher's, a mean over queries with a teacher.

    KL(teacher || student) over the documents that the teacher scored for the query.
    After Hinton, Vinyals, Dean (2015), *Distilling the Knowledge in a Neural Network*,
    https://arxiv.org/abs/1503.02531.

    Args:
        scores: ``[q, u]``, the student's similarities divided by the temperature.
        teacher: ``[q, u]``, the teacher's scores divided by theirs; NaN where there is none.
    """
    scored = ~teacher.isnan()
    taught = scored.sum(1) > 1
    if not taught.any():
        return scores.sum() * 0.0
    scored, scores, teacher = scored[taught], scores[taught], teacher[taught].to(scores.dtype)
    log_student = scores - _log_sum(scores, scored)[:, None]
    known = teacher.nan_to_num(0.0)
    log_teacher = known - _log_sum(known, scored)[:, None]
    each = (log_teacher.exp() * (log_teacher - log_student)).masked_fill(~scored, 0.0)
    return each.sum(1).mean()


def kept_close(queries: Tensor, docs: Tensor, matrix: Matrix) -> Tensor:
    """Returns the mean distance ``1 - cos`` of plain queries, and of trained documents, to the frozen base's vectors.

    Instructed queries are free to move: they are what is taught.
    """
    total = queries.sum() * 0.0
    if matrix.base_queries is not None and matrix.plain.any():
        near = (queries * matrix.base_queries).sum(1)[matrix.plain]
        total = total + (1 - near).mean()
    if matrix.base_docs is not None and len(matrix.base_docs):
        near = (docs[: len(matrix.base_docs)] * matrix.base_docs).sum(1)
        total = total + (1 - near).mean()
    return total


def shares(similarities: Tensor, codes: Tensor, temperature: float) -> Tensor:
    """Returns the share of the gradient that each negative takes in its query's loss, ``[q, u]``, rows summing to 1.

    The softmax over the query's negatives; 0 for positives and masked documents.
    """
    negative = (codes < MASKED) & (codes != Relation.POSITIVE)
    scores = similarities / temperature
    return (scores - _log_sum(scores, negative)[:, None]).exp().masked_fill(~negative, 0.0)


def check_widths(widths: Sequence[int], full: int) -> None:
    """Raises SettingError if a Matryoshka width is not below the encoder's."""
    for width in widths:
        if not 0 < width < full:
            raise SettingError(
                f"the matryoshka width {width} is not between 1 and {full - 1}",
                fix=f"The encoder has {full} dimensions; name fewer",
            )
