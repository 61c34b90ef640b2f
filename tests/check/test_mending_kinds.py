"""A mended copy of every format: nothing usable is lost, and its faults are gone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obverse.check import check, worst
from obverse.check.mending import mend
from obverse.errors import SettingError
from obverse.read import Findings, read
from obverse.read.faults import Severity
from obverse.records import Topic

Jsonl = Callable[..., Path]


def doc(doc_id: Any, text: Any, **more: Any) -> dict[str, Any]:
    return {"id": doc_id, "text": text, **more}


def row(query_id: Any, query: Any, clicked: Any, shown: Any = None, **more: Any) -> dict[str, Any]:
    return {"query_id": query_id, "query": query, "clicked": clicked, "shown": shown, **more}


def labels(path: Path) -> dict[str, Any]:
    """Queries, instructions, texts and labels, without the ids."""
    topics: list[Topic] = list(read(path, findings=Findings(collect=True)))
    return {
        topic.query: {
            view.instruction: {doc.text: str(view.labels.get(doc.doc_id)) for doc in topic.docs}
            for view in topic.views
        }
        for topic in topics
    }


TEVATRON = {
    "query_id": "1",
    "query": "k",
    "positive_passages": [{"docid": "a", "title": "", "text": "A"}],
    "negative_passages": [{"docid": "b", "title": "", "text": "B"}],
}
PROMPTRIEVER = TEVATRON | {
    "query": "k only new",
    "only_query": "k",
    "only_instruction": "only new",
    "has_instruction": True,
    "new_negatives": [{"docid": "c", "title": "", "text": "C"}],
}
INF_IR = {
    "query_positive": "k",
    "instruction_positive": "only",
    "instruction_negative": "no",
    "document": "A",
    "hard_negative_document_1": "B",
}
SWIFT = {
    "messages": [{"role": "user", "content": "k"}],
    "positive_messages": [[{"role": "user", "content": "A"}]],
    "negative_messages": [[{"role": "user", "content": "B"}]],
}
FLAG = {"query": "k", "pos": ["A"], "neg": ["B", "C"], "pos_id": ["1"], "neg_id": ["2", "3"]}


@pytest.mark.parametrize(
    "good",
    [
        FLAG | {"prompt": "only new", "instruction_negatives": 1},
        {"query": "k", "pos": ["A"], "neg": ["B"]},
        TEVATRON,
        PROMPTRIEVER,
        INF_IR,
        SWIFT,
        {"anchor": "k", "positive": "A", "negative_1": "B", "negative_2": "C"},
        {"sentence1": "k", "sentence2": "A", "label": 1},
        row("q", "k", [doc("a", "A")], [doc("b", "B")]),
        row("q", "k", ["2"], [doc("1", "A", position=1), doc("2", "B", position=2)]),
        {"query": "k", "doc_id": "1", "text": "A", "name": "Ann", "clicked": 1, "position": 1},
        {"query": "k", "impressions": [doc("a", "A", clicked=True, position=2)]},
    ],
)
def test_what_is_in_order_comes_out_as_it_was(tmp_path: Path, jsonl: Jsonl, good: Any) -> None:
    path = jsonl(good)
    assert not mend(path, tmp_path / "fixed.jsonl")
    assert json.loads((tmp_path / "fixed.jsonl").read_text()) == json.loads(path.read_text()) or (
        labels(tmp_path / "fixed.jsonl") == labels(path)
    )
    assert check(tmp_path / "fixed.jsonl").counts.keys() <= check(path).counts.keys()


@pytest.mark.parametrize(
    "odd",
    [
        FLAG | {"query": "m", "pos": ["A", None, ""], "neg": [" a ", "B"], "neg_id": ["2", "3"]},
        {"query": "m", "pos": "A", "neg": "B"},
        TEVATRON | {"query_id": 2, "query": "m", "positive_passages": {"docid": 7, "text": "A"}},
        TEVATRON | {"query_id": "2", "query": "m", "negative_passages": ["x", {"text": None}]},
        PROMPTRIEVER | {"query_id": 5, "only_query": "m", "new_negatives": "C"},
        {"anchor": "m", "positive": "A", "negative_1": "B", "negative_2": " "},
        row(1, "m", [2], [doc(1, "A"), doc(2, "B")]),
        row(True, "m", "A", [doc(True, "B"), doc(None, "C"), doc("d", "\u200b"), doc("e", 5)]),
        row("q", "m", '["A"]', "['B' 'C']"),
        row("q", "m", [doc("a", ["A", "B"], title=3)], [doc("b", "B", title=["x"])]),
        row("q", "m", [doc("a", "A", position="x")], [doc("b", "B", position=-1)], timestamp="?"),
        {"query": "m", "impressions": [doc(1, "A", clicked="yes"), doc(2, "B", clicked="maybe")]},
        {"sentence1": "m", "sentence2": "A", "label": 1.0, "query_id": 1},
        {"query": "m", "doc_id": 1, "text": "A", "clicked": 1, "session_id": ["x"]},
    ],
)
def test_what_is_odd_is_settled_as_reading_settles_it(
    tmp_path: Path, jsonl: Jsonl, odd: Any
) -> None:
    path = jsonl(odd)
    assert mend(path, tmp_path / "fixed.jsonl")
    assert labels(tmp_path / "fixed.jsonl") == labels(path) != {}
    assert worst(check(tmp_path / "fixed.jsonl")) in (None, Severity.NOTE)


def test_rows_without_a_click_stay_where_another_row_answers_the_query(
    tmp_path: Path, jsonl: Jsonl
) -> None:
    path = jsonl(
        row("q", "k", [], [doc("c", "C")]),
        row("q", "k", [doc("a", "A")], [doc("b", " a")]),
        row("r", "l", [], [doc("c", "C")]),
        row("s", "m", [doc("a", "A")], instruction=5),
        row("q", "another", [doc("e", "E")], [doc("a", "A")]),
    )
    changes = mend(path, tmp_path / "fixed.jsonl")
    assert changes["rows without a positive left out"] == 1
    assert changes["rows with an instruction of a wrong type left out"] == 1
    assert (
        labels(tmp_path / "fixed.jsonl")
        == labels(path)
        == {
            "k": {"": {"A": "positive", "C": "negative"}},
            "another": {"": {"E": "positive", "A": "negative"}},
        }
    )


def test_contradictions_between_rows_are_settled(tmp_path: Path, jsonl: Jsonl) -> None:
    path = jsonl(
        {"query": "k", "positive": "A", "negative": "B"},
        {"query": "k", "positive": "B", "negative": "C"},
    )
    mend(path, tmp_path / "fixed.jsonl")
    assert worst(check(tmp_path / "fixed.jsonl")) is None
    assert labels(tmp_path / "fixed.jsonl") == labels(path)


def test_judgements_stay(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("query-id\tcorpus-id\tscore\n01\t007\t1\n1\t7\t0.5\n1\t7\t2\n")
    assert mend(path, tmp_path / "fixed.tsv").total() == 1
    assert (tmp_path / "fixed.tsv").read_text() == (
        "query-id\tcorpus-id\tscore\n01\t007\t1\n1\t7\t2\n"
    )


def test_tables_keep_their_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        'query,doc_id,text,clicked\nk,1,red,1\nk,2,,0\nk,3,RED ,0\nl,4,x,0\nk,5,"a\nb",0\n'
    )
    changes = mend(path, tmp_path / "fixed.tsv")
    assert (tmp_path / "fixed.tsv").read_text() == (
        "query\tdoc_id\ttext\tclicked\nk\t1\tred\t1\nk\t5\ta b\t0\n"
    )
    assert changes.total() == 4
    mend(path, tmp_path / "named.tsv", columns={"question": "query"})
    assert "read it without --map" in capsys.readouterr().err


def test_values_that_json_does_not_have(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from datetime import date
    from decimal import Decimal

    import pyarrow.parquet as pq

    row = {"query": "k", "positive": "A", "price": Decimal("3.5"), "day": date(2024, 1, 1)}
    pq.write_table(pa.Table.from_pylist([row | {"raw": b"x"}]), tmp_path / "rows.parquet")
    mend(tmp_path / "rows.parquet", tmp_path / "fixed.jsonl")
    (made,) = map(json.loads, (tmp_path / "fixed.jsonl").read_text().splitlines())
    assert (made["price"], made["day"], made["raw"]) == ("3.5", "2024-01-01", "x")


def test_what_cannot_be_mended_is_said(
    tmp_path: Path, jsonl: Jsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    path = jsonl("k\tA\tB", name="triples.tsv")
    with pytest.raises(SettingError, match="first line that names the columns"):
        mend(path, tmp_path / "fixed.tsv", format="msmarco")
    mend(jsonl(INF_IR), tmp_path / "fixed.jsonl")
    assert "rows of the format inf_ir are written as they are" in capsys.readouterr().err
    pairs = [{"sentence1": "k", "sentence2": "A", "label": label} for label in (1, 0.4)]
    changes = mend(jsonl(*pairs), tmp_path / "fixed.jsonl")
    assert changes == {"rows that label no document left out": 1}
