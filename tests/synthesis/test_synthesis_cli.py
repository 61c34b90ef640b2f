"""The commands of synthesis, as a person runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from obverse.cli import app
from obverse.cli import synthesis as _commands  # noqa: F401
from obverse.errors import ObverseError, SettingError
from obverse.files import write_topics
from obverse.records import Doc, Label, Topic, View

HERE = Path(__file__).parent
METHOD = "toy_method:contrast"


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    rows = [
        Topic(
            f"t{n}",
            f"bikes {n}",
            (Doc("a", f"new {{x}} {n}"), Doc("b", "old")),
            (View("", {"a": Label.POSITIVE, "b": Label.NEGATIVE}),),
        )
        for n in range(12)
    ]
    write_topics(tmp_path / "topics.jsonl", rows)
    return tmp_path / "topics.jsonl"


@pytest.fixture
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "obverse", "fake-llm", "--seconds", "0.02"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    with server.stdout:
        yield server.stdout.readline().strip()
        server.terminate()
        server.wait()


def obverse(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception and not isinstance(result.exception, SystemExit | ObverseError):
        raise result.exception
    return result


def test_the_whole_way_with_a_live_endpoint(topics: Path, tmp_path: Path, url: str) -> None:
    out, run = tmp_path / "out.jsonl", tmp_path / "out.jsonl.run"
    live = ("--method", METHOD, "--endpoint", url, "--model", "fake")
    pilot = obverse("plan", topics, "--run", run, "--pilot", 4, *live, "--json")
    plan = json.loads(pilot.stdout)
    assert (plan["topics"], plan["pilot_topics"], plan["topics_to_come"]) == (12, 4, 8)
    low, high = plan["calls"]
    assert low <= 8 <= high and plan["cost"] is None
    assert obverse("synthesize", topics, *live, "--out", out).exit_code == 0
    lines = out.read_text().splitlines()
    assert len(lines) == 12 and all(len(json.loads(line)["views"]) == 2 for line in lines)
    [status] = json.loads(obverse("status", run, "--json").stdout).values()
    assert status["state"] == "done" and status["accepted_views"] == 12
    assert status["replies"] == {"asked for": 8, "from the journal": 4}
    [costs] = json.loads(obverse("costs", run, "--json").stdout).values()
    assert costs["stages"]["rewrite"]["replies"] == 12 and costs["cost"] is None
    assert "12 accepted views; cost unknown" in obverse("costs", run).stdout
    assert obverse("status", run).exit_code == obverse("rejects", run).exit_code == 0
    after = obverse("plan", topics, "--method", METHOD, "--run", run)
    assert "calls to come: 0" in after.stdout


def test_prices_a_cost_limit_and_going_on(topics: Path, tmp_path: Path, url: str) -> None:
    out = tmp_path / "out.jsonl"
    (tmp_path / "prices.toml").write_text("[fake]\ninput = 1000.0\noutput = 1000.0\n")
    live = ("--method", METHOD, "--endpoint", url, "--model", "fake", "--form", "tags")
    priced = (*live, "--prices", tmp_path / "prices.toml", "--out", out)
    first = obverse("synthesize", topics, *priced, "--max-cost", 1.8)
    assert first.exit_code == 3
    some = len(out.read_text().splitlines())
    dropped = [json.loads(x) for x in Path(f"{out}.dropped.jsonl").read_text().splitlines()]
    assert 0 < some < 12 and len(dropped) == 12 - some
    assert {row["reason"] for row in dropped} == {"cost limit reached"}
    assert obverse("synthesize", topics, *priced, "--max-cost", 300).exit_code == 0
    assert len(out.read_text().splitlines()) == 12
    [costs] = json.loads(obverse("costs", f"{out}.run", "--json").stdout).values()
    assert costs["cost"] > 0
    assert costs["cost_per_accepted_view"] == pytest.approx(costs["cost"] / 12, rel=1e-4)
    without = obverse("synthesize", topics, *live, "--out", out, "--max-cost", 1.8)
    assert isinstance(without.exception, SettingError) and "price" in str(without.exception)


def test_dry_run_holds_the_documents_byte_for_byte(topics: Path, tmp_path: Path) -> None:
    out = tmp_path / "prompts.jsonl"
    assert (
        obverse("synthesize", topics, "--method", METHOD, "--out", out, "--dry-run").exit_code == 0
    )
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["topic_id"] for row in rows] == [f"t{n}" for n in range(12)]
    assert all("new {x} " in row["messages"][1]["content"] for row in rows)
    assert not Path(f"{out}.run").exists()


def test_batch_files_by_hand(topics: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    command = (
        "synthesize",
        topics,
        "--method",
        METHOD,
        "--out",
        out,
        "--model",
        "m",
        "--batch",
        "vllm",
    )
    waits = obverse(*command).exception
    assert isinstance(waits, ObverseError) and waits.exit_status == 0
    assert not out.exists()
    [path] = Path(f"{out}.run/batch").glob("*.requests.jsonl")
    rows = []
    for line in path.read_text().splitlines():
        text = "<answer><new_instruction>Only red.</new_instruction></answer>"
        body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        custom_id = json.loads(line)["custom_id"]
        response = {"status_code": 200, "body": body}
        rows.append(json.dumps({"custom_id": custom_id, "response": response, "error": None}))
    (tmp_path / "results.jsonl").write_text("\n".join(rows))
    assert obverse("batch-import", tmp_path / "results.jsonl", "--run", f"{out}.run").exit_code == 0
    assert obverse(*command).exit_code == 0
    assert len(out.read_text().splitlines()) == 12


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), "no LLM is named"),
        (("--endpoint", "http://x/v1"), "needs the model's name"),
        (("--endpoint", "http://x/v1", "--local", "m.gguf"), "exclude each other"),
        (("--endpoint", "x", "--model", "m"), "no base URL"),
        (("--batch", "x", "--model", "m"), "unknown batch kind"),
        (("--endpoint", "http://x/v1", "--model", "m", "--form", "yaml"), "unknown form"),
        (("--local", "/nowhere.gguf"), "no such file"),
        (("--replies", "/nowhere.jsonl"), "no such file"),
        (("--batch", "vllm", "--model", "m", "--shard", "3"), "not of the form i/n"),
        (("--batch", "vllm", "--model", "m", "--shard", "3/2"), "there is no part 3"),
        (("--batch", "vllm", "--model", "m", "--option", "x"), "not of the form key=value"),
    ],
)
def test_mistakes_are_one_clear_line(
    topics: Path, tmp_path: Path, flags: tuple[str, ...], told: str
) -> None:
    out = tmp_path / "out.jsonl"
    error = obverse("synthesize", topics, "--method", METHOD, "--out", out, *flags).exception
    assert isinstance(error, ObverseError) and told in str(error) and error.exit_status == 2
    assert not out.exists()


def test_a_terminated_run_keeps_its_replies_and_goes_on(
    topics: Path, tmp_path: Path, url: str
) -> None:
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "obverse", "synthesize", topics, "--method", METHOD]
    command += ["--endpoint", url, "--model", "fake", "--form", "tags", "--out", out]
    command += ["--max-concurrency", "1"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(HERE)}
    )
    journal = Path(f"{out}.run/journal/0/000001.jsonl")
    for _ in range(1_000):
        if journal.exists() and journal.read_bytes().count(b'"done"') >= 2:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    told = process.communicate(timeout=30)[1]
    assert process.returncode == 130, told
    assert "stopping: no new requests" in told and "every reply is in the journal" in told
    assert not out.exists()
    lines = journal.read_bytes().count(b'"done"')
    assert 2 <= lines < 12 and journal.read_bytes().count(b'"start"') == lines
