from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from toy_method import contrast

from obverse.errors import InputError, SettingError
from obverse.llm.recorded import RecordedReplies
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops
from obverse.synthesis.engine import part_of, synthesize


def topic(topic_id: str, query: str = "bikes") -> Topic:
    docs = (Doc("a", f"new bike {topic_id}"), Doc("b", "old bike"))
    return Topic(topic_id, query, docs, (View("", {"a": Label.POSITIVE, "b": Label.NEGATIVE}),))


def reply(topic_id: str, text: str, **more: Any) -> dict[str, Any]:
    row = {"method": "contrast", "stage": "rewrite", "topic_id": topic_id, "reply": text}
    return row | more


def tagged(text: str) -> str:
    return f"<answer><new_instruction>{text}</new_instruction></answer>"


def recorded(path: Path, rows: Iterable[dict[str, Any]]) -> RecordedReplies:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return RecordedReplies(path)


def instructions(topics: Iterable[Topic]) -> dict[str, list[str]]:
    return {t.topic_id: [view.instruction for view in t.instructed_views] for t in topics}


def test_views_come_in_input_order_with_their_origin(tmp_path: Path) -> None:
    ids = [f"t{n}" for n in range(300)]
    llm = recorded(tmp_path / "r.jsonl", (reply(i, tagged(f"Only {i}.")) for i in reversed(ids)))
    out = list(
        synthesize(map(topic, ids), Drops(), method=contrast, llm=llm, run_dir=tmp_path / "run")
    )
    assert instructions(out) == {i: [f"Only {i}."] for i in ids}
    origin = out[7].instructed_views[0].origin
    assert origin["method"] == "contrast" and origin["model"] == "recorded"
    assert len(origin["replies"]["rewrite"]) == 16


def test_second_run_asks_for_nothing_and_is_the_same(tmp_path: Path) -> None:
    rows = [reply("t1", tagged("Only old.")), reply("t2", "no idea"), reply("t3", "")]

    def once() -> tuple[list[Topic], list[dict[str, Any]], bytes]:
        drops, llm = Drops(), recorded(tmp_path / "r.jsonl", rows)
        out = synthesize(
            map(topic, ["t1", "t2", "t3"]),
            drops,
            method=contrast,
            llm=llm,
            run_dir=tmp_path / "run",
        )
        topics = list(out)
        journal = tmp_path / "run" / "journal" / "0"
        return topics, drops.rows, b"".join(p.read_bytes() for p in sorted(journal.glob("*.jsonl")))

    assert once() == once()


def test_skip_and_reject_leave_the_topic_as_it_is(tmp_path: Path) -> None:
    llm = recorded(tmp_path / "r.jsonl", [reply("bad", tagged("forbidden fruit"))])
    drops = Drops()
    came = [topic("bad"), topic("s", "skip me"), topic("missing")]
    assert list(synthesize(came, drops, method=contrast, llm=llm, run_dir=tmp_path / "run")) == came
    assert [(row["topic_id"], row["reason"]) for row in drops.rows] == [
        ("bad", "forbidden-word"),
        ("s", "nothing to contrast"),
        ("missing", "no-recorded-reply"),
    ]


def test_one_repair_turn_and_no_more(tmp_path: Path) -> None:
    rows = [
        reply("t1", "hm"),
        reply("t1", tagged("Only red."), repair=True),
        reply("t2", "hm"),
        reply("t2", "still no", repair=True),
    ]
    drops, llm = Drops(), recorded(tmp_path / "r.jsonl", rows)
    out = synthesize(
        map(topic, ["t1", "t2"]), drops, method=contrast, llm=llm, run_dir=tmp_path / "run"
    )
    assert instructions(out) == {"t1": ["Only red."], "t2": []}
    assert [row["reason"] for row in drops.rows] == ["no-answer-block"]
    rejects = (tmp_path / "run" / "rejects.jsonl").read_text().splitlines()
    assert [json.loads(row)["reply"] for row in rejects] == ["hm", "hm", "still no"]


