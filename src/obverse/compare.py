"""Several models on several benchmarks: one table with intervals, paired tests, wins and losses to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from obverse.errors import InputError
from obverse.measures.significance import holm, paired_difference
from obverse.mteb_results import KIND as MTEB
from obverse.mteb_results import joined_alike
from obverse.results import Result
from obverse.set_means import FOLLOWIR

HOW = ("joining", "scope", "guard", "candidates", "ties", "partial")
"""What must be equal for two numbers to stand in one table."""


@dataclass(frozen=True, slots=True)
class ToLookAt:
    """A topic that a model wins or loses, and what stands on top there by model.

    Attributes:
        benchmark: The benchmark.
        model: The model that is held against the first.
        topic: The topic's id.
        by: The difference.
        measure: Of what.
        tops: What stands on top, by model: by view, the first documents.
    """

    benchmark: str
    model: str
    topic: str
    by: float
    measure: str
    tops: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A table of models and what the differences from the first one amount to.

    Attributes:
        results: What was compared, the first model being the one that the others are held against.
        tests: Rows of ``{"benchmark", "measure", "model", "against", "difference", "low", "high", "p",
            "p_holm", "wins", "losses", "ties", "n", "unpaired"}``.
        beware: What makes the table unfair, in sentences; empty where nothing does.
    """

    results: Sequence[Result]
    tests: Sequence[Mapping[str, Any]]
    beware: Sequence[str]

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(result.model for result in self.results))

    def to_json(self) -> dict[str, Any]:
        """Returns everything as one JSON value."""
        return {
            "results": [
                {"model": r.model, "benchmark": r.benchmark, "measures": r.rows, "about": r.about}
                for r in self.results
            ],
            "tests": list(self.tests),
            "topics_to_look_at": [asdict(each) for each in to_look_at(self)],
            "distance_to_paper": distance_to_paper(self.results),
            "beware": list(self.beware),
        }


def compare(results: Sequence[Result], *, seed: int = 0, resamples: int = 10_000) -> Comparison:
    """Returns a comparison of models; every one is held against the first by paired tests over common topics.

    The p values of the randomisation test are corrected for all tests of the table together (Holm).

    Args:
        results: One per model and benchmark.
        seed: Seed of the resamplings.
        resamples: Draws of each test.

    Raises:
        InputError: If numbers were made by different rules (joining, scope, ties, ...) and so do not compare.
    """
    if not results:
        raise InputError("there is nothing to compare", fix="Name at least one result")
    refuse_different_rules(results)
    first = results[0].model
    tests: list[dict[str, Any]] = []
    for base in (r for r in results if r.model == first):
        for other in (r for r in results if r.benchmark == base.benchmark and r.model != first):
            for measure in base.per_topic:
                if not base.per_topic[measure] or not other.per_topic.get(measure):
                    continue
                found = paired_difference(
                    base.per_topic[measure],
                    other.per_topic[measure],
                    seed=seed,
                    resamples=resamples,
                )
                gone = found.pop("unpaired")
                row: dict[str, Any] = {
                    "benchmark": base.benchmark,
                    "measure": measure,
                    "model": other.model,
                }
                tests.append({**row, "against": first, **found, "unpaired": len(gone)})
    for test, p in zip(tests, holm([test["p"] for test in tests]), strict=True):
        test["p_holm"] = p
    return Comparison(results, tests, _beware(results))


