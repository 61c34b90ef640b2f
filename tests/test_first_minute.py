"""What a newcomer does by mistake is said in one line, and nothing is lost or left behind by it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obverse.cli import main
from obverse.errors import InputError
from obverse.files import write_topics
from obverse.read import Findings, read
from obverse.read.formats import guess
from obverse.records import Doc, Label, Topic, View
from obverse.write import write

Jsonl = Callable[..., Path]
P, N, H = Label.POSITIVE, Label.NEGATIVE, Label.INSTRUCTION_NEGATIVE
DOCS = (Doc("a", "A new bike."), Doc("b", "A used bike."))
TWO_VIEWS = Topic(
    "my_plain", "bike", DOCS, (View("", {"a": P, "b": P}), View("only new", {"a": P, "b": H}))
)
ALONE = Topic("t", "bike", DOCS[:1], (View("", {"a": P}),))
LOG = {"query": "k", "clicked": [{"id": "a", "text": "A"}], "shown": [{"id": "b", "text": "B"}]}


def command(*words: str) -> int:
    sys.argv = ["obverse", *words]
    with pytest.raises(SystemExit) as stop:
        main()
    return int(str(stop.value.code))


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_rows_where_topics_belong_are_told_to_be_read_first(
    tmp_path: Path, jsonl: Jsonl, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    path = jsonl(LOG)
    if kind == "csv":
        path = tmp_path / "rows.csv"
        path.write_text("query,doc_id,text,clicked\nk,1,red,1\n")
    elif kind == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table({"query": ["k"], "clicked": [["A"]]}), path)
    out = tmp_path / "new" / "out"
    for words in (
        ("mine", str(path), "--out", str(out)),
        ("mine", str(path), "--corpus", str(path), "--out", str(out)),
        ("dedup", str(path), "--out", str(out)),
        ("write", str(path), "--format", "beir", "--out", str(out)),
    ):
        assert command(*words) == 2
        assert f"obverse read {path} --out topics.jsonl" in capsys.readouterr().err
    assert not out.parent.exists()


def test_standard_input_is_read_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}\n")))
    assert command("mine", "-") == 2
    assert "--corpus" in capsys.readouterr().err
    empty = io.TextIOWrapper(io.BytesIO())
    empty.close()
    for closed in (None, empty):
        monkeypatch.setattr(sys, "stdin", closed)
        assert command("check", "-") == 2
        assert "read before" in capsys.readouterr().err


def test_an_older_file_is_said_to_be_replaced(
    tmp_path: Path, jsonl: Jsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    for words in (("read", "--out"), ("check", "--fix")):
        out.unlink(missing_ok=True)
        assert command(words[0], str(jsonl(LOG)), words[1], str(out)) == 0
        assert "already" not in capsys.readouterr().err
        assert command(words[0], str(jsonl(LOG)), words[1], str(out)) == 0
        assert f"{out}: is there already, and is replaced" in capsys.readouterr().err


def test_nothing_to_write_is_no_success(tmp_path: Path) -> None:
    for form in ("triplets", "n-tuples"):
        with pytest.raises(InputError, match="no view has a negative"):
            write(tmp_path / "new" / "rows.csv", [ALONE], form)
    with pytest.raises(InputError, match="no topic"):
        write(tmp_path / "new" / "folder", [], "beir")
    assert not (tmp_path / "new").exists()


def test_beir_says_what_becomes_of_views_and_instruction_negatives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "beir", [TWO_VIEWS], "beir")
    said = capsys.readouterr().err
    assert "1 topics of several views (each view becomes a query of its own)" in said
    assert "graded 0" in said and "stand first" not in said


def test_tevatron_rows_of_ours_are_no_promptriever_rows(tmp_path: Path, jsonl: Jsonl) -> None:
    for form in ("tevatron", "promptriever"):
        write(tmp_path / f"{form}.jsonl", [TWO_VIEWS], form)
        assert guess(tmp_path / f"{form}.jsonl")[0] == form
    (topic,) = read(tmp_path / "tevatron.jsonl", findings=Findings())
    assert topic.topic_id == "my_plain" and len(topic.views) == 2
    plain, instructed = map(
        json.loads, (tmp_path / "promptriever.jsonl").read_text().split("\n")[:2]
    )
    del plain["new_negatives"]  # the first row does not tell; the others lose nothing by that
    (topic,) = read(jsonl(plain, instructed), findings=Findings())
    assert topic.views[1].labels == {"a": P, "b": H}


def test_a_positive_of_the_wrong_type_is_called_so(jsonl: Jsonl) -> None:
    findings = Findings(collect=True)
    assert not list(read(jsonl({"query": "k", "positive": 5}), findings=findings))
    assert findings.drops.rows[0]["reason"] == "positive of the wrong type"


def test_topics_in_parquet_of_other_tools(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def row(name: str, doc_id: str) -> dict[str, Any]:
        return {
            "topic_id": name,
            "query": name,
            "docs": [{"doc_id": doc_id, "text": "A."}],
            "views": [{"labels": {doc_id: "positive"}}],
        }

    path = tmp_path / "topics.parquet"
    pq.write_table(pa.Table.from_pylist([row("q", "a"), row("r", "b")]), path)
    topics = list(read(path, findings=Findings()))
    assert [dict(topic.views[0].labels) for topic in topics] == [{"a": P}, {"b": P}]
    pq.write_table(pa.table({"topic_id": ["q"], "query": ["q"], "views": [["A"]]}), path)
    with pytest.raises(InputError, match="a view should be an object"):
        list(read(path, findings=Findings()))
    write_topics(path, [TWO_VIEWS])
    assert list(read(path, findings=Findings())) == [TWO_VIEWS]
