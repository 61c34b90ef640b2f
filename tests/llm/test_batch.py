"""Batch files out, and results back in every state that batches end in."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from fake_server import running
from toy_asker import condition, topics, two_steps

from obverse.errors import InputError
from obverse.llm.batch_files import BatchFiles
from obverse.llm.batch_import import Imported, import_results
from obverse.llm.fake_answers import fake_answer
from obverse.llm.fake_endpoint import FakeEndpoint
from obverse.llm.forms import Form
from obverse.llm.journal import Journal
from obverse.llm.lanes import Unfinished
from obverse.llm.live import LLM
from obverse.records import Topic
from obverse.stages import Drops
from obverse.synthesis.engine import synthesize


def export(run: Path, count: int = 10, method: Any = condition, **options: Any) -> list[Path]:
    lane = BatchFiles("m", **options)
    with pytest.raises(Unfinished) as caught:
        list(synthesize(topics(count), Drops(), method=method, llm=lane, run_dir=run))
    assert caught.value.exit_status == 0
    return lane.written


def finish(run: Path, count: int = 10, method: Any = condition) -> list[Topic]:
    lane = BatchFiles("m")
    return list(synthesize(topics(count), Drops(), method=method, llm=lane, run_dir=run))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def result(line: dict[str, Any]) -> dict[str, Any]:
    text = fake_answer(line["body"], random.Random(line["custom_id"]))
    body = {
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3},
    }
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_lines_are_what_both_servers_read(tmp_path: Path) -> None:
    [path] = export(tmp_path)
    rows = lines(path)
    assert len({row["custom_id"] for row in rows}) == 10
    assert set(rows[0]) == {"custom_id", "method", "url", "body"}
    assert (rows[0]["method"], rows[0]["url"]) == ("POST", "/v1/chat/completions")
    assert rows[0]["body"]["model"] == "m" and rows[0]["body"]["max_tokens"] == 64
    assert len(rows[0]["custom_id"]) <= 64


def test_files_are_split(tmp_path: Path) -> None:
    assert [len(lines(path)) for path in export(tmp_path, lines=4)] == [4, 4, 2]


def test_shuffled_with_duplicates_and_strangers(tmp_path: Path) -> None:
    [path] = export(tmp_path)
    rows = [result(line) for line in lines(path)]
    stranger = {**rows[0], "custom_id": "0" * 40}
    mixed = [*rows, rows[3], rows[3], stranger]
    random.Random(1).shuffle(mixed)
    found = import_results([write(tmp_path / "out.jsonl", mixed)], tmp_path)
    assert found == Imported(replies=10, known=2, unknown=1)
    assert all(topic.instructed_views for topic in finish(tmp_path))
    assert import_results([tmp_path / "out.jsonl"], tmp_path).replies == 0


def test_a_half_written_file_and_the_rest_later(tmp_path: Path) -> None:
    [path] = export(tmp_path)
    rows = [result(line) for line in lines(path)]
    whole = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "out.jsonl").write_text(whole[: len(whole) // 2 + 9])
    found = import_results([tmp_path / "out.jsonl"], tmp_path)
    assert found.broken_lines == 1 and found.replies == 10 - found.missing
    assert export(tmp_path) == []  # what is out does not go out twice
    (tmp_path / "out.jsonl").write_text(whole)
    assert import_results([tmp_path / "out.jsonl"], tmp_path).missing == 0
    assert len(finish(tmp_path)) == 10


def test_expired_and_failed_requests_go_out_again(tmp_path: Path) -> None:
    [path] = export(tmp_path)
    rows: list[dict[str, Any]] = [result(line) for line in lines(path)]
    expired = {"response": None, "error": {"code": "batch_expired", "message": "late"}}
    failed = {"response": {"status_code": 500, "body": {"error": {"message": "x"}}}, "error": None}
    good = write(tmp_path / "out.jsonl", rows[:6])
    bad = [{**rows[6], **expired}, {**rows[7], **expired}, {**rows[8], **failed}]
    errors = write(tmp_path / "errors.jsonl", [*bad, bad[0]])
    found = import_results([good, errors], tmp_path)
    assert found.replies == 6 and found.missing == 1
    with Journal(tmp_path) as journal:
        assert (journal.found.in_batches, journal.found.in_flight) == (1, 0)
    assert found.failed == {"batch_expired": 3, "status-500": 1}
    [second] = export(tmp_path)
    assert second != path and len(lines(second)) == 3
    [third] = export(tmp_path, again=True)
    assert len(lines(third)) == 4


def test_only_an_error_file(tmp_path: Path) -> None:
    [path] = export(tmp_path, 3)
    error = {"response": None, "error": {"code": "cancelled", "message": ""}}
    rows = [{"custom_id": line["custom_id"], **error} for line in lines(path)]
    found = import_results([write(tmp_path / "e.jsonl", rows)], tmp_path)
    assert (found.replies, dict(found.failed), found.missing) == (0, {"cancelled": 3}, 0)


def test_stages_take_a_round_each_and_the_output_is_that_of_a_live_run(tmp_path: Path) -> None:
    run = tmp_path / "batch"
    for _ in range(2):
        [path] = export(run, 5, two_steps)
        import_results([write(tmp_path / "r.jsonl", [result(x) for x in lines(path)])], run)
    out = finish(run, 5, two_steps)
    assert all(topic.instructed_views for topic in out)
    with Journal(run) as journal:
        assert {r["reply"]["lane"] for r in journal.records() if r["kind"] == "done"} == {"batch"}


def test_a_run_goes_from_batch_to_live_without_paying_twice(tmp_path: Path) -> None:
    [path] = export(tmp_path)
    rows = [result(line) for line in lines(path)][:7]
    import_results([write(tmp_path / "r.jsonl", rows)], tmp_path)
    fake = FakeEndpoint(seconds=0.0)
    with running(fake) as url:
        llm = LLM(url, "m", form=Form.TAGS)
        out = list(synthesize(topics(10), Drops(), method=condition, llm=llm, run_dir=tmp_path))
    assert fake.counts["requests"] == 3
    assert all(topic.instructed_views for topic in out)


def test_another_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no request file"):
        import_results([], tmp_path)
