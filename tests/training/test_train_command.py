"""``obverse train``: faults of the input come before torch is loaded; a finished run is not trained again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_encoder import dual_topics

from obverse.errors import SettingError
from obverse.files import hold, write_topics
from obverse.training import trainer
from obverse.training.trainer import train


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.jsonl"], "no such file"),
        (["empty.jsonl"], "holds no topic"),
        (["lone.jsonl"], "no document is positive"),
        (["good.jsonl", "--epochs", "0"], "epochs is 0"),
        (["good.jsonl", "--save-every", "0"], "save every is 0"),
        (["good.jsonl", "--base", "./nowhere"], "no such model folder"),
        (["good.jsonl", "--held-out", "missing.jsonl"], "no such file"),
    ],
)
def test_faults_are_said_before_torch_is_loaded(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    write_topics(tmp_path / "good.jsonl", dual_topics(2))
    (tmp_path / "empty.jsonl").write_text("\n")
    lone = '{"topic_id": "t", "query": "q", "docs": [{"doc_id": "d", "text": "x"}], '
    lone += '"views": [{"instruction": "", "labels": {"d": "negative"}}]}\n'
    (tmp_path / "lone.jsonl").write_text(lone)
    code = "import sys\nfrom obverse.cli import main\ntry:\n    main()\nfinally:\n"
    code += "    print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, "train", *arguments, "--out", "model"],
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and done.stdout.strip() == "False"
    assert not (tmp_path / "model").exists()


def test_two_runs_do_not_write_into_one_folder(tmp_path: Path, encoder: str) -> None:
    out = tmp_path / "model"

    def run() -> None:
        train(dual_topics(4), base=encoder, out=out, steps=1, batch_size=2, max_tokens=32)

    other = hold(out / ".lock", elsewhere="", busy="")
    with pytest.raises(SettingError, match=rf"another run is writing here \(process {os.getpid()}"):
        run()
    assert not (out / "checkpoints").exists()
    os.close(other)
    run()
    assert (out / "modules.json").is_file() and not (out / ".lock").exists()


def test_a_finished_run_is_not_trained_again_and_changes_are_said(
    tmp_path: Path,
    encoder: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topics, out = dual_topics(4), tmp_path / "model"
    first = train(topics, base=encoder, out=out, batch_size=4, max_tokens=32)
    weights = (out / "model.safetensors").stat().st_mtime_ns
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(trainer, "_train", lambda *_, **__: pytest.fail("trained again"))
        again = train(topics, base=encoder, out=out, batch_size=4, max_tokens=32)
    assert "finished" in capsys.readouterr().err
    assert (again.steps, again.loss) == (first.steps, first.loss)
    assert (out / "model.safetensors").stat().st_mtime_ns == weights
    train(topics, base=encoder, out=out, batch_size=2, max_tokens=32)
    said = capsys.readouterr().err
    assert "another finished run: batch_size was 4 and is 2" in said
    train(topics[:3], base=encoder, out=out, batch_size=2, max_tokens=32)
    assert "the data was" in capsys.readouterr().err


def test_a_run_stopped_while_the_folder_is_written_is_ended_by_the_same_command(
    tmp_path: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a folder with half a model in it is refused, nor a model that stood there taken for the one asked for."""
    topics, move = dual_topics(4), Path.replace

    def trained(out: Path, rate: float, stop: int | None = None) -> bytes:
        moved = 0

        def stopping(path: Path, target: Path) -> Path:
            nonlocal moved
            moved += 1
            if moved == stop:
                raise KeyboardInterrupt
            return move(path, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", stopping)
            train(topics, base=encoder, out=out, batch_size=4, max_tokens=32, learning_rate=rate)
        return (out / "model.safetensors").read_bytes()

    first, second = trained(tmp_path / "a", 1e-3), trained(tmp_path / "b", 2e-3)
    assert first != second
    parts = len([*(tmp_path / "a").iterdir()]) - 2
    for stop in range(1, parts + 1):
        out = tmp_path / f"new{stop}"
        with pytest.raises(KeyboardInterrupt):
            trained(out, 1e-3, stop)
        assert trained(out, 1e-3) == first
        with pytest.raises(KeyboardInterrupt):
            trained(out, 2e-3, stop)
        with pytest.raises(SettingError, match=r"learning_rate was 0\.002 and is 0\.001"):
            trained(out, 1e-3)
        assert trained(out, 2e-3) == second
