"""Stops a training that cannot come to anything, with the reason and the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from obverse.errors import InputError, SettingError
from obverse.training.collator import Step
from obverse.training.relations import MASKED, Relation
from obverse.training.sides import weights_digest

if TYPE_CHECKING:
    from torch import Tensor

    from obverse.training.loss import Losses
    from obverse.training.run import Run
    from obverse.training.tokens import Forward

_PATIENCE = 5
_ALIKE, _COLLAPSED, _COMPARED = 0.1, 0.9999, 32


@dataclass(slots=True)
class Guard:
    """Looks at every step.

    Attributes:
        run: The run that it watches.
        zeros: Steps in a row whose loss was exactly 0.
        still: Steps in a row at learning rate 0.
        alike: Steps in a row in which all queries looked alike.
        apart: Whether they once were not: a base that sees no difference from the start has not collapsed.
    """

    run: Run
    zeros: int = 0
    still: int = 0
    alike: int = 0
    apart: bool = False

    def before(self, step: Step) -> None:
        """Raises InputError if a whole batch has nothing to learn from, which is a fault of the data."""
        codes = step.matrix.codes
        negative = (codes < MASKED) & (codes != Relation.POSITIVE)
        whole = len(step.batch.topics) >= self.run.plan.batch_size
        if whole and not bool(negative.any()):
            raise InputError(
                "no query has a negative, so its loss is 0",
                where=f"step {step.batch.step}, {self._topics(step)}",
                fix="Mine negatives (obverse mine), turn in-batch negatives on, or raise --batch-size",
            )

    def after(self, step: Step, loss: float, found: Losses) -> None:
        """Raises SettingError if the loss is no number, stays 0, or all vectors have become one."""
        where = f"step {step.batch.step}, {self._topics(step)}"
        if not math.isfinite(loss):
            raise SettingError(
                f"the loss is {loss}{self._worst(step, found.similarities)}",
                where=where,
                fix="Lower --learning-rate, or use --precision bf16 or fp32; the last checkpoint is untouched",
            )
        self.zeros = self.zeros + 1 if loss == 0 else 0
        if self.zeros >= min(_PATIENCE, len(self.run.plan)):
            raise SettingError(
                f"the loss was exactly 0 in {self.zeros} steps in a row",
                where=where,
                fix="All negatives are too easy or masked, or all weights are 0 (--plain-weight, --source-weight): "
                "look at obverse explain-batch",
            )
        alike = _alike(found.similarities)
        self.apart = self.apart or not alike
        self.alike = self.alike + 1 if alike else 0
        if self.apart and self.alike >= _PATIENCE:
            self.alike = 0
            if self._collapsed(step):
                raise SettingError(
                    "all queries have the same vector: the encoder has collapsed",
                    where=where,
                    fix="Lower --learning-rate, add --keep-close, or check the base",
                )

    def rate(self, step: int, learning_rate: float) -> None:
        """Raises SettingError if the learning rate stays at 0."""
        self.still = self.still + 1 if learning_rate == 0 else 0
        if self.still > max(_PATIENCE, self.run.settings.warmup * len(self.run.plan) + 1):
            raise SettingError(
                f"the learning rate has been 0 for {self.still} steps",
                where=f"step {step}",
                fix="Look at --learning-rate, --warmup and --schedule",
            )

    def _collapsed(self, step: Step) -> bool:
        """Whether queries have one vector, dropout aside, which keeps even equal texts apart in training."""
        texts = list(dict.fromkeys(row.text for row in step.rows))[:_COMPARED]
        vectors = self.run.forward.frozen(texts)
        return len(texts) > 1 and bool((vectors @ vectors.T).min() > _COLLAPSED)

    def _topics(self, step: Step) -> str:
        names = [self.run.topics.topics[topic].topic_id for topic in step.batch.topics]
        return f"topics {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"

    def _worst(self, step: Step, similarities: Tensor | None) -> str:
        if similarities is None:
            return ""
        rows = (~similarities.isfinite()).any(1).nonzero().flatten().tolist()
        if not rows:
            return ""
        return f" (rows: {'; '.join(repr(step.rows[row].text[:60]) for row in rows[:3])})"


def _alike(similarities: Tensor | None) -> bool:
    """Whether every document is about as near to all queries, as it is when these have one vector."""
    if similarities is None or not similarities.numel():
        return False
    found = similarities.detach()
    return bool((found.amax(0) - found.amin(0)).max() < _ALIKE)


def refuse_unmoved(run: Run) -> None:
    """Raises SettingError if the weights are those of the base after all steps."""
    if weights_digest(run.learner) == run.identity["base"]:
        raise SettingError(
            f"{len(run.plan):,} steps have not moved the weights", fix="Raise --learning-rate"
        )


def refuse_broken(forward: Forward) -> None:
    """Raises SettingError if an encoder gives vectors that are no numbers: its last step may have broken it."""
    if not bool(forward.frozen(["mountain bike"]).isfinite().all()):
        raise SettingError(
            "the last step left weights whose vectors are no numbers", fix="Lower --learning-rate"
        )
