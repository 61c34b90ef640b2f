"""What is written in another trainer's form reads back as it was, as far as the form can hold it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from obverse.errors import InputError, SettingError
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
