"""Handing batches in at a fake server on the loopback address, and fetching them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from fake_server import running
from test_batch import export, finish
from typer.testing import CliRunner

from obverse.cli import app
from obverse.cli import runs as _runs  # noqa: F401
from obverse.errors import InputError, ModelError
from obverse.llm.batch_service import BatchService, Polled, poll, submit_files
from obverse.llm.fake_batches import FakeBatches
from obverse.llm.fake_endpoint import FakeEndpoint


def fake(**settings: Any) -> FakeEndpoint:
    endpoint = FakeEndpoint(seconds=0.0)
    endpoint.batches = FakeBatches(endpoint._answer, **settings)
    return endpoint


def submit(run: Path, url: str) -> list[str]:
    return [one.batch_id for one in asyncio.run(submit_files(run, BatchService(url)))]


def look(run: Path) -> Polled:
    return asyncio.run(poll(run))


def made(run: Path) -> int:
    return sum(len(topic.instructed_views) for topic in finish(run))


def test_the_whole_way(tmp_path: Path) -> None:
    server = fake()
    export(tmp_path, lines=4)
    with running(server) as url:
        assert len(submit(tmp_path, url)) == 3 and submit(tmp_path, url) == []
        first = look(tmp_path)
        assert first.running == 3 and "in_progress, 0 of 4 done" in first.statuses.values()
        second = look(tmp_path)
        assert second.running == 0 and second.imported.replies == 10
        assert str(second.imported) == "10 new replies, 0 still missing"
        assert look(tmp_path).statuses == {}
    assert made(tmp_path) == 10
    assert server.counts["answered"] == 10 and not server.counts["requests"]


def test_what_expired_goes_out_again_and_only_that(tmp_path: Path) -> None:
    server = fake(polls=0, share=0.5)
    export(tmp_path)
    with running(server) as url:
        submit(tmp_path, url)
        found = look(tmp_path)
        assert found.running == 0 and found.imported.replies == 5
        assert found.imported.failed == {"batch_expired": 5}
        [second] = export(tmp_path)
        assert len(second.read_text().splitlines()) == 5
        server.batches.share = 1.0  # type: ignore[union-attr]
        assert len(submit(tmp_path, url)) == 1
        assert look(tmp_path).imported.replies == 5
    assert made(tmp_path) == 10 and server.counts["answered"] == 10


def test_a_batch_that_died_without_any_line_goes_out_again(tmp_path: Path) -> None:
    server = fake(polls=10)
    export(tmp_path)
    with running(server) as url:
        [batch_id] = submit(tmp_path, url)
        batches = server.batches
        assert batches is not None
        batches.batches[batch_id] |= {
            "status": "failed",
            "errors": {"data": [{"message": "the enqueued token limit is reached"}]},
        }
        found = look(tmp_path)
        assert found.again == 10 and found.problems == [
            f"{batch_id}: the enqueued token limit is reached"
        ]
        [second] = export(tmp_path)  # the very same requests: another batch all the same
        assert submit(tmp_path, url) == ["batch_4"] and len(second.read_text().splitlines()) == 10


def test_a_crash_after_creation_makes_no_second_batch(tmp_path: Path) -> None:
    server = fake(lose_answers=1)
    export(tmp_path)
    with running(server) as url:
        with pytest.raises(ModelError, match="nothing is handed in twice"):
            submit(tmp_path, url)
        assert len(server.batches.batches) == 1  # type: ignore[union-attr]
        assert submit(tmp_path, url) == ["batch_2"]
        assert len(server.batches.batches) == 1  # type: ignore[union-attr]


def test_mistakes_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no request file"):
        submit(tmp_path, "http://127.0.0.1:9/v1")
    export(tmp_path)
    with pytest.raises(InputError, match="no batch was handed in"):
        look(tmp_path)

    class Without(FakeEndpoint):
        def app(self) -> Any:
            from aiohttp import web

            return web.Application()

    with running(Without()) as url, pytest.raises(ModelError, match="has no /batches"):
        submit(tmp_path, url)


def test_commands(tmp_path: Path) -> None:
    server = fake()
    export(tmp_path)
    with running(server) as url:
        runner = CliRunner()
        done = runner.invoke(app, ["batch-submit", str(tmp_path), "--endpoint", url])
        assert done.exit_code == 0 and done.stdout == "batch_2\n"
        assert runner.invoke(app, ["batch-poll", str(tmp_path)]).exit_code == 75
        done = runner.invoke(app, ["batch-poll", str(tmp_path), "--wait", "--every", "0.01"])
        assert done.exit_code == 0 and "10 new replies" in done.stderr
    assert made(tmp_path) == 10
