"""The worked examples of docs/replies.md run, and its table names every stage that a method asks."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from obverse.cli import _register, app
from obverse.files import read_topics
from obverse.records import Label

PAGE = (Path(__file__).parents[2] / "docs" / "replies.md").read_text(encoding="utf-8")
GOLDEN = Path(__file__).parents[1] / "data" / "prompts"
NEW_VIEWS = {
    "promoted_negative": 1,
    "natural_dual_view": 2,
    "dual_view": 1,
    "promptriever": 1,
    "inf_ir": 2,
}


def test_every_example_makes_its_views(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _register()
    monkeypatch.chdir(tmp_path)
    for name, text in re.findall(r"```jsonl (\S+)\n(.*?)```", PAGE, flags=re.S):
        Path(name).write_text(text, encoding="utf-8")
    before = {topic.topic_id: len(topic.views) for topic in read_topics("topics.jsonl")}
    commands = [shlex.split(line) for line in re.findall(r"```sh\n(.*?)\n```", PAGE)]
    assert [command[command.index("--method") + 1] for command in commands] == list(NEW_VIEWS)
    for command in commands:
        done = CliRunner().invoke(app, command[1:])
        assert done.exit_code == 0, f"{command}\n{done.output}"
        made = {t.topic_id: len(t.views) - before[t.topic_id] for t in read_topics(command[-1])}
        assert sum(made.values()) == NEW_VIEWS[command[command.index("--method") + 1]], command
        rejects = Path(f"{command[-1]}.run/rejects.jsonl").read_text()
        assert rejects == "", rejects


def test_what_the_first_example_is_said_to_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test_every_example_makes_its_views(tmp_path, monkeypatch)
    bike, other = read_topics("promoted-topics.jsonl")
    plain, view = bike.views
    assert [view.labels[d] for d in ("d1", "d2", "d3")] == [
        Label.INSTRUCTION_NEGATIVE,
        Label.POSITIVE,
        Label.NEGATIVE,
    ]
    assert plain.labels["d3"] == Label.IGNORE and len(other.views) == 2


def test_every_stage_stands_in_the_table() -> None:
    table = PAGE[PAGE.index("## The stages") : PAGE.index("## Worked examples")]
    stages = [path.stem.split(".") for path in GOLDEN.glob("*.*.txt")]
    assert len(stages) > 8
    for method, stage in stages:
        assert any(f"`{method}`" in row and f"`{stage}`" in row for row in table.splitlines()), (
            method,
            stage,
        )


def test_every_reply_of_the_examples_is_a_string() -> None:
    for _, text in re.findall(r"```jsonl ((?!topics)\S+)\n(.*?)```", PAGE, flags=re.S):
        assert all(isinstance(json.loads(line)["reply"], str) for line in text.splitlines())
