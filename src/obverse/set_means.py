"""Means over the sets of a benchmark, as its papers print them: one row for FollowIR's three sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from obverse.benchmarks.followir import PUBLISHED, SETS
from obverse.errors import InputError
from obverse.measures.measured import RESAMPLES, resampled_means
from obverse.results import Result
from obverse.sampling import seed_for

KIND = "mean of sets"
FOLLOWIR = "FollowIR (mean of 3)"
_SETS = tuple(f"followir:{name}" for name in SETS)
_ALIKE = ("joining", "template_digest", "max_tokens", "ties", "candidates")
_PRINTED = (
    "mean of the three sets' p-MRR, each rounded to one decimal of x 100 first, as FollowIR's own tables "
    "(gather_results.py) print it; the interval is that of the mean without rounding"
)
_MEANS = {
    "p_mrr": ("p-MRR, mean of 3 sets, each rounded first", _PRINTED),
    "p_mrr_unrounded": ("p-MRR, mean of 3 sets", "mean of the three sets' p-MRR, nothing rounded"),
    "score": (
        "FollowIR Score, mean of 3 sets",
        "mean of MAP@1000 (Robust04, Core17) and nDCG@5 (News21), original instructions and judgements",
    ),
}


@dataclass(frozen=True, slots=True)
class _Part:
    """One set's value and the topics behind it."""

    value: float
    topics: Mapping[str, float]


def with_set_means(results: Sequence[Result], *, seed: int = 0) -> list[Result]:
    """Returns the results with a row for the mean of FollowIR's three sets after each model that has all three.

    Sets count alike, however many topics they have. The interval resamples topics within each set. For paired tests,
    the values per topic (of what is not rounded) are weighted so that their plain mean is the mean of the sets.

    After Weller et al. (2024), *FollowIR*, https://arxiv.org/abs/2403.15246, whose tables print these means.

    Args:
        results: What was measured.
        seed: Seed of the intervals.

    Raises:
        InputError: If the three sets of a model were measured by different rules.
    """
    found = [result for result in results if result.about.get("kind") != KIND]
    for model in dict.fromkeys(result.model for result in found):
        own = {r.benchmark: r for r in found if r.model == model}
        if all(name in own for name in _SETS):
            found.append(_mean([own[name] for name in _SETS], seed))
    kept = {(result.model, result.benchmark) for result in found}
    return found + [r for r in results if (r.model, r.benchmark) not in kept]


def _mean(sets: Sequence[Result], seed: int) -> Result:
    first = sets[0]
    for key in _ALIKE:
        for other in sets[1:]:
            if first.about.get(key) != other.about.get(key):
                raise InputError(
                    f"{first.benchmark} and {other.benchmark} were measured by different rules: {key} is "
                    f"{first.about.get(key)!r} and {other.about.get(key)!r}",
                    where=f"{first.model}, {FOLLOWIR}",
                    fix="Measure the three sets alike, or compare without one of them",
                )
    about: dict[str, Any] = {
        "kind": KIND,
        "model": first.model,
        "benchmark": FOLLOWIR,
        "sets": list(_SETS),
        "what": {key: says for key, (_, says) in _MEANS.items()},
        "published": PUBLISHED,
        "seed": seed,
        "interval": "95 % bootstrap over topics within each set",
        "per_topic": "weighted, so that their plain mean is the mean of the sets",
        **{key: first.about[key] for key in (*_ALIKE, "versions") if key in first.about},
    }
    if partial := [r.benchmark for r in sets if r.about.get("partial")]:
        about["partial"] = f"half-present data in {', '.join(partial)}"
    rows = {key: _row(key, sets, seed) for key in _MEANS}
    per_topic = {key: _weighted(_own(key), sets) for key in _MEANS if key != "p_mrr"}
    return Result(first.model, FOLLOWIR, rows, per_topic, about)


def _own(key: str) -> str:
    return "p_mrr" if key.startswith("p_mrr") else key


def _weighted(key: str, sets: Sequence[Result]) -> dict[str, float]:
    """The values of all topics, weighted so that every set counts alike; none where a set has none."""
    topics = [each.per_topic.get(key) or {} for each in sets]
    if not all(topics):
        return {}
    everyone = sum(map(len, topics))
    return {
        f"{each.benchmark}/{topic}": value * everyone / (len(sets) * len(own))
        for each, own in zip(sets, topics, strict=True)
        for topic, value in own.items()
    }


def _row(key: str, sets: Sequence[Result], seed: int) -> dict[str, Any]:
    own = _own(key)
    parts: dict[str, _Part] = {}
    for each in sets:
        value = each.rows.get(own, {}).get("value")
        if value is not None and each.per_topic.get(own):
            parts[each.benchmark] = _Part(float(value), each.per_topic[own])
    written = _MEANS[key][0]
    if len(parts) < len(sets):
        gone = ", ".join(each.benchmark for each in sets if each.benchmark not in parts)
        empty = {"measure": written, "value": None, "low": None, "high": None, "n": 0}
        return {**empty, "reason": f"{gone} has no value"}
    values = {name: part.value for name, part in parts.items()}
    if key == "p_mrr":
        values = {name: float(np.round(100 * value, 1)) / 100 for name, value in values.items()}
    drawn = [
        resampled_means(
            np.fromiter(part.topics.values(), np.float64),
            seed=seed_for(seed, name),
            resamples=RESAMPLES,
        )
        for name, part in parts.items()
    ]
    low, high = np.quantile(np.mean(drawn, axis=0), [0.025, 0.975])
    return {
        "measure": written,
        "value": fmean(values.values()),
        "low": float(low),
        "high": float(high),
        "n": sum(len(part.topics) for part in parts.values()),
        "sets": {name: {"value": values[name], "n": len(parts[name].topics)} for name in parts},
    }
