"""kill -9 anywhere, the same command again, and the weights are those of an uninterrupted run, bit for bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scenario import weights

from obverse.training.gradient import Processes
from obverse.training.log_file import LogFile

HERE = Path(__file__).parent
SETTINGS: dict[str, Any] = {
    "epochs": 2,
    "batch_size": 4,
    "learning_rate": 1e-3,
    "save_every": 2,
    "average_last": 0.5,
    "pool_negatives": 5,
    "keep_close": 0.5,
}


def play(
    scenarios: list[dict[str, Any]], folder: Path, base: str, seconds: int = 600
) -> list[dict[str, Any]]:
    """Runs scenarios in a process group of their own, which dies with the time limit."""
    file = folder / f"scenarios{len(list(folder.iterdir()))}.json"
    for scenario in scenarios:
        scenario["out"], scenario["base"] = str(folder / scenario["out"]), base
    file.write_text(json.dumps(scenarios))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(
        [sys.executable, str(HERE / "scenario.py"), str(file)],
        env=environment,
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, errors = process.communicate(timeout=seconds)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 0, errors
    found: list[dict[str, Any]] = json.loads(file.with_suffix(".out").read_text())
    return found


def scenario(out: str, *, processes: int = 1, kill: Any = None, **changes: Any) -> dict[str, Any]:
    topics, plain = changes.pop("topics", 12), changes.pop("plain", 0)
    held_out = changes.pop("held_out", 0)
    settings = SETTINGS | changes
    return {
        "out": out,
        "settings": settings,
        "processes": processes,
        "kill": kill,
        "topics": topics,
        "plain": plain,
        "held_out": held_out,
    }


def test_one_process(tmp_path: Path, encoder: str) -> None:
    found = play(
        [
            scenario("A"),
            scenario("D"),
            scenario("B", kill=(3, "step")),
            scenario("B"),
            scenario("edge", kill=(4, "step")),
            scenario("edge"),
            scenario("early", kill=(1, "step")),
            scenario("early"),
            scenario("C", kill=(4, "checkpoint")),
            scenario("C"),
            scenario("late", kill=(6, "checkpoint")),
            scenario("late"),
        ],
        tmp_path,
        encoder,
    )
    straight, again, *stopped = found
    assert straight["ends"] == [0] and straight["digest"] == again["digest"]
    for killed, went_on in zip(stopped[::2], stopped[1::2], strict=True):
        assert killed["ends"] == [-9] and killed["digest"] is None
        assert went_on["ends"] == [0]
        assert went_on["digest"] == straight["digest"], went_on["said"]
    assert "checkpoint-4 is half-written; going on from checkpoint-2" in stopped[7]["said"]
    log, whole = (
        [json.loads(line) for line in (tmp_path / name / "training.jsonl").read_text().splitlines()]
        for name in "BA"
    )
    same = ("step", "loss", "learning_rate", "gradient_norm")
    assert [[r[k] for k in same] for r in log] == [[r[k] for k in same] for r in whole]
    assert [row["step"] for row in log] == list(range(1, 7))


def test_looks_and_the_best_weights_are_those_of_an_uninterrupted_run(
    tmp_path: Path, encoder: str
) -> None:
    changes = {"held_out": 4, "watch_every": 1, "average_last": 0.0}
    kills = [(4, "after checkpoint"), (4, "look"), (6, "after checkpoint")]
    found = play(
        [
            scenario("A", **changes),
            *(
                scenario(f"B{number}", kill=kill, **changes)
                for number, at in enumerate(kills)
                for kill in (at, None)
            ),
        ],
        tmp_path,
        encoder,
    )
    assert [f["ends"] for f in found] == [[0], *([[-9], [0]] * 3)], found[-1]["said"]

    def looks(name: str) -> list[Any]:
        lines = (tmp_path / name / "training.jsonl").read_text().splitlines()
        return [row for row in map(json.loads, lines) if "held_out" in row]

    assert [row["step"] for row in looks("A")] == list(range(7))
    for number, ended in enumerate(found[2::2]):
        assert ended["digest"] == found[0]["digest"]
        assert looks(f"B{number}") == looks("A")


def test_a_log_line_that_was_not_written_to_its_end_is_dropped(tmp_path: Path) -> None:
    run: Any = SimpleNamespace(home=tmp_path)
    log = LogFile(run, Processes())
    log.path.write_text('{"step": 1, "loss": 2.0}\n{"step": 3, "loss": 1.0}\n{"step": 2, "lo')
    losses = [0.0]
    log.go_back(2, losses)
    assert losses == [2.0] and log.path.read_text() == '{"step":1,"loss":2.0}\n'


def test_two_processes(tmp_path: Path, encoder: str, still_encoder: str) -> None:
    found = play(
        [
            scenario("A", processes=2),
            scenario("B", processes=2, kill=(3, "step")),
            scenario("B", processes=2),
        ],
        tmp_path,
        encoder,
    )
    straight, killed, went_on = found
    assert straight["ends"] == [0, 0], straight["said"]
    assert -9 in killed["ends"] and went_on["ends"] == [0, 0]
    assert went_on["digest"] == straight["digest"]
    state = json.loads(
        (tmp_path / "A" / "checkpoints" / "checkpoint-6" / "data_state.json").read_text()
    )
    assert state["processes"] == 2 and state["topics_seen"] == 24
    assert state["settings"]["seed"] == 0 and len(state["data"]) == 16


TERMS = {
    "contrast_instructions": 0.5,
    "contrast_queries": 0.5,
    "margin_weight": 1.0,
    "matryoshka": [16],
}


def test_two_processes_train_what_one_trains(tmp_path: Path, still_encoder: str) -> None:
    """Also with another number of processes after a stop, and where the last batch has a text for one process alone."""
    plain = {"average_last": 0.0}
    found = play(
        [
            scenario("one", **TERMS, **plain),
            scenario("two", processes=2, **TERMS, **plain),
            scenario("chunked", processes=2, chunked=True, micro_tokens=50, **TERMS, **plain),
            scenario("elastic", processes=2, kill=(3, "step"), **TERMS, **plain),
            scenario("elastic", **TERMS, **plain),
            scenario("frozen one", freeze_docs=True),
            scenario("frozen two", freeze_docs=True, processes=2),
            scenario("short one", batch_size=11, epochs=1, **plain),
            scenario("short two", batch_size=11, epochs=1, processes=2, **plain),
            scenario("lone one", topics=0, plain=12, batch_size=11, epochs=1, freeze_docs=True),
            scenario(
                "lone two",
                topics=0,
                plain=12,
                batch_size=11,
                epochs=1,
                freeze_docs=True,
                processes=2,
            ),
        ],
        tmp_path,
        still_encoder,
    )
    assert -9 in found[3]["ends"]
    assert "processes were 2 and are 1: same topics in the same order" in found[4]["said"]
    assert [f["ends"][0] for f in found if f is not found[3]] == [0] * 10, found[-1]["said"]
    for first, second in (
        ("one", "two"),
        ("one", "chunked"),
        ("one", "elastic"),
        ("frozen one", "frozen two"),
        ("short one", "short two"),
        ("lone one", "lone two"),
    ):
        a, b = weights(tmp_path / first), weights(tmp_path / second)
        assert a.keys() == b.keys()
        far = max(float((a[name] - b[name]).abs().max()) for name in a)
        assert far < 2e-5, f"{first} and {second} are {far} apart"


def test_changed_data_or_settings_are_refused_by_name(tmp_path: Path, encoder: str) -> None:
    found = play(
        [
            scenario("A", kill=(3, "step")),
            scenario("A", learning_rate=2e-3, batch_size=3),
            scenario("A", topics=11),
            scenario("A", learning_rate=2e-3, restart=True),
            scenario("A", learning_rate=2e-3),
        ],
        tmp_path,
        encoder,
    )
    _, settings, data, restarted, again = found
    assert settings["ends"] == data["ends"] == [2]
    assert "learning_rate was 0.001 and is 0.002" in settings["error"]
    assert "batch_size was 4 and is 3" in settings["error"]
    assert "the data was" in data["error"] and "--restart" in data["error"]
    assert restarted["ends"] == again["ends"] == [0]
    assert "holds this very run, finished" in again["said"]


@pytest.mark.parametrize("lora", [4])
def test_with_lora(tmp_path: Path, encoder: str, lora: int) -> None:
    pytest.importorskip("peft")
    changes = {"lora": lora, "average_last": 0.0}
    found = play(
        [
            scenario("A", **changes),
            scenario("B", kill=(3, "step"), **changes),
            scenario("B", **changes),
        ],
        tmp_path,
        encoder,
    )
    assert [f["ends"] for f in found] == [[0], [-9], [0]], found[0]["said"]
    assert found[0]["digest"] == found[2]["digest"]
