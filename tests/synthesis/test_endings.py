"""How a run ends: with less than was asked for, with enough, without any LLM, and made again from its journal."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from obverse.cli import app
from obverse.cli import checkable as _c  # noqa: F401
from obverse.cli import synthesis as _s  # noqa: F401
from obverse.errors import ObverseError
from obverse.files import read_topics, write_topics
from obverse.llm.recorded import RecordedReplies
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops
from obverse.synthesis.engine import synthesize

METHOD = "toy_method:contrast"


def topic(number: int) -> Topic:
    docs = (Doc("a", f"A new bike {number}. It has 3 gears."), Doc("b", "An old one, of course."))
    labels = {"a": Label.POSITIVE, "b": Label.NEGATIVE}
    return Topic(f"t{number}", f"bikes {number}", docs, (View("", labels),))


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    write_topics(tmp_path / "topics.jsonl", map(topic, range(40)))
    return tmp_path / "topics.jsonl"


def reply(number: int, text: str = "Only red ones.", **more: Any) -> dict[str, Any]:
    reply = f"<answer><new_instruction>{text}</new_instruction></answer>"
    about = {"method": METHOD, "stage": "rewrite", "topic_id": f"t{number}"}
    return {**about, "reply": reply, **more}


def recorded(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def obverse(*arguments: object) -> Result:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception and not isinstance(result.exception, SystemExit | ObverseError):
        raise result.exception
    return result


def run(topics: Path, replies: Path, out: Path, *more: object) -> Result:
    return obverse(
        "synthesize", topics, "--method", METHOD, "--replies", replies, "--out", out, *more
    )


def test_no_view_at_all_has_a_status_of_its_own_and_says_why(topics: Path, tmp_path: Path) -> None:
    rows = [reply(n, "forbidden fruit") for n in range(30)]
    done = run(topics, recorded(tmp_path / "r.jsonl", rows), tmp_path / "out.jsonl")
    assert done.exit_code == 4
    assert "no view was made (30 forbidden-word, 10 no-recorded-reply)" in done.stderr
    assert f"obverse rejects {tmp_path}/out.jsonl.run" in done.stderr
    assert "replies are for toy_method:contrast (rewrite), for topics such as 't0'" in done.stderr
    assert len(list(read_topics(tmp_path / "out.jsonl"))) == 40


def test_one_view_is_enough_for_status_0(topics: Path, tmp_path: Path) -> None:
    replies = recorded(tmp_path / "r.jsonl", [reply(7)])
    assert run(topics, replies, tmp_path / "out.jsonl").exit_code == 0


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        (["a", "b"], None),
        (["a"], None),
        (["b", "a"], "document 1, 'b' in the replies, is 'a' in the topic"),
        (["a", "b", "c"], "document 3, 'c' in the replies, is missing"),
    ],
)
def test_recorded_replies_speak_of_the_topics_own_documents(
    tmp_path: Path, ids: list[str], told: str | None
) -> None:
    replies = recorded(tmp_path / "r.jsonl", [reply(0, documents=ids)])
    drops, lane = Drops(), RecordedReplies(replies)
    (made,) = synthesize([topic(0)], drops, method=METHOD, llm=lane, run_dir=tmp_path / "run")
    assert bool(made.instructed_views) == (told is None)
    assert [(row["reason"], row["detail"]) for row in drops.rows] == (
        [] if told is None else [("other-documents", told)]
    )


def test_documents_must_be_ids(tmp_path: Path) -> None:
    replies = recorded(tmp_path / "r.jsonl", [reply(0, documents=[1, 2])])
    with pytest.raises(ObverseError, match=r"r\.jsonl:1: documents is no list of strings"):
        RecordedReplies(replies)


def test_checkable_needs_no_llm(topics: Path, tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    assert obverse("synthesize", topics, "--method", "checkable", "--out", one).exit_code == 0
    assert obverse("checkable", topics, "--add", "--out", other).exit_code == 0
    assert one.read_bytes() == other.read_bytes()
    assert sum(len(t.instructed_views) for t in read_topics(one)) == 80


def test_the_target_ends_the_output_with_the_topic_that_reaches_it(
    topics: Path, tmp_path: Path
) -> None:
    replies = recorded(tmp_path / "r.jsonl", [reply(n) for n in range(40) if n % 2])
    out = tmp_path / "out.jsonl"
    assert run(topics, replies, out, "--target", 5).exit_code == 0
    assert [t.topic_id for t in read_topics(out)] == [f"t{n}" for n in range(10)]
    again = out.read_bytes()
    assert run(topics, replies, out, "--target", 5).exit_code == 0 and out.read_bytes() == again
    done = run(topics, replies, out, "--target", 21)
    assert done.exit_code == 3 and "20 views of the 21 asked for" in done.stderr
    assert len(list(read_topics(out))) == 40


def test_near_the_target_few_topics_are_begun(topics: Path, tmp_path: Path) -> None:
    begun = []

    def some() -> Iterator[Topic]:
        for one in read_topics(topics):
            begun.append(one.topic_id)
            yield one

    replies = RecordedReplies(recorded(tmp_path / "r.jsonl", [reply(n) for n in range(40)]))
    made = synthesize(
        some(), Drops(), method=METHOD, llm=replies, run_dir=tmp_path / "run", target=12
    )
    assert len(list(made)) == 12 and 12 <= len(begun) < 40


def test_a_cleaned_plain_view_is_no_new_view(tmp_path: Path) -> None:
    classified = {
        "positive_confirmed": True,
        "documents": [
            {"document": 2, "verdict": "convertible"},
            {"document": 3, "verdict": "false_negative"},
        ],
    }
    pair = {
        "keep_instruction": "It needs gears.",
        "promote_instruction": "Nothing recent.",
        "also_satisfy_keep": [],
        "also_satisfy_promote": [],
    }
    rows = [
        {"method": "natural_dual_view", "stage": stage, "topic_id": "t0", "reply": json.dumps(text)}
        for stage, text in (("classify", classified), ("instruct", pair))
    ]
    replies = RecordedReplies(recorded(tmp_path / "r.jsonl", rows))
    first = topic(0)
    more = {**first.views[0].labels, "c": Label.NEGATIVE}
    grown = Topic("t0", "bikes 0", (*first.docs, Doc("c", "A new bike too.")), (View("", more),))
    run_dir = tmp_path / "run"
    synthesize_all = synthesize(
        [grown], Drops(), method="natural_dual_view", llm=replies, run_dir=run_dir, target=3
    )
    (made,) = synthesize_all
    assert made.views[0].labels["c"] == Label.IGNORE and len(made.instructed_views) == 2
    assert json.loads((run_dir / "status.json").read_text())["accepted_views"] == 2


def test_a_target_is_a_number_above_0(topics: Path, tmp_path: Path) -> None:
    replies = recorded(tmp_path / "r.jsonl", [reply(0)])
    error = run(topics, replies, tmp_path / "out.jsonl", "--target", 0).exception
    assert isinstance(error, ObverseError) and "a target of 0 views" in str(error)


def test_a_run_is_made_again_from_its_journal_alone(topics: Path, tmp_path: Path) -> None:
    out, run_dir = tmp_path / "out.jsonl", tmp_path / "out.jsonl.run"
    command = [sys.executable, "-m", "obverse", "fake-llm", "--seconds", "0.005", "--faults", "0.3"]
    command += ["--kinds", "prose,refusal,bad-json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        live = ("--endpoint", url, "--model", "fake", "--extra", "top_p=0.9")
        done = obverse("synthesize", topics, "--method", METHOD, *live, "--out", out)
        server.kill()
    assert done.exit_code == 0
    left = {path.name: path.read_bytes() for path in run_dir.iterdir() if path.is_file()}
    assert 0 < out.read_bytes().count(b"fake") < 40
    again = tmp_path / "again.jsonl"
    assert obverse("rebuild", run_dir, "--out", again).exit_code == 0
    assert again.read_bytes() == out.read_bytes()
    drops = [Path(f"{one}.dropped.jsonl").read_bytes() for one in (out, again)]
    assert drops[0] == drops[1] and drops[0]
    assert left == {path.name: path.read_bytes() for path in run_dir.iterdir() if path.is_file()}
    topics.unlink()
    error = obverse("rebuild", run_dir, "--out", again).exception
    assert isinstance(error, ObverseError) and "no such file" in str(error)


def test_rebuild_wants_a_run_that_can_be_rebuilt(topics: Path, tmp_path: Path) -> None:
    error = obverse("rebuild", tmp_path, "--out", tmp_path / "x").exception
    assert isinstance(error, ObverseError) and "holds no run.json" in str(error)
    run(topics, recorded(tmp_path / "r.jsonl", [reply(0)]), tmp_path / "out.jsonl")
    error = obverse("rebuild", tmp_path / "out.jsonl.run", "--out", tmp_path / "x").exception
    assert isinstance(error, ObverseError) and "the replies came from a file" in str(error)
