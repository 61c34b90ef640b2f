"""What the cells came to: means over seeds, paired tests of named pairs, and what became of each expectation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from obverse.compare import compare
from obverse.measures.measured import over_topics
from obverse.measures.significance import holm
from obverse.recipes.recipe import Pair, Published, Recipe
from obverse.results import Result

BASE = "base"
_LEVEL = 0.05
COMPARABLE = ("followir", "instructir")
"""Benchmarks whose measures are of the kind that a topics benchmark has, so that differences between arms compare."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An expectation, and what the numbers say to it.

    Attributes:
        pair: Which arms.
        measure: By which measure.
        wanted: 1 where the arm should be better, -1 where it should be worse.
        test: The paired test.
        verdict: ``confirmed`` or ``refuted`` where the interval leaves out 0 and p is below 0.05, else ``open``.
    """

    pair: Pair
    measure: str
    wanted: int
    test: Mapping[str, Any]
    verdict: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """A recipe's numbers.

    Attributes:
        means: By benchmark, one result per arm, the base first: each topic's values averaged over the seeds.
        spread: By benchmark, arm and measure, the value of each seed.
        tests: One row per pair, benchmark and measure; p values corrected for all of them together (Holm).
        findings: What became of what was expected, on the first benchmark.
        against_base: The paired difference of every arm from the base, by benchmark and measure.
    """

    means: Mapping[str, Sequence[Result]]
    spread: Mapping[str, Mapping[str, Mapping[str, list[float]]]]
    tests: Sequence[Mapping[str, Any]]
    findings: Sequence[Finding]
    against_base: Sequence[Mapping[str, Any]] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the numbers as JSON values."""
        return {
            "means": {
                name: {result.model: dict(result.rows) for result in results}
                for name, results in self.means.items()
            },
            "seeds": self.spread,
            "tests": list(self.tests),
            "against_base": list(self.against_base),
            "findings": [
                {
                    "says": f.pair.says,
                    "arm": f.pair.arm,
                    "against": f.pair.against,
                    "measure": f.measure,
                    "expected": "better" if f.wanted > 0 else "worse",
                    "difference": f.test["difference"],
                    "verdict": f.verdict,
                }
                for f in self.findings
            ],
        }


def outcome(
    recipe: Recipe, results: Mapping[str, Mapping[str, Sequence[Result]]], seed: int = 0
) -> Outcome:
    """Returns the numbers of a recipe.

    Args:
        recipe: Its pairs and expectations.
        results: By benchmark and arm, one result for each seed; the base under ``base``.
        seed: Of the resamplings.
    """
    means = {
        name: [mean_over_seeds(arm, found, seed) for arm, found in arms.items()]
        for name, arms in results.items()
    }
    spread = {
        name: {arm: _values(found) for arm, found in arms.items()} for name, arms in results.items()
    }
    tests = _tests(recipe.pairs, means, seed)
    first = next(iter(means))
    against = [dict(t) for rows in means.values() for t in compare(rows, seed=seed).tests]
    findings = list(_findings(recipe.pairs, tests, means[first][0].benchmark))
    return Outcome(means, spread, tests, findings, against)


def mean_over_seeds(name: str, results: Sequence[Result], seed: int = 0) -> Result:
    """Returns one result whose value at each topic is the mean over the seeds; intervals are over topics.

    A topic counts where every seed has a value for it.
    """
    per_topic, rows = {}, {}
    for measure, values in results[0].per_topic.items():
        shared = [t for t in values if all(t in r.per_topic.get(measure, {}) for r in results)]
        per_topic[measure] = {t: fmean(r.per_topic[measure][t] for r in results) for t in shared}
        written = str(results[0].rows.get(measure, {}).get("measure", measure))
        rows[measure] = over_topics(written, per_topic[measure], seed=seed).brief()
    return Result(name, results[0].benchmark, rows, per_topic, results[0].about)


