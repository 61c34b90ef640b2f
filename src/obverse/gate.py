"""A gate for continuous integration: thresholds in a file, one line per breach."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.files import read_json
from obverse.measures.significance import paired_difference
from obverse.results import Result

_BOUNDS = ("min", "max", "max_drop", "n_min")


def read_thresholds(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Returns thresholds by measure from TOML or JSON.

    ``[p_mrr]`` with ``min = 0.4``; bounds are ``min`` and ``max`` of the value, ``max_drop``: how far it may lie below
    the baseline's, and ``n_min``: over how many topics it must run.

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
            if key not in _BOUNDS or isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(
                    f"{key} = {value!r} is no bound",
                    where=f"{name}, {measure}",
                    fix=f"Use {', '.join(_BOUNDS)} with a number",
                )
    return rows


def breaches(
    result: Result,
    thresholds: Mapping[str, Mapping[str, float]],
    baseline: Result | None = None,
) -> list[str]:
    """Returns one line per threshold that a result breaks; none where it passes.

    A measure without a value is a breach of any threshold on it: what could not be measured did not pass.

    Args:
        result: What was measured.
        thresholds: Bounds by measure.
        baseline: What ``max_drop`` is measured from.

    Raises:
        SettingError: If a drop is bounded and there is no baseline.
    """
    lines = []
    for measure, bounds in thresholds.items():
        row = result.rows.get(measure)
        if row is None or row.get("value") is None:
            reason = (row or {}).get("reason", "it was not measured")
            lines.append(f"{measure}: no value ({reason})")
            continue
        value, n = float(row["value"]), int(row["n"])
        if "min" in bounds and value < bounds["min"]:
            lines.append(f"{measure}: {value:.4f} is below {bounds['min']:g} (n={n})")
        if "max" in bounds and value > bounds["max"]:
            lines.append(f"{measure}: {value:.4f} is above {bounds['max']:g} (n={n})")
        if "n_min" in bounds and n < bounds["n_min"]:
            lines.append(
                f"{measure}: the mean runs over {n} topics, fewer than {bounds['n_min']:g}"
            )
        if "max_drop" in bounds:
            lines += _drop(measure, value, bounds["max_drop"], result, baseline)
    return lines


def _drop(
    measure: str, value: float, allowed: float, result: Result, baseline: Result | None
) -> list[str]:
    if baseline is None:
        raise SettingError(f"max_drop of {measure} needs a baseline", fix="Give --baseline DIR")
    before = baseline.rows.get(measure, {}).get("value")
    if before is None:
        return [f"{measure}: the baseline has no value"]
    if before - value <= allowed:
        return []
    paired = ""
    if baseline.per_topic.get(measure) and result.per_topic.get(measure):
        p = paired_difference(baseline.per_topic[measure], result.per_topic[measure])["p"]
        paired = f", paired p {p:.4f}"
    return [
        f"{measure}: {value:.4f} is {before - value:.4f} below the baseline's {before:.4f}, allowed {allowed:g}{paired}"
    ]
