"""The worked examples of docs/report.md run, and print what stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "report.md"
BLOCKS = re.findall(r"```(python)?\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)


def test_the_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = [code for language, code in BLOCKS if language]
    assert len(examples) == 2
    for code in examples:
        exec(compile(code, str(PAGE), "exec"), {})
    assert "A search model learns to obey" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert capsys.readouterr().out in [shown for language, shown in BLOCKS if not language]
