"""Mistakes of a first hour: one clear line and exit status 2; what mix leaves out is written down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROW = {
    "docs": [{"doc_id": "d", "text": "t"}],
    "views": [{"instruction": "", "labels": {"d": "positive"}}],
}


def _obverse(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "obverse", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )


def _topics(path: Path, count: int) -> Path:
    rows = [{"topic_id": str(n), "query": f"q {n}", **ROW} for n in range(count)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_hub_name_that_is_nowhere_is_one_line(tmp_path: Path) -> None:
    topics = _topics(tmp_path / "t.jsonl", 2)
    done = _obverse("train", str(topics), "--base", "nosuch/model", "--out", str(tmp_path / "m"))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and "nosuch/model" in done.stderr
    assert not (tmp_path / "m").exists()


def test_an_output_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    topics = _topics(tmp_path / "t.jsonl", 2)
    done = _obverse("mix", str(topics), "--out", str(topics / "o.jsonl"))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and "cannot be written" in done.stderr


def test_mix_writes_down_what_it_leaves_out(tmp_path: Path) -> None:
    topics, out = _topics(tmp_path / "t.jsonl", 5), tmp_path / "o.jsonl"
    assert _obverse("mix", str(topics), "--size", "3", "--out", str(out)).returncode == 0
    dropped = [json.loads(line) for line in Path(f"{out}.dropped.jsonl").read_text().splitlines()]
    left = [json.loads(line)["topic_id"] for line in out.read_text().splitlines()]
    assert sorted(left + [row["topic_id"] for row in dropped]) == ["0", "1", "2", "3", "4"]


def test_a_wrong_flag_is_one_line(tmp_path: Path) -> None:
    for words, message in (
        (["train", "t.jsonl", "--eopchs", "2"], "No such option: --eopchs"),
        (["train", "t.jsonl", "--epochs", "many"], "Invalid value for '--epochs'"),
        (["train"], "Missing argument"),
        (["trian"], "No such command 'trian'"),
    ):
        done = _obverse(*words)
        assert done.returncode == 2 and not done.stdout
        (line,) = done.stderr.splitlines()
        assert line.startswith("obverse: ") and message in line and "--help" in line
