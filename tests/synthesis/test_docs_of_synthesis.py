"""The worked examples of docs/synthesis.md run, against a fake LLM in place of the servers that they name."""

from __future__ import annotations

import asyncio
import json
import random
import re
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from obverse.cli import _register, app
from obverse.files import read_topics, write_topics
from obverse.llm.fake_answers import fake_answer
from obverse.llm.fake_endpoint import FakeEndpoint, serve
from obverse.sample import sample_candidates

PAGE = (Path(__file__).parents[2] / "docs" / "synthesis.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, flags=re.S | re.M)
COMMANDS = [text for kind, text in BLOCKS if kind == "" and text.startswith("obverse")]


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A fake server, and a folder with the files that the examples speak of."""
    monkeypatch.chdir(tmp_path)
    topics = list(sample_candidates())[:12]
    write_topics("topics.jsonl", topics)
    (prices,) = [text for _, text in BLOCKS if text.startswith('["my-model"]')]
    Path("prices.toml").write_text(prices)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    fake = FakeEndpoint(seconds=0.0)
    runner, place = asyncio.run_coroutine_threadsafe(serve(fake), loop).result()
    assert fake.batches is not None
    fake.batches.polls = 0
    yield place
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def run_batch(arguments: list[str]) -> None:
    """What ``vllm run-batch`` does: answers every line of a file."""
    rows = []
    source, out = (Path(arguments[arguments.index(flag) + 1]) for flag in ("-i", "-o"))
    for line in map(json.loads, source.read_text().splitlines()):
        text = fake_answer(line["body"], random.Random(line["custom_id"]))
        body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        response = {"status_code": 200, "body": body}
        rows.append({"custom_id": line["custom_id"], "response": response, "error": None})
    out.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("block", COMMANDS, ids=[text.split("\n")[0][:60] for text in COMMANDS])
def test_commands_run(block: str, url: str) -> None:
    _register()
    server = re.compile(r"https?://(?:localhost:8000|api\.openai\.com)/v1")
    for line in block.splitlines():
        program, *arguments = shlex.split(server.sub(url, line))
        if program == "vllm":
            run_batch(arguments)
        elif arguments[0] != "fake-llm":
            done = CliRunner().invoke(app, arguments)
            told = done.exception
            written = getattr(told, "exit_status", None) == 0  # request files
            assert done.exit_code == 0 or written, f"{line}\n{done.output}\n{told!r}"


def test_the_blocks_are_those_that_are_meant() -> None:
    programs = [line.split()[1] for text in COMMANDS for line in text.splitlines()]
    assert programs == [
        "synthesize", "fake-llm", "synthesize", "run-batch", "batch-import", "synthesize",
        "batch-submit", "batch-poll", "plan", "costs",
    ]  # fmt: skip


def test_python_runs(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = [text for kind, text in BLOCKS if kind == "python"]
    exec(compile(code.replace("http://localhost:8000/v1", url), "synthesis.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:12]] == [
        topic.topic_id for topic in read_topics("topics.jsonl")
    ]
    assert any(line.endswith(" 3") for line in lines)
