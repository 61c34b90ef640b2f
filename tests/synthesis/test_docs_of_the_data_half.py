"""The worked examples of docs/methods.md, filters.md and audit.md run, and print what stands there."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from obverse.cli import _register, app
from obverse.filters import FILTERS
from obverse.synthesis import METHODS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("methods", "filters", "audit")


def blocks(page: str) -> list[tuple[str, str]]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"```(\w*)\n(.*?)```", text, flags=re.S)


@pytest.mark.parametrize("page", PAGES)
def test_commands_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _register()
    monkeypatch.chdir(tmp_path)
    lines = [line for kind, code in blocks(page) if kind == "sh" for line in code.splitlines()]
    assert len(lines) > 2
    for line in lines:
        if "similarity_gain" in line:  # encodes for half a minute
            continue
        command, *arguments = shlex.split(line)
        assert command == "obverse"
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, f"{line}\n{done.output}\n{done.exception!r}"


@pytest.mark.parametrize("page", ["methods", "filters"])
def test_python_prints_what_stands_there(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = blocks(page)
    for (kind, code), (after, shown) in pairwise(found):
        if kind == "python" and after == "":
            exec(compile(code, page, "exec"), {"__name__": page})
            assert capsys.readouterr().out == shown


def test_every_method_and_filter_has_its_card() -> None:
    methods, filters = ((DOCS / f"{page}.md").read_text() for page in ("methods", "filters"))
    assert set(re.findall(r"^## (\w+)$", methods, re.M)) >= METHODS.keys()
    assert set(re.findall(r"^## (\w+)$", filters, re.M)) >= FILTERS.keys()
