"""mteb's result files beside ours: the same benchmarks and measures under our names, and what they do not say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obverse.mteb_adapter import read_mteb_results
from obverse.results import Result

KIND = "mteb"
JOINING = "mteb: {query} {instruction}"

_FOLLOWIR = {
    "Robust04InstructionRetrieval": ("followir:robust04", "og.map_at_1000"),
    "Core17InstructionRetrieval": ("followir:core17", "og.map_at_1000"),
    "News21InstructionRetrieval": ("followir:news21", "og.ndcg_at_5"),
}
_MFOLLOWIR = ("mFollowIR", "mFollowIRCrossLingual")
_RANKING = {"ndcg_at_10": "ndcg@10", "recall_at_100": "recall@100", "map_at_1000": "map@1000"}


def is_mteb_place(place: str | os.PathLike[str]) -> bool:
    """Whether a file or folder holds results of mteb (a folder: beside a ``model_meta.json``)."""
    path = Path(place)
    if path.is_dir():
        return next(path.rglob("model_meta.json"), None) is not None
    return (path.parent / "model_meta.json").is_file() and path.suffix == ".json"


def mteb_results(place: str | os.PathLike[str]) -> list[Result]:
    """Returns mteb's results by our names of benchmarks and measures, without interval, n and values per topic.

    FollowIR's Score is taken from mteb's ``og`` group: its top-level values mix original and changed queries.

    Args:
        place: One result file, or a folder that holds some.

    Raises:
        InputError: If a file is none of mteb's.
    """
    found = []
    for row in read_mteb_results(place):
        benchmark, names = _ours(row["task"], row["subset"])
        rows = {
            ours: {"value": row["measures"][theirs], "low": None, "high": None, "n": None}
            for theirs, ours in names.items()
            if theirs in row["measures"]
        }
        about = {
            "kind": KIND,
            "model": row["model"],
            "benchmark": benchmark,
            "joining": JOINING,
            "task": row["task"],
            "versions": {"mteb": row["version"]},
        }
        if rows:
            found.append(Result(str(row["model"]), benchmark, rows, {}, about))
    return found


def _ours(task: str, subset: str) -> tuple[str, Mapping[str, str]]:
    if task in _FOLLOWIR:
        benchmark, score = _FOLLOWIR[task]
        return benchmark, {"p-MRR": "p_mrr", score: "score"}
    if task in _MFOLLOWIR:
        return f"mfollowir:{subset}", {"p-MRR": "p_mrr", "og.ndcg_at_20": "ndcg@20"}
    if task == "InstructIR":
        return "instructir", {"robustness_at_10": "robustness@10", "ndcg_at_10": "ndcg@10"}
    if task == "NevIR":
        return "nevir", {"paired_accuracy": "nevir"}
    return f"beir:{task.lower()}", _RANKING


def joined_alike(ours: Mapping[str, Any]) -> bool:
    """Whether a result of ours read query and instruction as mteb joins them."""
    joining = ours.get("joining")
    if joining == "model":
        return ours.get("template") in (None, "{query} {instruction}")
    return joining == JOINING
