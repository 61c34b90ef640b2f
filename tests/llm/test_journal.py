from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from obverse.errors import ObverseError, SettingError
from obverse.llm import journal as journal_module
from obverse.llm.journal import Journal
from obverse.llm.journal_lines import encode, scan
from obverse.llm.reply import Reply, Usage
from obverse.llm.request import Request, Tags, make_request


def request(topic_id: str, text: str = "café", model: str = "m") -> Request:
    body = {"model": model, "messages": [{"role": "user", "content": f"{text} {topic_id}"}]}
    return make_request(body, Tags("m", "s", topic_id))


def segments(run: Path, shard: str = "0") -> list[Path]:
    return sorted((run / "journal" / shard).glob("*.jsonl"))


def fill(run: Path, count: int, **options: Any) -> list[Request]:
    requests = [request(f"q{n}") for n in range(count)]
    with Journal(run, **options) as journal:
        for one in requests:
            journal.start(one, lane="live")
            journal.done(one, Reply(f"reply é {one.tags.topic_id}", usage=Usage(prompt=3)))
    return requests


@pytest.mark.parametrize("fsync", ["always", "interval", "never"])
def test_replies_come_back_whole(tmp_path: Path, fsync: Any) -> None:
    requests = fill(tmp_path, 20, fsync=fsync)
    with Journal(tmp_path) as journal:
        assert journal.found.done == 20 and journal.found.in_flight == 0
        reply = journal.reply(requests[7].key)
        assert reply == Reply("reply é q7", usage=Usage(prompt=3))
        assert journal.reply(request("other").key) is None
        assert request("q3").key in journal


def test_reading_changes_no_byte(tmp_path: Path) -> None:
    fill(tmp_path, 5)
    before = {path: path.read_bytes() for path in segments(tmp_path)}
    Journal(tmp_path).close()
    assert before == {path: path.read_bytes() for path in segments(tmp_path)}


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_tail_is_cut_and_nothing_is_glued_to_it(tmp_path: Path, cut: int) -> None:
    requests = fill(tmp_path, 4)
    [path] = segments(tmp_path)
    os.truncate(path, path.stat().st_size - cut)
    with Journal(tmp_path) as journal:
        whole = cut == 1  # only the line end is missing
        assert journal.found.done == (4 if whole else 3)
        assert bool(journal.found.torn_bytes) is not whole
        assert "torn" in " ".join(journal.found.lines()) or whole
        journal.done(requests[3], Reply("again"))
    with Journal(tmp_path) as journal:
        assert journal.found.done == 4
        assert journal.found.torn_bytes == journal.found.bad_lines == 0
    assert all(line.record for path in segments(tmp_path) for line in scan(path))


def test_a_tail_cut_within_a_character(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    [path] = segments(tmp_path)
    data = path.read_bytes()
    os.truncate(path, data.rindex("é".encode()) + 1)
    with Journal(tmp_path) as journal:
        assert journal.found.done == 1 and journal.found.in_flight == 1
    assert (path.parent / "torn.bin").read_bytes().rstrip().endswith("é".encode()[:1])


def test_a_damaged_line_in_the_middle_is_left_out_and_counted(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    [path] = segments(tmp_path)
    path.write_bytes(path.read_bytes().replace("é q1".encode(), "é q9".encode()))
    with Journal(tmp_path) as journal:
        assert (journal.found.done, journal.found.bad_lines) == (2, 1)
        assert journal.found.torn_bytes == 0
        assert request("q1").key not in journal


def test_any_damage_is_survived(tmp_path: Path) -> None:
    """Whatever bytes are changed, opening works and no wrong reply is given."""
    fill(tmp_path, 6)
    [path] = segments(tmp_path)
    good, draw = path.read_bytes(), random.Random(0)
    for _ in range(60):
        data = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        path.write_bytes(bytes(data))
        with Journal(tmp_path) as journal:
            for n in range(6):
                reply = journal.reply(request(f"q{n}").key)
                assert reply is None or reply.text == f"reply é q{n}"


def test_a_second_writer_fails_at_once_with_the_owner(tmp_path: Path) -> None:
    with Journal(tmp_path), pytest.raises(SettingError, match=f"process {os.getpid()}"):
        Journal(tmp_path)
    Journal(tmp_path).close()


def test_the_lock_goes_with_a_killed_process(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from obverse.llm.journal import Journal; "
        "j = Journal(sys.argv[1]); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    Journal(tmp_path).close()


def test_in_flight_and_failed(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for name in ("lost", "failed", "twice"):
            journal.start(request(name), lane="live")
        journal.start(request("twice"), lane="live")
        journal.fail(request("failed"), "server-error", status=500)
        journal.fail(request("twice"), "time-out", maybe_billed=True)
    with Journal(tmp_path) as journal:
        assert journal.found.in_flight == 2
        assert journal.found.done == 0


def test_shards_are_read_together_in_any_order(tmp_path: Path) -> None:
    first, second = request("a"), request("b")
    with Journal(tmp_path, shard="1-of-2") as one, Journal(tmp_path, shard="0-of-2") as two:
        one.done(first, Reply("from 1"))
        two.done(second, Reply("from 0"))
        two.done(first, Reply("from 0, paid twice"))
    with Journal(tmp_path) as journal:
        assert journal.found.done == 2 and journal.found.duplicates == 1
        reply = journal.reply(first.key)
        assert reply is not None and reply.text == "from 0, paid twice"
    assert not segments(tmp_path)


def test_the_torn_tail_of_a_running_shard_is_left_alone(tmp_path: Path) -> None:
    fill(tmp_path, 2, shard="0-of-2")
    [path] = segments(tmp_path, "0-of-2")
    os.truncate(path, path.stat().st_size - 9)
    size = path.stat().st_size
    with Journal(tmp_path, shard="1-of-2") as journal:
        assert journal.found.done == 1
    assert path.stat().st_size == size


def test_segments_roll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "SEGMENT_BYTES", 1_000)
    requests = fill(tmp_path, 12)
    assert len(segments(tmp_path)) > 3
    with Journal(tmp_path) as journal:
        assert all(one.key in journal for one in requests)
        assert len(list(journal.records())) == 24


def test_what_changed_is_named(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    with Journal(tmp_path) as journal:
        assert journal.changed(request("q0")) == {}
        assert journal.changed(request("new")) == {}
        assert journal.changed(request("q0", model="n")) == {"model": ("m", "n")}
        assert set(journal.changed(request("q0", "tea"))) == {"prompt"}


def test_a_full_disk_is_one_clear_line_and_no_torn_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, 1)
    with Journal(tmp_path) as journal:
        journal.done(request("before"), Reply("x"))
        real = os.write

        def full(descriptor: int, data: bytes) -> int:
            if len(data) > 100:
                return real(descriptor, data[:50])
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(ObverseError, match="No space left"):
                journal.done(request("during"), Reply("y"))
        journal.done(request("after"), Reply("z"))
    with Journal(tmp_path) as journal:
        assert journal.found.done == 3 and journal.found.bad_lines == 0


def test_lines_hold_any_text(tmp_path: Path) -> None:
    odd = {"kind": "note", "text": '\u2028\n\r\0 é \ud800 {"crc"'}
    path = tmp_path / "x.jsonl"
    path.write_bytes(encode(odd))
    [line] = scan(path)
    assert line.record == odd
