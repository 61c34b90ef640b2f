"""Is one model better than another? Paired tests over topics, and the correction for asking often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from obverse.errors import InputError
from obverse.measures.measured import resampled_means
from obverse.sampling import seed_for

RESAMPLES = 10_000
_EXACT = 14


def paired_difference(
    a: Mapping[str, float],
    b: Mapping[str, float],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, Any]:
    """Returns the mean difference b - a over common topics, its 95 % bootstrap interval, and p values.

    ``p`` is that of the randomisation test: how often a difference at least as large comes about when each topic's
    two values change sides by a coin (all ways are tried for up to 14 topics, else ``resamples`` draws, the observed
    one counted in). ``p_bootstrap`` is twice the share of bootstrap means on the other side of 0.

    After Smucker, Allan, Carterette (2007), *A Comparison of Statistical Significance Tests for Information
    Retrieval Evaluation*, https://doi.org/10.1145/1321440.1321528.

    Args:
        a: Values of the first model by topic.
        b: Values of the second.
        seed: Seed of both resamplings.
        resamples: Number of draws.

    Returns:
        ``{"difference", "low", "high", "p", "p_bootstrap", "n", "wins", "losses", "ties", "unpaired"}``; wins are b's.

    Raises:
        InputError: If no topic is common.
    """
    common = [topic for topic in a if topic in b]
    if not common:
        raise InputError(
            "the two results have no topic in common", fix="Compare the same benchmark"
        )
    differences = np.array([b[topic] - a[topic] for topic in common])
    means = resampled_means(differences, seed=seed, resamples=resamples)
    low, high = np.quantile(means, [0.025, 0.975])
    tail = min((means <= 0).mean(), (means >= 0).mean())
    return {
        "difference": float(differences.mean()),
        "low": float(low),
        "high": float(high),
        "p": randomisation_p(differences, seed=seed, resamples=resamples),
        "p_bootstrap": float(min(1.0, max(2 * tail, 2 / resamples))),
        "n": len(common),
        "wins": int((differences > 0).sum()),
        "losses": int((differences < 0).sum()),
        "ties": int((differences == 0).sum()),
        "unpaired": sorted((a.keys() | b.keys()) - set(common)),
    }


def randomisation_p(differences: Any, *, seed: int = 0, resamples: int = RESAMPLES) -> float:
    """Returns the two-sided p value of the paired randomisation (sign flip) test of a mean difference of 0."""
    values = np.asarray(differences, dtype=np.float64)
    values = values[values != 0]
    if not len(values):
        return 1.0
    observed = abs(values.sum()) - 1e-12
    if len(values) <= _EXACT:
        ways = np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1
        return float((np.abs((1 - 2 * ways) @ values) >= observed).mean())
    rng = np.random.default_rng(seed_for(seed, "randomisation", len(values)))
    beyond, done, step = 0, 0, max(1, 4_000_000 // len(values))
    while done < resamples:
        size = min(step, resamples - done)
        signs = rng.integers(0, 2, size=(size, len(values)), dtype=np.int8) * 2 - 1
        beyond += int((np.abs(signs @ values) >= observed).sum())
        done += size
    return (beyond + 1) / (resamples + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p values corrected for many comparisons, in the same order.

    After Holm (1979), *A Simple Sequentially Rejective Multiple Test Procedure*,
    https://www.jstor.org/stable/4615733.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, number in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[number]))
        corrected[number] = largest
    return corrected
