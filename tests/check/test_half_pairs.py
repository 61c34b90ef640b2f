"""Half of a surrogate pair: named by line and field in every container of JSON, and gone from a mended copy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from obverse.check import check
from obverse.check.mending import mend
from obverse.files import read_topics, write_topics
from obverse.read import Findings, read

Jsonl = Callable[..., Path]
CODE = "half_surrogate_pair"
GOOD = r'{"query": "\\ud800 as text", "clicked": [{"id": "c", "text": "a smile \ud83d\ude00"}]}'
ODD = r'{"query": "k \ud800", "clicked": [{"id": "a", "text": "A \uDC00"}], "shown": [{"id": "b\udfff", "text": "B"}]}'
FIELDS = ["query", "clicked[0].text", "shown[0].id"]


def fields(path: Path) -> list[tuple[int | None, str | None]]:
    return [(each.line, each.field) for each in check(path).examples.get(CODE, [])]


def test_it_is_named_by_line_and_field(tmp_path: Path, jsonl: Jsonl) -> None:
    assert fields(jsonl(GOOD, ODD)) == [(2, field) for field in FIELDS]
    whole = tmp_path / "rows.json"
    whole.write_text(f"[{GOOD}, {ODD}]")
    assert fields(whole) == [(2, field) for field in FIELDS]
    whole.write_text(json.dumps({"rows": [json.loads(ODD)]}, indent=1))
    assert fields(whole) == [(1, field) for field in FIELDS]
    assert fields(jsonl(ODD.replace('"B"', "NaN"))) == [(1, field) for field in FIELDS]
    table = tmp_path / "rows.csv"
    table.write_text('query,positives\nk,"[""a \\ud800""]"\n')
    assert fields(table) == [(2, "positives[0]")]


@pytest.mark.parametrize("as_topics", [False, True])
def test_a_mended_copy_has_the_replacement_character(
    tmp_path: Path, jsonl: Jsonl, as_topics: bool
) -> None:
    path = jsonl(GOOD, ODD)
    if as_topics:
        topics = list(read(path, findings=Findings()))
        path = tmp_path / "topics.jsonl"
        write_topics(path, topics)
    changes = mend(path, tmp_path / "fixed.jsonl")
    assert changes["texts with half of a surrogate pair given U+FFFD for it"] >= 3
    assert not fields(tmp_path / "fixed.jsonl")
    read_back = list(read(tmp_path / "fixed.jsonl", findings=Findings()))
    assert [topic.query for topic in read_back] == [r"\ud800 as text", "k \ufffd"]
    assert {doc.doc_id for doc in read_back[1].docs} == {"a", "b\ufffd"}
    write_topics(tmp_path / "topics.parquet", read_back)
    assert len(list(read_topics(tmp_path / "topics.parquet"))) == 2