def wins_and_losses(
    a: Mapping[str, float], b: Mapping[str, float], take: int = 5
) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Returns the topics that b wins by the most over a, and those that it loses by the most."""
    differences = sorted(((t, b[t] - a[t]) for t in a if t in b), key=lambda row: (-row[1], row[0]))
    wins = [row for row in differences if row[1] > 0][:take]
    losses = [row for row in reversed(differences) if row[1] < 0][:take]
    return wins, losses


def to_look_at(comparison: Comparison, take: int = 5) -> list[ToLookAt]:
    """Returns the topics that each model wins and loses by the most, by its first measure, with what stands on top."""
    found = []
    first = comparison.models[0]
    for base in (r for r in comparison.results if r.model == first):
        for other in comparison.results:
            if other.benchmark != base.benchmark or other.model == first or not base.per_topic:
                continue
            if (
                base.benchmark == FOLLOWIR
            ):  # its topics stand under their sets, with their own values
                continue
            measure = next(iter(base.per_topic))
            values = base.per_topic[measure], other.per_topic.get(measure, {})
            for topic, by in (row for rows in wins_and_losses(*values, take) for row in rows):
                tops = {
                    name: result.tops[topic]
                    for name, result in ((first, base), (other.model, other))
                    if result.tops.get(topic)
                }
                found.append(ToLookAt(base.benchmark, other.model, topic, by, measure, tops))
    return found


def distance_to_paper(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Returns, for each result whose benchmark knows published values, how far it is from each, and known reasons."""
    rows = []
    for result in results:
        for name, published in (result.about.get("published") or {}).items():
            for key, value in published.items():
                measure = key.split(" x ")[0].strip()
                own = result.rows.get(measure, {}).get("value")
                if isinstance(value, int | float) and own is not None:
                    rows.append(
                        {
                            "benchmark": result.benchmark,
                            "measure": measure,
                            "model": result.model,
                            "value x 100": own * 100,
                            "published": name,
                            "published x 100": value,
                            "distance": own * 100 - value,
                            "reasons": _reasons(result),
                        }
                    )
    return rows


def _reasons(result: Result) -> list[str]:
    about = result.about
    reasons = [f"joining: {about.get('joining')}", f"token limit: {about.get('max_tokens')}"]
    size = about.get("published_size") or {}
    if size and size.get("documents") != about.get("documents"):
        reasons.append(
            f"size: {about.get('documents')} documents, published {size.get('documents')}"
        )
    if result.benchmark == FOLLOWIR:
        reasons.append(
            "published values before August 2026 broke ties by the order of the run, and mteb 1.x judged the Score "
            "by the changed judgements"
        )
    return reasons


def refuse_different_rules(results: Sequence[Result]) -> None:
    """Raises InputError if numbers on one benchmark were made by different rules (joining, scope, ties, ...)."""
    seen: dict[str, Result] = {}
    for result in results:
        first = seen.setdefault(result.benchmark, result)
        for key in HOW:
            if not _alike(first.about, result.about, key):
                raise InputError(
                    f"{first.model} and {result.model} were measured by different rules: {key} is "
                    f"{first.about.get(key)!r} and {result.about.get(key)!r}",
                    where=result.benchmark,
                    fix="Measure both alike; such numbers do not belong in one table",
                )


def _alike(one: Mapping[str, Any], two: Mapping[str, Any], key: str) -> bool:
    """Whether two results follow one rule; mteb's files say of the joining alone how they were made."""
    theirs = [about.get("kind") == MTEB for about in (one, two)]
    if any(theirs) and not all(theirs):
        return key != "joining" or joined_alike(two if theirs[0] else one)
    return bool(one.get(key) == two.get(key))


def _beware(results: Sequence[Result]) -> list[str]:
    notes = []
    by_benchmark: dict[str, list[Result]] = {}
    for result in results:
        by_benchmark.setdefault(result.benchmark, []).append(result)
    for name, rows in by_benchmark.items():
        limits = {str(r.about.get("max_tokens")) for r in rows if r.about.get("max_tokens")}
        if len(limits) > 1:
            notes.append(f"{name}: token limits differ ({', '.join(sorted(limits))})")
        for measure in rows[0].rows:
            sizes = {n for r in rows if (n := r.rows.get(measure, {}).get("n")) is not None}
            if len(sizes) > 1:
                shown = ", ".join(map(str, sorted(sizes)))
                notes.append(
                    f"{name}, {measure}: the means run over different numbers of topics ({shown})"
                )
        if rows[0].about.get("partial"):
            notes.append(f"{name}: computed on half-present data")
        for row in rows:
            if row.about.get("kind") == MTEB:
                version = row.about["versions"]["mteb"]
                notes.append(
                    f"{name}: {row.model} was measured by mteb {version}, whose file holds no interval, n, token limit "
                    "or values per topic, so it is not tested"
                )
    first = results[0].model
    measured = {r.benchmark for r in results if r.model == first}
    notes += [
        f"{name}: {first} was not measured there, so nothing is tested"
        for name in by_benchmark
        if name not in measured
    ]
    return notes
