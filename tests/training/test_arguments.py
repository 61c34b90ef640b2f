"""What cannot be meant is refused before anything is read, and what does nothing is said."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from tiny_encoder import dual_topics
from typer.testing import CliRunner

from obverse import cli
from obverse.errors import SettingError
from obverse.files import write_topics
from obverse.training.arguments import MOST
from obverse.training.explain import explain_batch
from obverse.training.settings import GUARD_LOSS, Settings, settings_from, without_effect
from obverse.training.trainer import train


def refusal(*arguments: str) -> str:
    cli._register()
    done = CliRunner().invoke(cli.app, [*arguments])
    assert isinstance(done.exception, SettingError), done.exception
    return str(done.exception)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["train", "", "--out", "m"], "the name of the topics is empty"),
        (["train", "t.jsonl", "--out", ""], "--out is empty"),
        (["train", "t.jsonl", "--out", " "], "--out is empty"),
        (["train", "t.jsonl", "--out", "m", "--base", ""], "--base is empty"),
        (["train", "t.jsonl", "--out", "m", "--held-out", ""], "--held-out is empty"),
        (["train", "t.jsonl", "--out", "m", "--template", ""], "--template is empty"),
        (["train", "t.jsonl", "--out", "m", "--device", ""], "--device is empty"),
        (["train", "", "--show-input"], "the name of the topics is empty"),
        (["train", "t.jsonl", "--explain-batch", "0", "--base", ""], "--base is empty"),
        (["inputs", ""], "the name of the file is empty"),
        (["inputs", "t.jsonl", "--model", ""], "the name of the model is empty"),
        (["explain-batch", ""], "the name of the topics is empty"),
        (["explain-batch", "t.jsonl", "--base", ""], "--base is empty"),
        (["export", "", "--out", "x"], "the name of the model is empty"),
        (["export", "m", "--out", ""], "--out is empty"),
        (["doctor", "dist", "--base", ""], "--base is empty"),
    ],
)
def test_empty_names_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    write_topics("t.jsonl", dual_topics(4))
    assert what in refusal(*arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]


def test_empty_names_are_refused_from_python_too(tmp_path: Path, encoder: str) -> None:
    with pytest.raises(SettingError, match="--out is empty"):
        train(dual_topics(4), base=encoder, out="")
    with pytest.raises(SettingError, match="--base is empty"):
        train(dual_topics(4), base="", out=tmp_path)


@pytest.mark.parametrize("beyond", [1, 10**9, 10**22, 10**400])
@pytest.mark.parametrize("name", [*MOST, "batch_size", "lora_alpha", "max_tokens", "save_every"])
def test_numbers_that_nobody_can_mean_are_refused(
    tmp_path: Path, encoder: str, name: str, beyond: int
) -> None:
    given: dict[str, Any] = {name: MOST.get(name, 10**12) + beyond}
    with pytest.raises(SettingError, match=rf"{name.replace('_', ' ')} is .*Give at most [\d,]+$"):
        train(dual_topics(4), base=encoder, out=tmp_path / "m", **given)
    assert not (tmp_path / "m").exists()


def test_the_highest_numbers_are_taken_and_fractions_of_epochs_have_a_limit_too() -> None:
    own = dict(MOST)
    assert Settings(**own).steps == 1_000_000_000  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"epochs is 1e\+12\. Give at most 1,000,000"):
        Settings(epochs=1e12)
    with pytest.raises(SettingError, match="seed is -"):
        settings_from({"seed": -(2**70)})
    with pytest.raises(SettingError, match=r"threads is 100000\. Give at most 1,024"):
        explain_batch(dual_topics(4), threads=100_000)


def test_the_command_line_says_it_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_topics("t.jsonl", dual_topics(4))
    for flag in ("--steps", "--lora", "--threads", "--seed"):
        said = refusal("train", "t.jsonl", "--out", "m", flag, "9" * 23)
        assert f"{flag[2:]} is {'9' * 23}. Give at most" in said


def test_adapters_get_some_input() -> None:
    with pytest.raises(SettingError, match="lora dropout is 1"):
        Settings(lora=4, lora_dropout=1)
    assert Settings(lora=4, lora_dropout=0.99).lora_dropout == 0.99


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"margin": 0.3}, "--margin has no effect without --margin-weight"),
        ({"teacher_temperature": 2.0}, "--teacher-temperature has no effect without --distill"),
        ({"matryoshka_weight": 0.2}, "--matryoshka-weight has no effect without --matryoshka"),
        ({"lora_alpha": 8}, "--lora-alpha has no effect without --lora"),
        ({"lora_dropout": 0.1}, "--lora-dropout has no effect without --lora"),
        ({"watch_every": 1}, "--watch-every has no effect without --held-out"),
        ({"guard_loss": 0.5}, "--guard-loss has no effect without --held-out"),
        (
            {"pool_encoding": "current"},
            "--pool-encoding has no effect without --pool-negatives",
        ),
        ({"epochs": 3, "steps": 1}, "--steps counts: --epochs has no effect beside it"),
        ({"keep_last": False, "steps": 1}, "--steps counts: --drop-last has no effect beside it"),
    ],
)
def test_what_has_no_effect_is_said(
    tmp_path: Path,
    encoder: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    said: str,
) -> None:
    monkeypatch.setattr("obverse.training.trainer._train", lambda *_, **__: None)
    train(dual_topics(4), base=encoder, out=tmp_path / "m", max_tokens=32, **given)
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "no effect" in line] == [f"train: {said}"]


def test_a_step_that_is_shown_says_it_too(tmp_path: Path, encoder: str) -> None:
    write_topics(tmp_path / "t.jsonl", dual_topics(4))
    cli._register()
    given = [str(tmp_path / "t.jsonl"), "--base", encoder, "--max-tokens", "32", "--steps", "1"]
    done = CliRunner().invoke(cli.app, ["explain-batch", *given, "--epochs", "2"])
    assert done.exit_code == 0, done.exception
    assert "explain-batch: --steps counts: --epochs has no effect beside it" in done.stderr


def test_what_has_its_effect_is_not_talked_about() -> None:
    assert inspect.signature(train).parameters["guard_loss"].default == GUARD_LOSS
    defaults = {n: p.default for n, p in inspect.signature(train).parameters.items()}
    assert without_effect(defaults) == []
    full = {"margin": 0.3, "margin_weight": 1.0, "lora": 4, "lora_alpha": 8, "lora_dropout": 0.1}
    full |= {"watch_every": 1, "guard_loss": 0.5, "held_out": dual_topics(1), "steps": 5}
    full |= {"pool_encoding": "current", "pool_negatives": 4, "distill": 1.0}
    full |= {"teacher_temperature": 2.0, "matryoshka": (8,), "matryoshka_weight": 0.2}
    assert without_effect(defaults | full) == []


@pytest.mark.parametrize("flag", ["--in-batch", "--source-weight"])
def test_a_source_that_is_named_twice_is_refused(flag: str) -> None:
    one, two = ("off", "on") if flag == "--in-batch" else ("0.5", "2")
    start = ["train", "t.jsonl", "--out", "m"]
    twice = refusal(*start, flag, f"shop={one}", flag, f"shop={two}")
    assert f"{flag} is given twice for the source 'shop'. Give it once" in twice
    assert f"{flag} is given twice for any other source" in refusal(
        *start, flag, f"={one}", flag, f"shop={one}", flag, f"={two}"
    )


def test_on_and_off_at_once_is_refused() -> None:
    said = refusal("explain-batch", "t.jsonl", "--in-batch", "on", "--in-batch", "off")
    assert "--in-batch is given twice" in said
