"""The speed benchmark runs, at a tiny size, and its contenders compute one loss."""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "training_speed.py"


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    spec = importlib.util.spec_from_file_location("training_speed", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "MAX_TOKENS", 32)
    threads = torch.get_num_threads()
    yield module
    torch.set_num_threads(threads)


def test_contenders_compute_one_loss(speed: Any, encoder: str) -> None:
    args = argparse.Namespace(
        topics=2,
        steps=2,
        threads=1,
        precision="fp32",
        micro_tokens=64,
        keep_tokens=100,
        st_mini_batch=3,
        dropout=False,
        model=encoder,
    )
    rows = []
    for name in speed.CONTENDERS:
        row = speed.together([speed.contend(name, 2, args)] * 2)
        assert len(row["seconds_per_step"]) == 4 and row["views_per_second"] > 0
        rows.append(json.loads(json.dumps(row)))
    st, cached, bare, ours, chunked = (row["loss"] for row in rows)
    assert st == pytest.approx(cached, abs=1e-4)
    assert bare == pytest.approx(ours, abs=1e-4) and chunked == pytest.approx(ours, abs=1e-4)
    assert rows[3]["loss_counted_as_exploded"] == pytest.approx(st, abs=1e-4)
    for line in speed.ratios(rows):
        assert line["times_best_st"] > 0 and line["share_of_bare"] > 0


def test_a_contender_that_dies_is_named_and_the_others_go_on(
    speed: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        name = command[command.index("--contender") + 1]
        row = {"contender": name, "negatives": 30, "topics": 4, "peak_rss_gb": 1.0}
        row |= {"seconds_per_step": [2.0], "cpu_seconds_per_step": [4.0]}
        return subprocess.CompletedProcess(command, -9 if name == "st" else 0, json.dumps(row))

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["training_speed.py", "--json", "--negatives", "30"])
    speed.main()
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["died"] == [{"contender": "st", "negatives": 30}] and "died (-9)" in printed.err
    assert {line["best_st"] for line in found["ratios"]} == {"st-cached"}
    assert {row["views_per_second"] for row in found["contenders"]} == {4.0}


def test_its_options_are_said(speed: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(sys, "argv", ["training_speed.py", "--help"])
    with pytest.raises(SystemExit) as end:
        speed.main()
    assert end.value.code == 0 and "--negatives" in capsys.readouterr().out
