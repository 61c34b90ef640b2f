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


def test_no_stage_writes_over_its_input(tmp_path: Path) -> None:
    topics = _topics(tmp_path / "t.jsonl", 3)
    before, place = topics.read_bytes(), str(topics)
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"_id": "x", "title": "a title", "text": "a text"}\n')
    for words in (
        ["read", place],
        ["mine", place, "--corpus", str(corpus), "--take", "1"],
        ["mix", place],
        ["cut", place, "--kinds", "plain"],
        ["filter", place, "--by", "unique"],
        ["checkable", place, "--add"],
    ):
        done = _obverse(*words, "--out", f"{tmp_path}/./t.jsonl")
        assert done.returncode == 2, (words, done.stderr)
        assert "over its own input" in done.stderr and "Traceback" not in done.stderr, words
        assert topics.read_bytes() == before


def test_a_folder_as_output_is_one_line(tmp_path: Path) -> None:
    topics = _topics(tmp_path / "t.jsonl", 2)
    done = _obverse("read", str(topics), "--out", str(tmp_path))
    assert done.returncode == 2 and "is a folder" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_card_of_data_that_name_themselves_as_input(tmp_path: Path) -> None:
    topics = _topics(tmp_path / "t.jsonl", 2)
    made = {"command": "mine", "inputs": {str(topics): "0"}, "parameters": {}}
    Path(f"{topics}.made.json").write_text(json.dumps(made))
    done = _obverse("card", str(topics), "--license", "mit")
    assert done.returncode == 0, done.stderr


def test_a_report_shows_documents_that_the_corpus_lacks(tmp_path: Path) -> None:
    bench = tmp_path / "bench"
    bench.mkdir()
    rows = []
    for name in "ab":
        docs = [{"doc_id": f"{name}{n}", "text": f"bike {name} {n}"} for n in (1, 2)]
        labels = {f"{name}1": "positive", f"{name}2": "instruction_negative"}
        other = {f"{name}2": "positive", f"{name}1": "instruction_negative"}
        views = [
            {"instruction": "the first", "labels": labels},
            {"instruction": "the second", "labels": other},
        ]
        rows.append({"topic_id": name, "query": f"bike {name}", "docs": docs, "views": views})
    (bench / "topics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (bench / "corpus.jsonl").write_text('{"_id": "z", "text": "something else"}\n')
    for name in ("one", "two"):
        done = _obverse("evaluate", "bm25", "--on", str(bench), "--out", str(tmp_path / name))
        assert done.returncode == 0, done.stderr
    page = tmp_path / "page.html"
    done = _obverse(
        "report",
        *(f"{name}={tmp_path / name}" for name in ("one", "two")),
        "--on",
        str(bench),
        "--out",
        str(page),
    )
    assert done.returncode == 0, done.stderr
    assert page.is_file()
