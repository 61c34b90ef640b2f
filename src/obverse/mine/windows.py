"""Which of the ranked documents may become negatives: by rank, by score, and by distance from the positive.

The positive-aware cut is after Moreira et al. (2024), NV-Retriever, https://arxiv.org/abs/2407.15831, where a
candidate must score below 95 % of the positive. A share of a negative score would lie above it, so the cut is
``positive - (1 - share) * |positive|`` here, which is the same for positive scores and right for the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from obverse.errors import SettingError


@dataclass(frozen=True, slots=True)
class Window:
    """What a candidate must meet.

    Attributes:
        first_rank: The best rank that is taken, from 1.
        last_rank: The worst.
        min_score: The least score.
        max_score: The highest.
        below_positive: The share of the positive's score that a candidate must stay under, such as 0.95.
    """

    first_rank: int = 1
    last_rank: int = 200
    min_score: float | None = None
    max_score: float | None = None
    below_positive: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.first_rank <= self.last_rank:
            raise SettingError(
                f"the rank window {self.first_rank} to {self.last_rank} is empty",
                fix="Give 1 <= --first-rank <= --last-rank",
            )
        low, high = self.min_score, self.max_score
        if any(score is not None and math.isnan(score) for score in (low, high)):
            raise SettingError("a score window of NaN is none", fix="Give numbers")
        if self.below_positive is not None and not 0 < self.below_positive < math.inf:
            raise SettingError(
                f"--below-positive {self.below_positive:g} is no share", fix="Give 0.95 or so"
            )
        if low is not None and high is not None and low > high:
            raise SettingError(f"the score window {low:g} to {high:g} is empty", fix="Swap them")

    def ceiling(self, positive: float | None) -> float | None:
        """Returns the score that a candidate must stay below, given the lowest positive's."""
        if self.below_positive is None or positive is None:
            return None
        return positive - (1 - self.below_positive) * abs(positive)

    def refusal(self, rank: int, score: float, ceiling: float | None) -> str | None:
        """Returns why a candidate is refused, a fixed phrase, or None."""
        if rank < self.first_rank:
            return "above the rank window"
        if self.max_score is not None and score > self.max_score:
            return "above the score window"
        if self.min_score is not None and score < self.min_score:
            return "below the score window"
        if ceiling is not None and score >= ceiling:
            return "too close to the positive"
        return None
