"""A gate for continuous integration: thresholds in a file, one line per breach."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from obverse.compare import refuse_different_rules
from obverse.errors import InputError, SettingError
from obverse.files import read_json
from obverse.measures.significance import paired_difference
from obverse.results import Result

_BOUNDS = ("min", "max", "max_drop", "n_min")


def read_thresholds(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Returns thresholds by measure from TOML or JSON.

    ``[p_mrr]`` with ``min = 0.4``, or ``["followir:core17/p_mrr"]`` for a folder of several benchmarks. Bounds are
    ``min`` and ``max`` of the value, ``max_drop``: how far it may lie below the baseline's, and ``n_min``: over how
    many topics it must run.

    Raises:
        InputError: If the file is no table of bounds.
    """
    name = os.fspath(path)
    if name.endswith(".toml"):
        try:
            rows: Any = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError("no such file", where=name, fix="Check the path") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"is no TOML ({error})", where=name, fix="Write [p_mrr] and min = 0.4"
            ) from None
    else:
        rows = read_json(path)
    if not isinstance(rows, dict) or not rows:
        raise InputError("holds no thresholds", where=name, fix='Write {"p_mrr": {"min": 0.4}}')
    for measure, bounds in rows.items():
        if not isinstance(bounds, dict) or not bounds:
            raise InputError(
                "should be an object of bounds", where=f"{name}, {measure}", fix="Write min = 0.4"
            )
        for key, value in bounds.items():
            if (
                key not in _BOUNDS
                or isinstance(value, bool)
                or not isinstance(value, int | float)
                or not math.isfinite(value)
            ):
                raise InputError(
                    f"{key} = {value!r} is no bound",
                    where=f"{name}, {measure}",
                    fix=f"Use {', '.join(_BOUNDS)} with a number",
                )
    return rows


def breaches(
    results: Sequence[Result],
    thresholds: Mapping[str, Mapping[str, float]],
    baselines: Sequence[Result] = (),
) -> list[str]:
    """Returns one line per threshold that a result breaks; none where it passes.

    A measure without a value is a breach of any threshold on it: what could not be measured did not pass.

    Args:
        results: What was measured, one per benchmark.
        thresholds: Bounds by measure, or by ``benchmark/measure`` where there are several benchmarks.
        baselines: What ``max_drop`` is measured from, by the same benchmarks and rules.

    Raises:
        InputError: If a baseline was measured by other rules than its result.
        SettingError: If a drop is bounded and there is no baseline, or a measure does not say its benchmark.
    """
    lines = []
    for key, bounds in thresholds.items():
        result, measure = _meant(key, results)
        row = result.rows.get(measure) if result is not None else None
        if result is None or row is None or row.get("value") is None:
            reason = (row or {}).get("reason", "it was not measured")
            lines.append(f"{key}: no value ({reason})")
            continue
        value, n = float(row["value"]), int(row.get("n") or 0)
        shown = _shown(row)
        if "min" in bounds and value < bounds["min"]:
            lines.append(f"{key}: {shown} is below {bounds['min']:g} (n={n})")
        if "max" in bounds and value > bounds["max"]:
            lines.append(f"{key}: {shown} is above {bounds['max']:g} (n={n})")
        if "n_min" in bounds and n < bounds["n_min"]:
            lines.append(f"{key}: the mean runs over {n} topics, fewer than {bounds['n_min']:g}")
        if "max_drop" in bounds:
            lines += _drop(key, measure, bounds["max_drop"], result, baselines)
    return lines


def _meant(key: str, results: Sequence[Result]) -> tuple[Result | None, str]:
    """The result and the measure that a threshold is about; no result where there is none of that benchmark."""
    benchmark, slash, measure = key.rpartition("/")
    if slash:
        return next((r for r in results if r.benchmark == benchmark), None), measure
    if len(results) > 1:
        raise SettingError(
            f"of which benchmark {key} is bounded is not said",
            fix=f"Write {results[0].benchmark}/{key}",
        )
    return results[0], key


def _shown(row: Mapping[str, Any]) -> str:
    if row.get("low") is None or row.get("high") is None:
        return f"{row['value']:.4f}"
    return f"{row['value']:.4f} [{row['low']:.4f}, {row['high']:.4f}]"


def _drop(
    key: str, measure: str, allowed: float, result: Result, baselines: Sequence[Result]
) -> list[str]:
    if not baselines:
        raise SettingError(f"max_drop of {key} needs a baseline", fix="Give --baseline DIR")
    baseline = next((b for b in baselines if b.benchmark == result.benchmark), None)
    if baseline is None:
        raise SettingError(
            f"the baseline was measured on {baselines[0].benchmark}, not on {result.benchmark}",
            fix="Give a baseline on the same benchmark",
        )
    refuse_different_rules([baseline, result])
    before, value = (
        baseline.rows.get(measure, {}).get("value"),
        float(result.rows[measure]["value"]),
    )
    if before is None:
        return [f"{key}: the baseline has no value"]
    if before - value <= allowed:
        return []
    paired = ""
    if baseline.per_topic.get(measure) and result.per_topic.get(measure):
        found = paired_difference(baseline.per_topic[measure], result.per_topic[measure])
        paired = f", paired p {found['p']:.4f} (n={found['n']})"
    rule = f"allowed {allowed:g}" if allowed >= 0 else f"to be at least {-allowed:g} above"
    return [
        f"{key}: {_shown(result.rows[measure])} is {before - value:.4f} below the baseline's {before:.4f}, "
        f"{rule}{paired}"
    ]
