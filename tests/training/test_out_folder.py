"""``--out``: what somebody else has put there is neither replaced nor removed; a run's own folder goes on as ever."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tiny_encoder import dual_topics

from obverse.errors import SettingError
from obverse.training import trainer
from obverse.training.model_names import foreign_parts, is_foreign_home
from obverse.training.out_folder import own_folder
from obverse.training.trainer import train


def trained(base: str, out: Path, **changes: Any) -> None:
    settings = {"steps": 2, "batch_size": 4, "max_tokens": 32, "device": "cpu"} | changes
    train(dual_topics(8), base=base, out=out, **settings)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "config.json",
        "1_Pooling/x",
        "2_Normalize/x",
        "query_0_Transformer/x",
        "document_1_Pooling/x",
        "model.safetensors",
        "model-00001-of-00002.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "sentence_bert_config.json",
        "config_sentence_transformers.json",
        "router_config.json",
        "vocab.txt",
        "training.jsonl",
        "training.made.json",
        ".new-model/x",
        ".lock",
        "checkpoints",
        "checkpoints/notes.txt",
        "checkpoints/checkpoint-500/model.safetensors",
        "checkpoints/best/model.pt",
    ],
)
@pytest.mark.parametrize("restart", [False, True])
def test_files_under_a_models_names_are_refused_and_stay(
    tmp_path: Path, encoder: str, name: str, restart: bool
) -> None:
    path = tmp_path / "own" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    before = files(tmp_path)
    with pytest.raises(SettingError, match=r"Give another --out, or move (it|them) away"):
        trained(encoder, tmp_path / "own", restart=restart)
    assert files(tmp_path) == before


def test_every_name_that_a_model_writes_is_known(tmp_path: Path, encoder: str) -> None:
    """Also those of two sides: a name that is not known would be found out only when training ends."""
    for name, changes in (("one", {}), ("two", {"freeze_docs": True})):
        out = tmp_path / name
        trained(encoder, out, **changes)
        assert foreign_parts(out) == []
        (out / "obverse.json").unlink()
        assert foreign_parts(out) == sorted(path.name for path in out.iterdir())


def test_other_files_may_stand_there_and_stay(tmp_path: Path, encoder: str) -> None:
    out = tmp_path / "m"
    (out / "data").mkdir(parents=True)
    mine = {"notes.txt": b"a", "topics.jsonl": b"b", "data/config.json": b"c", ".git": b"d"}
    for name, content in mine.items():
        (out / name).write_bytes(content)
    trained(encoder, out)
    trained(encoder, out, learning_rate=1e-3)
    trained(encoder, out, restart=True)
    assert mine.items() <= files(out).items() and (out / "modules.json").is_file()
    assert not (out / "checkpoints").exists()


@pytest.mark.parametrize("changes", [{}, {"restart": True}, {"learning_rate": 1e-3}])
def test_what_is_put_beside_a_runs_checkpoints_stays(
    tmp_path: Path, encoder: str, changes: dict[str, Any]
) -> None:
    out = tmp_path / "m"
    trained(encoder, out, save_every=1)
    assert (out / "checkpoints" / "checkpoint-1" / "data_state.json").is_file()
    (out / "checkpoints" / "notes.txt").write_text("mine")
    if changes.get("learning_rate"):
        with pytest.raises(SettingError, match=r"learning_rate was 5e-05 and is 0\.001"):
            trained(encoder, out, **changes)
        changes["restart"] = True
    trained(encoder, out, **changes)
    left = {path.name for path in (out / "checkpoints").iterdir()}
    assert "notes.txt" in left and (out / "checkpoints" / "notes.txt").read_text() == "mine"
    assert left == {"notes.txt"} or not changes


def test_a_run_killed_before_its_first_checkpoint_goes_on(
    tmp_path: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "m"

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for restart in (False, True, False):
        with monkeypatch.context() as patch:
            patch.setattr(trainer, "_train", stopped)
            with pytest.raises(KeyboardInterrupt):
                trained(encoder, out, restart=restart)
        assert [path.name for path in (out / "checkpoints").iterdir()] == ["training.jsonl"]
    (out / "checkpoints" / "checkpoint-1").mkdir()  # half-written
    (out / ".lock").write_text("123\n")  # of a process that was killed
    trained(encoder, out)
    assert (out / "modules.json").is_file() and not (out / "checkpoints").exists()


def test_a_file_that_comes_while_training_runs_is_not_replaced(
    tmp_path: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, save = tmp_path / "m", trainer.save_model

    def later(*given: Any) -> None:
        (out / "README.md").write_text("mine")
        save(*given)

    monkeypatch.setattr(trainer, "save_model", later)
    with pytest.raises(SettingError, match=r"README\.md would be replaced"):
        trained(encoder, out, save_every=1)
    assert (out / "README.md").read_text() == "mine" and not (out / "modules.json").exists()
    assert (out / "checkpoints" / "checkpoint-2").is_dir()
    monkeypatch.undo()
    (out / "README.md").unlink()
    trained(encoder, out, save_every=1)
    assert (out / "modules.json").is_file()


def test_a_linked_folder_of_checkpoints_is_a_runs_own(tmp_path: Path, encoder: str) -> None:
    out, far = tmp_path / "m", tmp_path / "far"
    far.mkdir()
    out.mkdir()
    (out / "checkpoints").symlink_to(far)
    trained(encoder, out, save_every=1)
    assert (far / "training.jsonl").is_file()
    trained(encoder, out, restart=True)
    assert list(far.iterdir()) == []


def test_modules_json_removes_nothing_outside_the_folder(tmp_path: Path, encoder: str) -> None:
    out = tmp_path / "m"
    trained(encoder, out)
    (tmp_path / "x").write_text("mine")
    text = (out / "modules.json").read_text()
    (out / "modules.json").write_text(text.replace('"1_Pooling"', '"../x"'))
    (out / "notes_0_old").mkdir()
    trained(encoder, out, restart=True)
    assert (tmp_path / "x").is_file() and (out / "notes_0_old").is_dir()


def test_an_empty_folder_and_no_folder_are_free(tmp_path: Path, encoder: str) -> None:
    assert not is_foreign_home(tmp_path / "none") and not is_foreign_home(tmp_path)
    assert own_folder(tmp_path / "none", encoder) == tmp_path / "none"
    assert os.listdir(tmp_path) == []  # noqa: PTH208