def _values(results: Sequence[Result]) -> dict[str, list[float]]:
    return {
        measure: [float(r.rows[measure]["value"]) for r in results]
        for measure, row in results[0].rows.items()
        if row.get("value") is not None
    }


def _tests(
    pairs: Sequence[Pair], means: Mapping[str, Sequence[Result]], seed: int
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for arm, against in dict.fromkeys((pair.arm, pair.against) for pair in pairs):
        for results in means.values():
            by_name = {result.model: result for result in results}
            if arm in by_name and against in by_name:
                rows += map(dict, compare([by_name[against], by_name[arm]], seed=seed).tests)
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
    return rows


def _findings(
    pairs: Sequence[Pair], tests: Sequence[Mapping[str, Any]], benchmark: str
) -> Iterable[Finding]:
    for pair in pairs:
        for measure, wanted in pair.expected.items():
            for test in tests:
                if (
                    (test["model"], test["against"]) == (pair.arm, pair.against)
                    and test["measure"] == measure
                    and test["benchmark"] == benchmark
                ):
                    yield Finding(pair, measure, wanted, test, _verdict(test, wanted))


def _verdict(test: Mapping[str, Any], wanted: int) -> str:
    if test["low"] <= 0 <= test["high"] or test["p"] >= _LEVEL:
        return "open"
    return "confirmed" if test["difference"] * wanted > 0 else "refuted"


def front(points: Mapping[str, tuple[float, float]]) -> set[str]:
    """Returns the names whose point no other point beats in one value without losing in the other."""
    return {
        name
        for name, (x, y) in points.items()
        if not any(a >= x and b >= y and (a > x or b > y) for a, b in points.values())
    }


def distances(recipe: Recipe, found: Outcome) -> list[dict[str, Any]]:
    """Returns each published value with ours beside it, and the distance.

    Where the published benchmark was measured, values are compared; else the published difference from an arm that
    it is held against, or from the base, is set against ours on the topics benchmark, by the same kind of measure.
    """
    rows = []
    topics = next(iter(found.means.values()))
    for published in recipe.published:
        row: dict[str, Any] = {
            "model": published.model,
            "arm": published.arm,
            "benchmark": published.benchmark,
            "measure": published.measure,
            "published": published.value,
        }
        measured = _measured(published, found)
        if measured is not None:
            row |= {"ours": 100 * measured, "distance": 100 * measured - published.value}
        elif (other := _other(recipe, published)) is not None:
            alike = published.benchmark in COMPARABLE
            ours = _difference(topics, published, other.arm) if alike else None
            row |= {
                "against": other.arm,
                "published difference": published.value - other.value,
                "our difference": ours,
                "distance": None if ours is None else ours - (published.value - other.value),
            }
        rows.append(row)
    return rows


def _measured(published: Published, found: Outcome) -> float | None:
    for name, results in found.means.items():
        if name.replace("/", ":").lower().startswith(published.benchmark.lower()):
            for result in results:
                if result.model == published.arm:
                    value = result.rows.get(published.measure, {}).get("value")
                    return None if value is None else float(value)
    return None


def _other(recipe: Recipe, published: Published) -> Published | None:
    """The paper's value of the first arm that this one is held against, else of the base, by the same measure."""
    if published.arm == BASE:
        return None
    alike = {
        other.arm: other
        for other in recipe.published
        if (other.model, other.benchmark, other.measure)
        == (published.model, published.benchmark, published.measure)
    }
    names = [pair.against for pair in recipe.pairs if pair.arm == published.arm] + [BASE]
    return next((alike[name] for name in names if name in alike), None)


def _difference(results: Sequence[Result], published: Published, against: str) -> float | None:
    rows = {result.model: result.rows.get(published.measure, {}) for result in results}
    a, b = (rows.get(name, {}).get("value") for name in (published.arm, against))
    return None if a is None or b is None else 100 * (float(a) - float(b))
