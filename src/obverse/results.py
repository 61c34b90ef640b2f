"""One model on one benchmark as it was measured: from memory, or from what ``evaluate --out`` wrote."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from obverse.errors import InputError
from obverse.evaluate import Scores
from obverse.files import read_json
from obverse.records import Run
from obverse.trec import read_run

SCORES = "scores.json"


@dataclass(frozen=True, slots=True)
class Result:
    """One model on one benchmark.

    Attributes:
        model: The model's name.
        benchmark: The benchmark's name.
        rows: ``{"measure", "value", "low", "high", "n"}`` by key.
        per_topic: The counted values by measure and topic.
        about: How the numbers were made.
        tops: By topic, what stands on top, to be looked at.
    """

    model: str
    benchmark: str
    rows: Mapping[str, Mapping[str, Any]]
    per_topic: Mapping[str, Mapping[str, float]]
    about: Mapping[str, Any] = field(default_factory=dict)
    tops: Mapping[str, str] = field(default_factory=dict, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Returns the result as ``scores.json`` holds it."""
        return {**self.rows, "about": dict(self.about), "per_topic": dict(self.per_topic)}


def result_of(scores: Scores) -> Result:
    """Returns scores in memory as a result."""
    return Result(
        scores.model,
        scores.benchmark,
        scores.brief(),
        scores.per_topic,
        dict(scores.about),
        tops_of(scores.runs),
    )


def folder_name(name: str) -> str:
    """Returns a model's or benchmark's name as a folder's name: ``followir:core17`` becomes ``followir-core17``."""
    return re.sub(r"[^\w.#=+]+", "-", name).strip("-.")[-120:] or "unnamed"


def result_folders(place: str | os.PathLike[str]) -> list[Path]:
    """Returns where results lie: a folder of ``evaluate --out``, or the folders of several benchmarks in it.

    Returns:
        Files named scores.json, in the order of their folders' names; none where the place holds no result.
    """
    home = Path(place)
    if home.is_file():
        return [home] if home.suffix == ".json" else []
    if (home / SCORES).is_file():
        return [home / SCORES]
    return sorted(home.glob(f"*/{SCORES}"))


def read_result(place: str | os.PathLike[str], *, tops: bool = True) -> Result:
    """Returns the result that ``evaluate --out`` wrote: a folder, or its scores.json.

    Args:
        place: The folder or file.
        tops: Whether the runs are read too, for what stands on top: long ones take seconds.

    Raises:
        InputError: If there is none, or it is none.
    """
    path = Path(place)
    if not path.exists() or path.is_dir():
        path = path / SCORES
        if not path.is_file():
            raise InputError(
                f"holds no {SCORES}, so it is no folder of evaluate --out",
                where=str(place),
                fix="Write one with obverse evaluate MODEL --on BENCHMARK --out DIR",
            )
    row = read_json(path)
    if (
        not isinstance(row, dict)
        or not isinstance(row.get("about"), dict)
        or not {"model", "benchmark"} <= row["about"].keys()
        or not isinstance(row.get("per_topic"), dict)
    ):
        raise InputError(
            "is no result of obverse evaluate",
            where=str(path),
            fix="Write one with evaluate --out DIR",
        )
    about, per_topic = row["about"], row["per_topic"]
    measures = {k: v for k, v in row.items() if isinstance(v, dict) and "value" in v}
    _refuse_no_numbers(measures, per_topic, str(path))
    files = sorted(path.parent.glob("*.run.tsv")) if tops else []
    runs = {file.name: read_run(file).run for file in files}
    model, benchmark = str(about["model"]), str(about["benchmark"])
    return Result(model, benchmark, measures, per_topic, about, tops_of(runs))


def _refuse_no_numbers(
    measures: Mapping[str, Any], per_topic: Mapping[str, Any], where: str
) -> None:
    """A result that somebody edited, or another program wrote."""
    for key, row in measures.items():
        for name in ("value", "low", "high", "n"):
            if not (_is_number(row.get(name)) or (name in row and row[name] is None)):
                raise InputError(
                    f"{name} is {row.get(name, 'missing')!r}, which is no number",
                    where=f"{where}, {key}",
                    fix="Write the result again with evaluate --out, or with --runs",
                )
    for key, values in per_topic.items():
        if not isinstance(values, dict) or not all(map(_is_number, values.values())):
            raise InputError(
                "should be numbers by topic",
                where=f"{where}, per_topic, {key}",
                fix="Write the result again with evaluate --out, or with --runs",
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_one_table(read: Mapping[str, Sequence[Result]]) -> list[Result]:
    """Returns the results of several places; models of one name from two places get the place's name beside theirs.

    Args:
        read: Results by the place that they were read from.

    Raises:
        InputError: If one place measures a model twice on one benchmark.
    """
    for place, results in read.items():
        seen = set()
        for each in results:
            if (each.model, each.benchmark) in seen:
                raise InputError(
                    f"{each.model} was measured twice on {each.benchmark}",
                    where=place,
                    fix="Name one of the folders",
                )
            seen.add((each.model, each.benchmark))
    times = Counter((r.model, r.benchmark) for results in read.values() for r in results)
    twice = {model for (model, _), count in times.items() if count > 1}
    return [
        replace(each, model=f"{each.model} ({place})") if each.model in twice else each
        for place, results in read.items()
        for each in results
    ]


_PART = re.compile(r"(.+?)(#\d+|-og|-changed|_q[12])")
"""A query that is one of a topic's: a view, FollowIR's two instructions, NevIR's pair."""


def tops_of(runs: Mapping[str, Run], take: int = 3) -> dict[str, str]:
    """Returns, by topic, the first documents of each of its queries: ``#1 a b c, #2 b a c``."""
    tops: dict[str, list[str]] = {}
    for run in runs.values():
        for query_id, scores in run.items():
            shown = " ".join(islice(scores, take))
            if part := _PART.fullmatch(query_id):
                tops.setdefault(part[1], []).append(f"{part[2].lstrip('-_')} {shown}")
            else:
                tops.setdefault(query_id, []).append(shown)
    return {topic: ", ".join(rows) for topic, rows in tops.items()}
