"""A first row that lacks a key decides nothing, and bytes that are no UTF-8 in Parquet are a fault of their row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obverse.check import check
from obverse.check.mending import mend
from obverse.errors import InputError, SettingError
from obverse.files import read_topics
from obverse.read import Findings, read
from obverse.read.formats import guess

Jsonl = Callable[..., Path]
TEVATRON = {"query_id": "1", "query": "k", "negative_passages": [{"docid": "a", "text": "A"}]}
TURN = [{"role": "user", "content": "k"}]
CLICKED = {"query": "m", "clicked": [{"id": "a", "text": "A"}], "shown": [{"id": "b", "text": "B"}]}


@pytest.mark.parametrize(
    ("form", "first", "later"),
    [
        ("triplets", {"query": "k", "positives": ["A"]}, {"negatives": ["C"]}),
        ("triplets", {"query": "k", "negatives": ["A"]}, {"positives": ["B"]}),
        ("flag_embedding", {"query": "k", "neg": ["A"]}, {"pos": ["B"]}),
        ("flag_embedding", {"pos": ["B"], "neg": ["A"]}, {"query": "k"}),
        ("flag_embedding", {}, {"query": "k", "pos": ["B"]}),
        ("tevatron", TEVATRON, {"positive_passages": [{"docid": "b", "text": "B"}]}),
        ("clicks", {"query": "k"}, CLICKED),
        ("clicks", {"query": "k", "positives": ["A"]}, {"shown": ["B"]}),
        ("clicks", {"id": "1", "text": "A"}, {"query": "k", "clicked": 1}),
        ("topics", {"topic_id": "1", "query": "k"}, {"docs": [], "views": []}),
        ("corpus", {"id": "1", "text": "A"}, {"question": "of a kind"}),
    ],
)
def test_the_format_is_guessed_from_the_first_rows_together(
    jsonl: Jsonl, form: str, first: dict[str, Any], later: dict[str, Any]
) -> None:
    assert guess(jsonl(first, first | later))[0] == form


def test_lines_after_one_that_wraps_a_list_are_read(jsonl: Jsonl) -> None:
    first = {"messages": TURN}
    found = list(read(jsonl(first, first | {"positive_messages": [TURN]}), findings=Findings()))
    assert len(found) == 1
    wrapped = jsonl({"rows": [{"query": "k", "positive": "A"}]}, "", name="wrapped.json")
    assert len(list(read(wrapped, findings=Findings()))) == 1


def test_a_mapped_column_may_appear_late(jsonl: Jsonl) -> None:
    path = jsonl({"q": "k", "p": "A"}, {"q": "m", "p": "B", "n": "C"})
    names = {"query": "q", "positive": "p", "negative": "n"}
    topics = list(read(path, findings=Findings(), columns=names))
    assert [len(topic.docs) for topic in topics] == [1, 2]
    with pytest.raises(SettingError, match=r"no column 'x'. Its columns: q, p, n"):
        list(read(path, findings=Findings(), columns=names | {"negative": "x"}))


def not_utf8() -> Any:
    """Two strings, of which the second is of another code."""
    pa = pytest.importorskip("pyarrow")
    ends = pa.py_buffer(b"".join(end.to_bytes(4, "little") for end in (0, 1, 3)))
    return pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"kk\xe9")])


def test_a_row_of_parquet_that_is_not_utf8_is_named_and_left_out(tmp_path: Path) -> None:
    strings = not_utf8()
    import pyarrow as pa
    import pyarrow.parquet as pq

    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), strings)
    path, copy = tmp_path / "rows.parquet", tmp_path / "copy.jsonl"
    for columns, field in (
        ({"query": strings, "positive": ["A", "B"]}, "query"),
        ({"query": ["k", "m"], "pos": lists}, "pos"),
        ({"id": ["1", "2"], "text": strings}, "text"),
    ):
        pq.write_table(pa.table(columns), path)
        findings = check(path)
        (example,) = findings.examples["not_utf8"]
        assert (example.line, example.field) == (2, field) and "byte 2 of" in example.message
        assert (findings.rows, findings.usable) == (2, 1)
        if field != "text":
            with pytest.raises(InputError, match=rf"rows\.parquet:2, {field}: .*column again"):
                list(read(path, findings=Findings()))
        assert mend(path, copy) == {"rows that are not UTF-8 left out": 1}
        assert (check(copy).rows, "not_utf8" in check(copy).counts) == (1, False)
    pq.write_table(pa.table({"query": strings.slice(1), "positive": ["B"]}), path)
    assert dict(check(path).counts) == {"not_utf8": 1, "nothing_usable": 1}
    with pytest.raises(InputError, match="column again"):
        guess(path)


def test_topics_of_parquet_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    strings = not_utf8()
    import pyarrow as pa
    import pyarrow.parquet as pq

    views = [[{"instruction": "", "labels": {"a": "positive"}}]] * 2
    docs = [[{"doc_id": "a", "text": "A"}]] * 2
    path = tmp_path / "topics.parquet"
    pq.write_table(
        pa.table({"topic_id": ["1", "2"], "query": strings, "docs": docs, "views": views}), path
    )
    with pytest.raises(InputError, match=r"topics\.parquet:2, query: byte 2 of"):
        list(read_topics(path))
    (example,) = check(path).examples["not_utf8"]
    assert (example.file, example.line, example.field) == (str(path), 2, "query")
