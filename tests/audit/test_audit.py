"""The audit: drawing, judging, reporting."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from obverse.audit.agreement import kappa, wilson
from obverse.audit.dialogue import judge_in_terminal, key_reader
from obverse.audit.drawing import (
    allotted,
    draw_sample,
    key_path,
    read_keys,
    read_sample,
    write_sample,
)
from obverse.audit.judgements import judgement_from, read_judgements
from obverse.audit.reporting import audit_report, report_on_files, report_text
from obverse.errors import InputError, SettingError
from obverse.files import write_json_lines, write_topics
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops

P, D, N, X = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE, Label.IGNORE
ROLE = {"positive": 3, "instruction_negative": 2, "negative": 1}


def topics(count: int = 20) -> list[Topic]:
    made = []
    for n in range(count):
        docs = tuple(Doc(f"{name}{n}", f"text {name} of topic {n}") for name in "abcdef")
        labels = dict(zip((d.doc_id for d in docs), (P, D, N, N, N, X), strict=True))
        lever = "time" if n % 4 == 0 else "form"
        judge = {"forward": {f"a{n}": "satisfies", f"b{n}": "breaks" if n % 2 else "satisfies"}}
        views = (
            View("", {f"a{n}": P, f"b{n}": N}),
            View(f"keep {n}", labels, {"method": "m", "lever": lever}, {"judge": judge}),
            View(f"other {n}", labels, {"method": "k"}),
        )
        made.append(Topic(f"t{n}", f"query {n}", docs, views))
    return made


def answers(sample: Path, who: str, wrong: int = 0, **changes: Any) -> list[dict[str, Any]]:
    """Returns judgements that agree with the labels, but for the first few items."""
    rows = []
    for number, (sample_id, key) in enumerate(read_keys(sample).items()):
        roles = {str(n): ROLE[label] for n, label in enumerate(key.labels, start=1)}
        if number < wrong:
            roles = dict.fromkeys(roles, 3)
        rows.append(
            {"sample_id": sample_id, "who": who, "documents": roles}
            | {"keeps_meaning": True, "nothing_invented": True}
            | changes
        )
    return rows


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    write_sample(draw_sample(topics(), 12), path)
    return path


def test_shares_of_strata() -> None:
    a, b, c = ("a", "x"), ("b", "y"), ("c", "z")
    assert allotted({a: 90, b: 9, c: 1}, 20) == {a: 18, b: 1, c: 1}
    assert allotted({a: 90, b: 9, c: 1}, 30) == {a: 27, b: 2, c: 1}
    assert sum(allotted({("a", str(n)): n + 1 for n in range(9)}, 31).values()) == 31
    assert allotted({("a", "x"): 3, ("b", "y"): 2}, 100) == {("a", "x"): 3, ("b", "y"): 2}
    assert allotted({("a", "x"): 3, ("b", "y"): 5, ("c", "z"): 1}, 2) == {
        ("b", "y"): 1,
        ("a", "x"): 1,
    }


def test_sample_is_stratified_blind_and_the_same_again(sample: Path, tmp_path: Path) -> None:
    keys = read_keys(sample)
    assert Counter((k.method, k.lever) for k in keys.values()) == {
        ("k", "-"): 6,
        ("m", "form"): 5,
        ("m", "time"): 1,
    }
    text = sample.read_text()
    assert not any(
        word in text for word in ("positive", "negative", "method", "doc_id", '"a1"', "judge")
    )
    assert all(len(item.documents) == 4 for item in read_sample(sample))
    assert len({key.labels.index("positive") for key in keys.values()}) > 1
    again = tmp_path / "again.jsonl"
    write_sample(draw_sample(reversed(topics()), 12), again)
    assert again.read_bytes() == sample.read_bytes()
    write_sample(draw_sample(topics(), 12, seed=1), again)
    assert again.read_bytes() != sample.read_bytes()


def test_a_changed_sample_is_refused(sample: Path) -> None:
    sample.write_text(sample.read_text().replace("query 1", "query one"))
    with pytest.raises(InputError, match="was changed since it was drawn"):
        read_keys(sample)


def test_drawing_needs_documents() -> None:
    bare = [Topic(t.topic_id, t.query, (), t.views) for t in topics()]
    with pytest.raises(InputError, match="--corpus"):
        draw_sample(bare)
    corpus = {doc.doc_id: doc for topic in topics() for doc in topic.docs}
    assert len(draw_sample(bare, 5, corpus=corpus)) == 5
    drops = Drops()
    draw_sample([*topics(2), *bare[2:3]], 5, drops=drops)
    assert drops.by_reason == {"a document of the view is missing": 2}
    with pytest.raises(SettingError):
        draw_sample(topics(), 0)


def test_terminal_dialogue_stops_and_goes_on(sample: Path, tmp_path: Path) -> None:
    items, labels = read_sample(sample), tmp_path / "labels.jsonl"
    screen = io.StringIO()
    keys = iter(
        "3u3x211yn" + "33"
    )  # one whole item, with a step back and a key that means nothing; then half of one
    assert judge_in_terminal(items, labels, "ann", lambda: next(keys, "q"), screen) == 1
    (first,) = read_judgements([labels])
    assert first.documents == {1: 3, 2: 2, 3: 1, 4: 1} and first.who == "ann"
    assert first.answers == {"keeps_meaning": True, "nothing_invented": False}
    with open(labels, "ab") as stream:
        stream.write(b'{"sample_id": "cut')
    with pytest.raises(InputError, match="is no JSON"):
        judge_in_terminal(items, labels, "ann", lambda: "", screen)
    labels.write_bytes(labels.read_bytes().rsplit(b"\n", 1)[0])
    keys = iter("3211??" * 20)
    assert judge_in_terminal(items, labels, "ann", lambda: next(keys, ""), screen) == 11
    found = read_judgements([labels])
    assert len(found) == 12 and found[-1].answers["keeps_meaning"] is None
    assert judge_in_terminal(items, labels, "ann", lambda: "", screen) == 0
    assert "12 of 12 judged, 0 left" in screen.getvalue()
    with pytest.raises(SettingError):
        judge_in_terminal(items, labels, "../x", lambda: "", screen)


def test_keys_from_a_pipe() -> None:
    read = key_reader(io.StringIO("3\n2 \n\ny"))
    assert [read() for _ in range(4)] == ["3", "2", "y", ""]


def test_report(sample: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    write_json_lines(labels, answers(sample, "ann", wrong=3))
    report = report_on_files(sample, [labels])
    assert report["fully_valid"] == {
        "value": 0.75,
        "low": 0.4677,
        "high": 0.9111,
        "hits": 9,
        "n": 12,
    }
    assert report["criteria"]["positive_fits"]["hits"] == 9
    assert report["criteria"]["keeps_meaning"]["hits"] == 12
    levers = {name: share["n"] for name, share in report["by_lever"].items()}
    assert levers == {"k / -": 6, "m / form": 5, "m / time": 1}
    assert report["agreement"] == [] and len(report["invalid"]) == 3
    confusion = report["judge_against_people"]
    assert confusion["n"] == 12 and confusion["table"]["satisfies"]["people_3"] >= 6
    text = report_text(report)
    assert "fully valid:  75.0 % (9 of 12; 95 %: 46.8 to 91.1)" in text


def test_two_people(sample: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    write_json_lines(one, answers(sample, "ann", wrong=3))
    write_json_lines(two, answers(sample, "bob", wrong=5))
    report = report_on_files(sample, [one, two])
    # Valid is what both find valid.
    assert report["fully_valid"]["hits"] == 7 and report["people"] == ["ann", "bob"]
    (agreement,) = report["agreement"]
    assert agreement["items"] == 12 and len(agreement["disagreements"]) == 2
    assert agreement["kappa_valid"] == pytest.approx(0.6364, abs=1e-3)


@pytest.mark.parametrize(
    ("change", "criterion"),
    [
        ({"keeps_meaning": False}, "keeps_meaning"),
        ({"keeps_meaning": None}, "keeps_meaning"),
        ({"nothing_invented": "no"}, "nothing_invented"),
    ],
)
def test_each_criterion_can_fail(sample: Path, change: dict[str, Any], criterion: str) -> None:
    found = [judgement_from(row) for row in answers(sample, "ann", **change)]
    report = audit_report(read_keys(sample), found)
    assert report["fully_valid"]["hits"] == 0
    assert [name for name, share in report["criteria"].items() if not share["hits"]] == [criterion]


def test_sheet_comes_back(sample: Path, tmp_path: Path) -> None:
    sheet = Path(f"{sample}.sheet.csv")
    rows = list(csv.DictReader(io.StringIO(sheet.read_bytes().decode("utf-8-sig"))))
    assert len(rows) == 12 and rows[0]["text1"].startswith("text ")
    by_id = {row["sample_id"]: row for row in answers(sample, "ann")}
    for row in rows[:10]:
        for number, role in by_id[row["sample_id"]]["documents"].items():
            row[f"doc{number}"] = f"{role}.0"
        row |= {"who": "cleo", "keeps_meaning": "Yes", "nothing_invented": "TRUE"}
    for delimiter, suffix in ((",", "csv"), (";", "csv"), ("\t", "tsv")):
        filled = tmp_path / f"filled.{suffix}"
        with open(filled, "w", newline="", encoding="utf-8-sig") as stream:
            out = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
            out.writeheader()
            out.writerows(rows)
        report = report_on_files(sample, [filled])
        assert report["fully_valid"]["hits"] == report["judged"] == 10
        assert report["people"] == ["cleo"] and report["sampled"] == 12


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({}, "lacks the string sample_id"),
        ({"sample_id": "x"}, "object of roles"),
        ({"sample_id": "x", "documents": {"1": 4}}, "unknown role 4"),
        ({"sample_id": "x", "documents": {"one": 3}}, "no number"),
        ({"sample_id": "x", "documents": {"1": 3}, "keeps_meaning": "perhaps"}, "unknown answer"),
    ],
)
def test_bad_labels(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    path = tmp_path / "labels.jsonl"
    write_json_lines(path, [row])
    with pytest.raises(InputError, match=message) as caught:
        read_judgements([path])
    assert f"{path}:1" in str(caught.value)


def test_labels_must_fit_the_sample(sample: Path) -> None:
    keys = read_keys(sample)
    with pytest.raises(InputError, match="no judgement yet"):
        audit_report(keys, [])
    (row, *_) = answers(sample, "ann")
    with pytest.raises(InputError, match="not in the sample"):
        audit_report(keys, [judgement_from(row | {"sample_id": "other"})])
    with pytest.raises(InputError, match="has no role"):
        audit_report(keys, [judgement_from(row | {"documents": {"1": 3}})])


def test_wilson_and_kappa() -> None:
    low, high = wilson(88, 100)
    assert (round(low, 4), round(high, 4)) == (0.8019, 0.93)
    assert (
        wilson(0, 0) == (0.0, 1.0)
        and wilson(0, 10)[0] == 0
        and wilson(10, 10)[1] == pytest.approx(1)
    )
    low, high = wilson(112, 117)
    assert (round(low, 3), round(high, 3)) == (0.904, 0.982)
    assert kappa([(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15) == pytest.approx(0.4)
    assert kappa([]) is None and kappa([(1, 1)]) is None


def test_commands(tmp_path: Path) -> None:
    from obverse.cli import _register, app

    _register()
    run = CliRunner().invoke
    data, out = tmp_path / "t.jsonl", tmp_path / "audit.jsonl"
    write_topics(data, topics())
    done = run(app, ["audit", "sample", str(data), "--out", str(out), "--size", "8"])
    assert done.exit_code == 0, done.output
    assert (
        json.loads(Path(f"{out}.made.json").read_text())["items"] == 8 and key_path(out).is_file()
    )
    done = run(app, ["audit", "label", str(out), "--who", "ann"], input="3211yy" * 8)
    assert done.exit_code == 0, done.output
    labels = f"{out}.ann.jsonl"
    done = run(
        app, ["audit", "report", str(out), "--labels", labels, "--json", "--topics", str(data)]
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["judged"] == 8
    assert json.loads(Path(f"{data}.made.json").read_text())["audit"]["judged"] == 8
    assert "fully valid" in run(app, ["audit", "report", str(out), "--labels", labels]).stdout
