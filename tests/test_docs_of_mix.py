"""The examples of docs/mix.md run as they stand, and print what the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from obverse.cli import _register, app

PAGE = Path(__file__).parents[1] / "docs" / "mix.md"
BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```", re.M | re.S)


def test_the_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _register()
    monkeypatch.chdir(tmp_path)
    printed, logged = "", ""
    for kind, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "text":
            missing = [line for line in block.splitlines() if line not in printed]
            assert not missing, f"{missing}\nnot in\n{printed}"
        elif kind == "python":
            exec(compile(block, PAGE.name, "exec"), {})
            printed = capsys.readouterr().out
        else:
            printed = ""
            for line in block.splitlines():
                command, _, status = line.partition("# exit status ")
                found = CliRunner().invoke(app, shlex.split(command)[1:])
                assert found.exit_code == int(status or 0), found.output
                printed, logged = printed + found.stdout, logged + found.stderr
    assert "101 topics, 168 views" in logged
    assert (tmp_path / "README.md").is_file()
