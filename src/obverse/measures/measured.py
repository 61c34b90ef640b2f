"""What a measure returns: the mean with its interval, the values by topic, and what was left out and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.sampling import seed_for

RESAMPLES = 2_000
_CELLS = 250_000  # so many drawn rows fit a processor's cache
_KEPT = 4_000_000  # draws that are kept for the next measure: at most 32 MB


@dataclass(frozen=True, slots=True)
class Measured:
    """One number with everything that is needed to trust it.

    Attributes:
        measure: The measure as it is written: ``nDCG@10``.
        value: The mean over the counted topics, unscaled; None where no topic counts.
        low: Lower end of the 95 % bootstrap interval over topics.
        high: Upper end of it.
        n: How many topics the mean runs over.
        per_topic: The value of every topic; None where the measure has no value there.
        left_out: Topics of ``per_topic`` that the mean leaves out; each stands in ``notes`` under its reason.
        notes: What a reader must know, by fixed phrase: ``without_results``, ``without_positives``, ``ties``, ...
        reason: Why there is no value.
    """

    measure: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    per_topic: Mapping[str, float | None] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    notes: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None

    @property
    def counted(self) -> dict[str, float]:
        """The values that the mean runs over, by topic."""
        return {
            topic: value
            for topic, value in self.per_topic.items()
            if value is not None and topic not in self.left_out
        }

    def brief(self) -> dict[str, Any]:
        """Returns ``{"measure", "value", "low", "high", "n"}``, with ``reason`` where there is no value."""
        row: dict[str, Any] = {
            "measure": self.measure,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
        }
        return row | ({"reason": self.reason} if self.reason else {})

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.measure}: no value ({self.reason})"
        return f"{self.measure} {self.value:.4f} [{self.low:.4f}, {self.high:.4f}] n={self.n}"


def over_topics(
    measure: str,
    per_topic: Mapping[str, float | None],
    *,
    left_out: Collection[str] = (),
    notes: Mapping[str, Any] | None = None,
    reason: str = "no topic has a value",
    seed: int = 0,
) -> Measured:
    """Returns the mean over topics with its 95 % bootstrap interval.

    Args:
        measure: The measure as it is written.
        per_topic: Values by topic; None where there is none.
        left_out: Topics whose value is shown but not counted.
        notes: What the reader must know; empty lists are dropped.
        reason: Said where no topic counts.
        seed: Seed of the resampling.
    """
    aside = frozenset(left_out)
    values = np.array(
        [value for topic, value in per_topic.items() if value is not None and topic not in aside],
        dtype=np.float64,
    )
    kept = {key: note for key, note in (notes or {}).items() if note not in ([], {}, None, "")}
    if not len(values):
        return Measured(
            measure, None, None, None, 0, dict(per_topic), aside, kept, kept.get("reason", reason)
        )
    low, high = bootstrap_interval(values, seed=seed)
    return Measured(
        measure, float(values.mean()), low, high, len(values), dict(per_topic), aside, kept
    )


def bootstrap_interval(
    values: NDArray[np.float64], *, seed: int = 0, resamples: int = RESAMPLES, level: float = 0.95
) -> tuple[float, float]:
    """Returns the percentile bootstrap interval of a mean over topics.

    After Efron (1979), *Bootstrap Methods: Another Look at the Jackknife*, https://doi.org/10.1214/aos/1176344552.
    """
    means = resampled_means(values, seed=seed, resamples=resamples)
    edge = (1 - level) / 2
    low, high = np.quantile(means, [edge, 1 - edge])
    return float(low), float(high)


def resampled_means(
    values: NDArray[np.float64], *, seed: int, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Returns the means of ``resamples`` draws with replacement, each as large as the sample."""
    sizes = (seed, len(values), resamples)
    blocks = _kept_draws(*sizes) if len(values) * resamples <= _KEPT else _draws(*sizes)
    return np.concatenate([values[drawn].mean(axis=1) for drawn in blocks])


def _draws(seed: int, topics: int, resamples: int) -> Iterator[NDArray[np.int64]]:
    rng = np.random.default_rng(seed_for(seed, "bootstrap", topics))
    at_once = max(1, _CELLS // topics)
    for start in range(0, resamples, at_once):
        yield rng.integers(0, topics, size=(min(at_once, resamples - start), topics))


@lru_cache(maxsize=1)
def _kept_draws(*sizes: int) -> tuple[NDArray[np.int64], ...]:
    """The draws of the measure before, which most often has the same topics."""
    return tuple(_draws(*sizes))
