"""evaluate, compare and gate as a user types them: several benchmarks, one folder, one table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from obverse.cli import _register, app
from obverse.errors import ObverseError

sys.path.insert(0, str(Path(__file__).parent / "benchmarks"))
from layouts import beir_folder, followir_folder

ON = [f"--on=followir:{name}=set" for name in ("robust04", "core17", "news21")]


@pytest.fixture(scope="module")
def command() -> Any:
    _register()
    return get_command(app)


@pytest.fixture
def run(
    command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Any:
    """Runs a command in a folder that holds a FollowIR set and a BEIR set."""
    monkeypatch.chdir(tmp_path)
    followir_folder(tmp_path / "set")
    beir_folder(tmp_path / "beir")

    def typed(*arguments: str) -> str:
        command.main(list(arguments), standalone_mode=False)
        return capfd.readouterr().out

    return typed


def test_runs_are_written_without_being_asked_and_the_mean_of_three_follows(
    run: Any, command: Any
) -> None:
    rows = json.loads(run("evaluate", "bm25", *ON, "--json"))
    assert (
        list(rows)[-1] == "FollowIR (mean of 3)" and rows["FollowIR (mean of 3)"]["p_mrr"]["n"] == 3
    )
    home = Path("results/bm25")
    assert (home / "followir-core17/candidates.run.tsv.made.json").is_file()
    assert (home / "FollowIR-mean-of-3/scores.json").is_file()
    asked = ["evaluate", "bm25", *ON, "--runs", str(home), "--out", "scored again", "--json"]
    again = json.loads(run(*asked))
    assert Path("scored again/followir-core17/scores.json").is_file()
    assert {k: v["p_mrr"] for k, v in again.items()} == {k: v["p_mrr"] for k, v in rows.items()}
    text = run("compare", str(home))
    assert text.count("## FollowIR (mean of 3)") == 1 and "## followir:news21" in text
    Path("gate.toml").write_text('["FollowIR (mean of 3)/score"]\nmin = 0.99\n')
    gate = ["gate", str(home), "--thresholds", "gate.toml"]
    assert command.main(gate, standalone_mode=False) == 1  # the exit status


def test_models_on_benchmarks_in_one_table_in_four_forms(run: Any) -> None:
    text = run("compare", "bm25", "--on=followir:core17=set", "--on=beir:x=beir", "--out=c")
    assert "## followir:core17" in text and "## beir:x" in text
    assert sorted(path.name for path in Path("c").glob("comparison.*")) == [
        "comparison.html",
        "comparison.json",
        "comparison.md",
        "comparison.tex",
    ]
    two = json.loads(run("compare", "c/bm25/followir-core17", "c/bm25", "--json"))
    assert {row["model"] for row in two["results"]} == {
        "bm25 (c/bm25/followir-core17)",
        "bm25 (c/bm25)",
    }
    assert two["tests"][0]["difference"] == 0.0 and two["tests"][0]["p"] == 1.0


def test_a_measure_over_a_written_run_says_how_it_was_made(run: Any) -> None:
    run("evaluate", "bm25", "--on=beir:x=beir", "--out=o")
    row = json.loads(
        run("measure", "ndcg@10", "--run=o/corpus.run.tsv", "--qrels=beir/qrels/test.tsv", "--json")
    )
    scores = json.loads(Path("o/scores.json").read_text())
    assert row["value"] == scores["ndcg@10"]["value"]
    assert row["run_made"]["model"] == "bm25" and row["run_made"]["joining"] == "model"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["compare", "nowhere"], "no folder of evaluate --out"),
        (["compare", "bm25", "--on=beir", "--show=xml"], "Use markdown, html, latex, json"),
        (["gate", "set", "--thresholds=gate.toml"], "no folder of evaluate --out"),
        (["evaluate", "bm25", "--on=set"], "no plain BEIR set"),
        (["evaluate", "bm25", "--on=beir", "--template=e5"], "bm25 reads no template"),
        (["evaluate", "bm25", "--on=beir", "--runs=nowhere"], "no such file"),
        (["report", "a=set", "b=beir", "--on=set", "--out=p.html"], "no folder of evaluate --out"),
    ],
)
def test_what_cannot_be_done_is_one_line(run: Any, arguments: list[str], says: str) -> None:
    Path("gate.toml").write_text("[p_mrr]\nmin = 0\n")
    with pytest.raises(ObverseError, match=says):
        run(*arguments)
