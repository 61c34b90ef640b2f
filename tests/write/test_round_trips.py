"""What is written in another trainer's form reads back as it was, as far as the form can hold it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from obverse.cli import main
from obverse.errors import InputError, SettingError
from obverse.files import write_topics
from obverse.read import Findings, read
from obverse.records import Doc, Label, Topic, View
from obverse.write import FORMATS, write

P, N, H = Label.POSITIVE, Label.NEGATIVE, Label.INSTRUCTION_NEGATIVE
TOPICS = [
    Topic(
        "007",
        "bike",
        (
            Doc("7", "A new bike.\u2028With a bell."),
            Doc("07", 'A used "bike", 19" wheels.'),
            Doc("h", "Helmet für Räder."),
        ),
        (
            View("", {"7": P, "07": P, "h": N}),
            View("only used ones", {"07": P, "7": H, "h": N}),
            View("only new ones", {"7": P, "07": H}),
        ),
    ),
    Topic(
        "lamp",
        "desk lamp",
        (Doc("a", "Clamp lamp."), Doc("b", "Floor lamp.")),
        (View("", {"a": P, "b": N}),),
    ),
]
FOLDERS = {"arctic", "beir", "tevatron-ids"}
READ_AS = {"n-tuples": "triplets", "tevatron-ids": "tevatron"}


def back(path: Path, format: str) -> list[Topic]:
    source = path / "train.jsonl" if format == "tevatron-ids" else path
    return list(read(source, READ_AS.get(format, format), findings=Findings()))


def plain_form(
    topics: list[Topic], *, hard: bool, joined: bool
) -> set[tuple[str, str, frozenset[tuple[str, str]]]]:
    """Views as sets of (text, label), with what a form cannot tell apart made equal."""
    found = set()
    for topic in topics:
        texts = {doc.doc_id: doc.text for doc in topic.docs}
        for view in topic.views:
            labels = frozenset(
                (texts[d], str(label if hard or label is not H else N))
                for d, label in view.labels.items()
            )
            asked = f"{topic.query} {view.instruction}".strip()
            found.add((asked, "", labels) if joined else (topic.query, view.instruction, labels))
    return found


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_round_trip(tmp_path: Path, format: str) -> None:
    path = tmp_path / ("data" if format in FOLDERS else "data.jsonl")
    count = write(path, TOPICS, format)
    assert count == {"triplets": 6, "n-tuples": 5, "swift": 5}.get(format, 4)
    joined = format in ("triplets", "n-tuples")
    hard = format in ("promptriever", "flag_embedding", "arctic")
    found = back(path, format)
    if format == "beir":
        assert plain_form(found, hard=False, joined=False) == plain_form(
            TOPICS, hard=False, joined=False
        )
        return
    marked = (
        hard or not joined
    )  # a document positive in one view and negative in another reads as hard again
    assert plain_form(found, hard=marked, joined=joined) == plain_form(
        TOPICS, hard=marked, joined=joined
    )


@pytest.mark.parametrize("format", sorted(FOLDERS))
def test_own_folders_are_recognised_and_have_no_fault(tmp_path: Path, format: str) -> None:
    write(tmp_path / "data", TOPICS, format)
    findings = Findings()
    assert list(read(tmp_path / "data", findings=findings))
    assert set(findings.counts) <= {"line_separator"}  # in the texts, as they were


@pytest.mark.parametrize("format", ["promptriever", "tevatron", "flag_embedding", "arctic"])
def test_topics_and_document_ids_survive(tmp_path: Path, format: str) -> None:
    path = tmp_path / "data"
    write(path, TOPICS, format)
    found = {topic.query: topic for topic in back(path, format)}
    assert {doc.doc_id for doc in found["bike"].docs} == {"7", "07", "h"}
    assert len(found["bike"].views) == 3


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl.gz", ".csv.zst"])
def test_tables(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"triplets{suffix}"
    write(path, TOPICS, "triplets")
    found = list(read(path, findings=Findings()))
    assert plain_form(found, hard=False, joined=True) == plain_form(TOPICS, hard=False, joined=True)


def test_the_instruction_stands_where_the_trainer_encodes_it(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", TOPICS, "tevatron")
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().split("\n")[:-1]]
    assert rows[1]["query"] == "bike only used ones"
    assert [p["docid"] for p in rows[1]["negative_passages"]] == ["7", "h"]
    write(tmp_path / "b.jsonl", TOPICS, "swift")
    row = json.loads((tmp_path / "b.jsonl").read_text().split("\n")[2])
    assert row["messages"][0] == {"role": "system", "content": "only used ones"}
    assert len(row["positive_messages"]) == 1


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot write"):
        write(tmp_path / "x", TOPICS, "word")
    with pytest.raises(InputError, match="no documents"):
        write(tmp_path / "x", [Topic("t", "q", (), (View("", {"a": P}),))], "triplets")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", ["triplets:t.csv", "triplets:t.parquet", "arctic:folder"])
def test_what_utf8_cannot_hold_is_named_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    form, _, file = name.partition(":")
    docs = (Doc("a", "blue \ud800 pot"), Doc("b", "B"))
    view = View("", {"a": Label.POSITIVE, "b": Label.NEGATIVE})
    with pytest.raises(InputError, match="lone surrogate"):
        write(tmp_path / file, [Topic("t", "q", docs, (view,))], form)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def written(*words: str) -> int:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stopped:
        patch.setattr(sys, "argv", ["obverse", "write", *words])
        main()
    return int(stopped.value.code or 0)


FULL = Topic(
    "t",
    "bike",
    (Doc("a", "A.", "Title"), Doc("b", "B."), Doc("c", "C."), Doc("d", "D.")),
    (
        View("", {"a": P, "b": N, "c": Label.IGNORE}, {"method": "clicks"}),
        View("used", {"b": P, "a": H}),
    ),
)


@pytest.mark.parametrize(
    ("format", "holds"),
    [
        ("triplets", set()),
        ("swift", {"instructions"}),
        ("flag_embedding", {"ids of", "instructions", "instruction_negative"}),
        ("arctic", {"ids of", "instructions", "instruction_negative"}),
        ("tevatron", {"ids of", "instructions", "titles"}),
        ("beir", {"ids of", "instructions", "titles"}),
        ("promptriever", {"ids of", "instructions", "titles", "instruction_negative"}),
    ],
)
def test_what_a_form_cannot_hold_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str, holds: set[str]
) -> None:
    write(tmp_path / "out", [FULL], format)
    said = capsys.readouterr().err
    for what in ("ids of", "instructions", "titles", "instruction_negative"):
        assert (f"1 {what}" in said or f" {what} 1" in said or f"labels {what}" in said) is (
            what not in holds
        ), said
    assert "1 documents labelled ignore (left out); 1 documents without a label" in said
    assert "origin or checks of 1 views" in said


def test_what_is_held_whole_is_not_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "out", TOPICS, "promptriever")
    assert capsys.readouterr().err == ""
    alone = Topic("t", "q", (Doc("a", "A"),), (View("", {"a": P}),))
    write(tmp_path / "out", [alone], "flag_embedding")
    assert "1 views have no negative" in capsys.readouterr().err


def test_negatives_that_do_not_fit_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = tuple(Doc(f"d{n}", f"Text {n}.") for n in range(8))
    labels = {doc.doc_id: N for doc in docs} | {"d0": P}
    write_topics(tmp_path / "t.jsonl", [Topic("t", "q", docs, (View("", labels),))])
    words = (str(tmp_path / "t.jsonl"), "--format", "n-tuples", "--out", str(tmp_path / "x.jsonl"))
    assert written(*words) == 0
    assert "2 negatives beyond the first 5 left out (--negatives)" in capsys.readouterr().err
    assert written(*words, "--negatives", "7") == 0
    assert "beyond" not in capsys.readouterr().err
    assert "negative_7" in json.loads((tmp_path / "x.jsonl").read_text())
    assert written(*words, "--negatives", "0") == 2
    assert written(*words, "--split", "dev") == 2
    assert "--split means nothing for the format n-tuples" in capsys.readouterr().err


def test_a_second_text_under_a_known_id_gets_an_id_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topics = [
        Topic(name, f"q {name}", (Doc("a", text), Doc("b", "B")), (View("", {"a": P, "b": N}),))
        for name, text in (("1", "One"), ("2", "Two"), ("3", "Two"))
    ]
    for format in ("beir", "tevatron-ids"):
        write(tmp_path / format, topics, format)
        assert "1 ids stood for another text before" in capsys.readouterr().err
        found = {
            t.topic_id: t.doc(t.views[0].positives[0]) for t in back(tmp_path / format, format)
        }
        assert found == {"1": Doc("a", "One"), "2": Doc("a#2", "Two"), "3": Doc("a#2", "Two")}


def test_ids_that_a_form_cannot_hold_are_refused(tmp_path: Path) -> None:
    docs = (Doc("a\tb", "A"), Doc("b", "B"))
    with pytest.raises(InputError, match="cannot stand in a TSV"):
        write(tmp_path / "x", [Topic("t", "q", docs, (View("", {"a\tb": P}),))], "beir")
    twice = [Topic("x", "q", docs[1:], (View("", {"b": P}), View("i", {"b": P})))]
    twice.append(Topic("x#0", "p", docs[1:], (View("", {"b": P}),)))
    with pytest.raises(InputError, match="would have the id 'x#0'"):
        write(tmp_path / "x", twice, "beir")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_tables_hold_line_ends_or_say_that_they_do_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = (Doc("a", "One\rtwo\tthree"), Doc("b", "B"))
    topics = [Topic("t", "q", docs, (View("", {"a": P, "b": N}),))]
    write(tmp_path / "t.csv", topics, "triplets")
    assert (tmp_path / "t.csv").read_bytes().split(b"\n")[1] == b'q,"One\rtwo\tthree",B'
    assert "TSV" not in capsys.readouterr().err
    write(tmp_path / "t.tsv", topics, "triplets")
    assert (tmp_path / "t.tsv").read_bytes().split(b"\n")[1] == b"q\tOne two three\tB"
    assert "blanks in 1 rows" in capsys.readouterr().err


def test_a_writer_never_writes_over_its_input_and_a_folder_is_one(tmp_path: Path) -> None:
    source = tmp_path / "train.jsonl"
    write_topics(source, TOPICS)
    before = source.read_bytes()
    assert written(str(source), "--format", "tevatron", "--out", str(source)) == 2
    assert written(str(source), "--format", "tevatron-ids", "--out", str(tmp_path)) == 2
    assert written(str(source), "--format", "arctic", "--out", str(source)) == 2
    assert written(str(source), "--format", "beir", "--out", "-") == 2
    assert source.read_bytes() == before and list(tmp_path.iterdir()) == [source]
    assert written(str(source), "--format", "beir", "--out", str(tmp_path), "--split", "dev") == 0
    assert (tmp_path / "qrels" / "dev.tsv").is_file()
    assert written(str(source), "--format", "beir", "--out", str(tmp_path), "--split", "test") == 2
    assert not (tmp_path / "qrels" / "test.tsv").exists()
