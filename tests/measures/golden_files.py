"""The values that the original tools gave, and how test inputs become files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data/golden"


def golden(name: str) -> list[Any]:
    """Returns the cases of one golden file."""
    cases: list[Any] = json.loads((FOLDER / f"{name}.json").read_text())["cases"]
    return cases


def case_name(case: Mapping[str, Any]) -> str:
    return str(case["name"])


def run_file(path: Path, run: Mapping[str, Mapping[str, float]]) -> Path:
    """Writes a run in the order of its mappings."""
    path.write_text(
        "".join(
            f"{q}\tQ0\t{d}\t{n}\t{s!r}\tx\n"
            for q, scores in run.items()
            for n, (d, s) in enumerate(scores.items(), start=1)
        )
    )
    return path


def qrels_file(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> Path:
    """Writes judgements as BEIR does."""
    rows = [f"{q}\t{d}\t{g}\n" for q, grades in qrels.items() for d, g in grades.items()]
    path.write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    return path
