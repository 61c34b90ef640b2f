"""Splits share no query (and no positive by documents), whatever the order of the topics."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from obverse.check import check
from obverse.cli import main
from obverse.errors import InputError, SettingError
from obverse.files import write_topics
from obverse.read import Findings, read
from obverse.records import Doc, Label, Topic, View
from obverse.split import shares_from, split

SHARES = {"train": 0.8, "test": 0.2}


def topic(name: str, query: str, *texts: str, time: float | None = None) -> Topic:
    docs = tuple(Doc(f"{name}-{n}", text) for n, text in enumerate(texts))
    origin = {} if time is None else {"time": time}
    return Topic(
        name, query, docs, (View("", {doc.doc_id: Label.POSITIVE for doc in docs}, origin),)
    )


TOPICS = [topic(f"t{n}", f"query {n}", f"text {n % 37}") for n in range(100)]


@pytest.mark.parametrize("by", ["topic", "documents"])
def test_parts_do_not_depend_on_the_order(by: str) -> None:
    one, other = split(TOPICS, SHARES, by=by), split(TOPICS[::-1], SHARES, by=by)
    for name in SHARES:
        assert {t.topic_id for t in one.parts[name]} == {t.topic_id for t in other.parts[name]}
    assert sum(map(len, one.parts.values())) == 100
    assert abs(len(one.parts["train"]) - 80) <= 3
    assert split(TOPICS, SHARES, by=by, seed=1).parts != one.parts


def test_equal_queries_stay_together() -> None:
    topics = [
        topic(f"t{n}", f"Query  {n % 5}" if n % 2 else f"query {n % 5}", f"text {n}")
        for n in range(40)
    ]
    made = split(topics, {"a": 0.5, "b": 0.5})
    sides = {
        name: {" ".join(t.query.lower().split()) for t in part} for name, part in made.parts.items()
    }
    assert not sides["a"] & sides["b"] and sides["a"] and sides["b"]


def test_a_split_by_documents_is_proved_by_check(tmp_path: Path) -> None:
    for by, leaks in (("documents", False), ("topic", True)):
        made = split(TOPICS, SHARES, by=by)
        for name, part in made.parts.items():
            write_topics(tmp_path / f"{name}.jsonl", part)
        findings = check(tmp_path / "train.jsonl", apart_from=[tmp_path / "test.jsonl"])
        assert bool(findings.counts["split_leak"]) is leaks
        assert bool(made.shared_documents) is leaks


def test_topics_connected_over_others_stay_together() -> None:
    chain = [topic(f"c{n}", f"chain {n}", f"link {n}", f"link {n + 1}") for n in range(6)]
    made = split([*chain, *TOPICS[:6]], {"a": 0.5, "b": 0.5}, by="documents")
    sides = [name for name, part in made.parts.items() for t in part if t.topic_id.startswith("c")]
    assert len(set(sides)) == 1 and made.largest_group == 6


def test_a_split_by_time_follows_time() -> None:
    topics = [topic(f"t{n}", f"query {n}", f"text {n}", time=float(n * 7 % 50)) for n in range(50)]
    made = split(topics, SHARES, by="time")
    times = {name: [t.views[0].origin["time"] for t in part] for name, part in made.parts.items()}
    assert max(times["train"]) < min(times["test"]) and len(times["train"]) == 40
    with pytest.raises(InputError, match="has no time"):
        split(TOPICS, SHARES, by="time")


def test_the_click_reader_stores_the_time(jsonl: Callable[..., Path]) -> None:
    rows = [
        {"query": "a", "clicked": [{"id": "x", "text": "X."}], "timestamp": stamp}
        for stamp in ("2024-01-01T00:00:00Z", 1704067260, "soon")
    ]
    findings = Findings()
    (made,) = read(jsonl(*rows), findings=findings)
    assert made.views[0].origin["time"] == 1704067260.0
    assert findings.examples["bad_time"][0].line == 3


def test_settings() -> None:
    assert shares_from("train = 0.9, test=0.1") == {"train": 0.9, "test": 0.1}
    with pytest.raises(SettingError):
        shares_from("train")
    for wrong in ({"train": 0.5}, {}, {"train": 1.5, "test": -0.5}):
        with pytest.raises(SettingError):
            split(TOPICS, wrong)
    with pytest.raises(SettingError):
        split(TOPICS, SHARES, by="luck")


@pytest.mark.parametrize(
    ("parts", "said"),
    [("train=0.5,train=0.5", "stands twice"), ("a/b=0.5,c=0.5", "'a/b' cannot name a part")],
)
def test_parts_have_names_of_their_own(parts: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        shares_from(parts)


def test_an_empty_part_is_said() -> None:
    made = split(TOPICS[:1], SHARES)
    assert made.notes == [
        "split by topic: train 1, test 0",
        "no topic is left for test: 1 topics, groups that stay together: 1",
    ]
    chain = [topic(f"c{n}", f"chain {n}", f"link {n}", f"link {n + 1}") for n in range(6)]
    made = split(chain, SHARES, by="documents")
    assert "no topic is left for test: 6 topics, groups that stay together: 1" in made.notes
    made = split([topic(f"t{n}", f"q {n}", "A", time=5.0) for n in range(9)], SHARES, by="time")
    assert "no topic is left for test: 9 topics, times: 1" in made.notes


def command(*words: str) -> int:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stopped:
        patch.setattr(sys, "argv", ["obverse", *words])
        main()
    return int(stopped.value.code or 0)


def test_a_split_never_writes_over_its_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "train.jsonl"
    write_topics(source, TOPICS)
    before = source.read_bytes()
    assert command("split", str(source), "--out", str(tmp_path)) == 2
    assert source.read_bytes() == before and not (tmp_path / "dev.jsonl").exists()
    assert "written over its own input" in capsys.readouterr().err


def test_parts_of_an_earlier_split_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_topics(tmp_path / "all.jsonl", TOPICS)
    words = ("split", str(tmp_path / "all.jsonl"), "--out", str(tmp_path / "parts"))
    assert command(*words) == 0 and "still holds" not in capsys.readouterr().err
    assert command(*words) == 0 and "still holds" not in capsys.readouterr().err
    assert command(*words, "--parts", "train=0.5,test=0.5") == 0
    assert "still holds dev.jsonl of an earlier split" in capsys.readouterr().err
