"""Twenty kills and cut tails over thousands of requests: nothing is lost, and little is paid twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from obverse.llm.journal import Journal

HERE = Path(__file__).parent
KILLS, TOPICS, IN_FLIGHT = 20, 2_000, 64
SERVER = (
    "import sys; from obverse.llm.fake_endpoint import FakeEndpoint, serve_forever; "
    "serve_forever(FakeEndpoint(seconds=0.03, log=sys.argv[1]))"
)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path / "requests.log")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    with server.stdout:
        yield server.stdout.readline().strip()
        server.kill()
        server.wait()


class Runs:
    """Runs that are killed, or come to their end."""

    def __init__(self, url: str, run: Path) -> None:
        command = [sys.executable, str(HERE / "soak_run.py"), url, str(run), str(TOPICS)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, bufsize=1
        )

    def begin(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        return int(self.line())

    def kill(self, child: int) -> None:
        os.kill(child, signal.SIGKILL)
        assert self.line() == "gone"

    def end(self) -> str:
        said = self.line()
        assert self.line() == "gone"
        return said

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        self.process.communicate()


def count_of(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


def wait_for_requests(log: Path, count: int) -> None:
    for _ in range(4_000):
        if count_of(log) >= count:
            return
        time.sleep(0.005)
    raise AssertionError("no request came")


def cut_tail(run: Path, draw: random.Random) -> None:
    newest = max((run / "journal" / "0").glob("*.jsonl"), key=lambda path: path.name)
    os.truncate(newest, max(0, newest.stat().st_size - draw.randrange(60)))


@pytest.fixture
def runs(tmp_path: Path, url: str) -> Iterator[Runs]:
    runs = Runs(url, tmp_path / "run")
    yield runs
    runs.close()


@pytest.mark.slow
def test_kill_soak(tmp_path: Path, runs: Runs) -> None:
    draw, run, log = random.Random(7), tmp_path / "run", tmp_path / "requests.log"
    possibly_twice, kept = 0, set[str]()
    for _ in range(KILLS):
        asked_before = count_of(log)
        child = runs.begin()
        # By requests, not by time: a slow or a fast machine kills as far from the end.
        wait_for_requests(log, asked_before + draw.randint(1, 2 * TOPICS // KILLS - 2 * IN_FLIGHT))
        runs.kill(child)
        cut_tail(run, draw)
        with Journal(run) as journal:
            assert all(key in journal for key in kept), "a reply was lost"
            assert journal.found.duplicates == 0, "a reply was paid twice"
            assert journal.found.in_flight <= IN_FLIGHT + 1
            possibly_twice += IN_FLIGHT
            kept = {record["key"] for record in journal.records() if record["kind"] == "done"}
    assert 0 < len(kept) < 2 * TOPICS, "the kills came too early or too late to show anything"
    runs.begin()
    assert runs.end() == f"{TOPICS} 0"
    asked = Counter(log.read_text().split())
    again = sum(asked.values()) - len(asked)
    assert len(asked) == 2 * TOPICS
    assert again <= possibly_twice + KILLS  # a cut tail may have held one reply more
    with Journal(run) as journal:
        assert all(key in journal for key in kept)
        assert (journal.found.done, journal.found.duplicates) == (2 * TOPICS, 0)
    size = log.stat().st_size
    runs.begin()
    assert runs.end() == f"{TOPICS} 0"
    assert log.stat().st_size == size, "a full journal asked again"
    print(
        f"{sum(asked.values())} requests, {len(kept)} replies kept over {KILLS} kills, {again} re-sent"
    )