def test_stages_are_found_by_name_and_sample(tmp_path: Path) -> None:
    rows = [reply("t1", tagged("first")), reply("t1", tagged("second"), stage="polish")]
    llm = recorded(tmp_path / "r.jsonl", rows)
    out = synthesize(
        [topic("t1", "twice")], Drops(), method=contrast, llm=llm, run_dir=tmp_path / "run"
    )
    assert instructions(out) == {"t1": ["second"]}


def test_a_reply_changed_in_the_file_is_read_anew_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("one", "two"):
        llm = recorded(tmp_path / "r.jsonl", [reply("t1", tagged(text))])
        out = synthesize([topic("t1")], Drops(), method=contrast, llm=llm, run_dir=tmp_path / "run")
        assert instructions(out) == {"t1": [text]}
    assert "the recorded reply differs from the run before" in capsys.readouterr().err


def test_changed_prompt_and_model_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for model, tone in (("m1", "plain"), ("m2", "plain"), ("m2", "short")):
        llm = recorded(tmp_path / "r.jsonl", [reply("t1", tagged("x"), model=model)])
        list(
            synthesize(
                [topic("t1")],
                Drops(),
                method="toy_method:contrast",
                llm=recorded(
                    tmp_path / "r.jsonl",
                    [reply("t1", tagged("x"), model=model, method="toy_method:contrast")],
                ),
                run_dir=tmp_path / "run",
                options={"tone": tone},
            )
        )
        assert llm.model == model
    told = capsys.readouterr().err
    assert "stage rewrite: the model (m1 -> m2) differs" in told
    assert "stage rewrite: the prompt differs" in told


def test_shards_split_the_topics_and_merge_without_asking(tmp_path: Path) -> None:
    ids = [f"t{n}" for n in range(40)]
    rows = [reply(i, tagged(f"Only {i}.")) for i in ids]
    seen: list[str] = []
    for part in range(3):
        llm = recorded(tmp_path / "r.jsonl", rows)
        out = synthesize(
            map(topic, ids),
            Drops(),
            method=contrast,
            llm=llm,
            run_dir=tmp_path / "run",
            shard=(part, 3),
        )
        here = [t.topic_id for t in out]
        assert here == [i for i in ids if part_of(topic(i), 3) == part]
        seen += here
    assert sorted(seen) == sorted(ids)
    nothing = recorded(tmp_path / "none.jsonl", rows)
    before = {p: p.read_bytes() for p in (tmp_path / "run" / "journal").rglob("*.jsonl")}
    merged = list(
        synthesize(map(topic, ids), Drops(), method=contrast, llm=nothing, run_dir=tmp_path / "run")
    )
    assert instructions(merged) == {i: [f"Only {i}."] for i in ids}
    assert before == {p: p.read_bytes() for p in (tmp_path / "run" / "journal").rglob("*.jsonl")}


def test_unknown_methods_and_parameters_are_named(tmp_path: Path) -> None:
    llm = recorded(tmp_path / "r.jsonl", [reply("t1", "")])
    for method, options in (
        ("nope", {}),
        ("toy_method:nope", {}),
        ("toy_method:contrast", {"loud": 1}),
    ):
        with pytest.raises(SettingError, match="method"):
            list(synthesize([], Drops(), method=method, llm=llm, run_dir=tmp_path, options=options))


def test_a_fault_of_a_method_names_method_and_topic(tmp_path: Path) -> None:
    def faulty(topic: Topic, rng: object) -> Any:
        raise KeyError("oops")
        yield

    llm = recorded(tmp_path / "r.jsonl", [reply("t1", "")])
    with pytest.raises(KeyError) as caught:
        list(synthesize([topic("t1")], Drops(), method=faulty, llm=llm, run_dir=tmp_path / "run"))
    assert "faulty, topic 't1'" in caught.value.__notes__[0]


def test_recorded_replies_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"r\.jsonl:2: .*another reply"):
        recorded(tmp_path / "r.jsonl", [reply("t1", "a"), reply("t1", "b")])
    with pytest.raises(InputError, match=r"r\.jsonl:1: lacks the string 'stage'"):
        recorded(tmp_path / "r.jsonl", [{"method": "m", "topic_id": "t", "reply": "x"}])
