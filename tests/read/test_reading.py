"""Reading as a stage: the files beside the output, what is said, and nothing written where nothing can be used."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from obverse.errors import InputError
from obverse.files import read_topics, to_json
from obverse.read.faults import Findings
from obverse.read.gathering import Gathering
from obverse.read.reading import read_file

Jsonl = Callable[..., Path]
DOC = {"id": "a", "text": "A."}


def test_the_files_beside_the_output(
    tmp_path: Path, jsonl: Jsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    source = jsonl(
        {"query_id": "1", "q": "a", "pos": [DOC]},
        {"query_id": "2", "q": "b", "pos": []},
        "",
        name="log.jsonl",
    )
    out = tmp_path / "topics.jsonl.zst"
    read_file(source, out, format="clicks", map="query=q,clicked=pos")
    assert [topic.topic_id for topic in read_topics(out)] == ["1"]
    (dropped,) = (tmp_path / "topics.jsonl.zst.dropped.jsonl").read_text().splitlines()
    assert json.loads(dropped) == {
        "topic_id": "2",
        "reason": "no positive",
        "file": str(source),
        "line": 2,
    }
    made = json.loads((tmp_path / "topics.jsonl.zst.made.json").read_text())
    assert made["parameters"]["rule"] == {"rule": "all"} and made["dropped"] == {"no positive": 1}
    said = capsys.readouterr().err
    for line in ("rule in force: all", "1 x blank_line", "set aside: 1 no positive"):
        assert said.count(line) == 1


def test_nothing_is_written_where_no_row_can_be_used(tmp_path: Path, jsonl: Jsonl) -> None:
    source = jsonl({"query": "a", "clicked": []})
    with pytest.raises(InputError, match=r"no row can be used \(1 no positive\)"):
        read_file(source, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_a_table_of_documents_becomes_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "docs.tsv").write_text('id\ttext\n007\t"Unclosed\n7\tPlain\n')
    read_file(tmp_path / "docs.tsv", tmp_path / "corpus.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "corpus.jsonl").read_text().splitlines()]
    assert rows == [
        {"_id": "007", "title": "", "text": '"Unclosed'},
        {"_id": "7", "title": "", "text": "Plain"},
    ]


def test_a_broken_row_points_to_the_command_that_mends(tmp_path: Path) -> None:
    source = tmp_path / "log.jsonl"
    source.write_text('{"query": "a", "clicked": [{"id": "1", "text": "A."}]}\n{"query": cut\n')
    with pytest.raises(InputError, match=r"log\.jsonl:2: .*obverse check \S+log\.jsonl --fix OUT"):
        read_file(source, tmp_path / "out.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


def test_arrow_does_not_bring_pandas_along(tmp_path: Path, jsonl: Jsonl) -> None:
    source = jsonl({"query": "a", "clicked": [DOC], "shown": [{"id": "b", "text": "B."}]})
    code = f"""
import sys
sys.argv = ["obverse", "read", {str(source)!r}, "--out", {str(tmp_path / "topics.parquet")!r}]
from obverse.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
assert "pyarrow.parquet" in sys.modules and "pandas" not in sys.modules
assert not any("_Refusing" in type(finder).__name__ for finder in sys.meta_path)
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert len(list(read_topics(tmp_path / "topics.parquet"))) == 1


def test_origins_in_columns_are_those_of_each_topic() -> None:
    gathering = Gathering(Findings(), "clicks")
    gathering.origin = {"rule": "all"}
    for number, time in enumerate((None, 1_700_000_000.0, 0.25, 1e-7, 1e16)):
        topic = gathering.topic_of_query(f"query {number}", number)
        if time is not None:
            gathering.seen(topic, time)
    found = gathering.origins(np.arange(5))
    assert found == [to_json(gathering.origin_of(topic)).decode() for topic in range(5)]
    assert gathering.origins(np.arange(0)) == []


@pytest.mark.parametrize("name", ["topics.jsonl", "topics.parquet"])
def test_what_is_built_on_pandas_is_read_by_the_command_too(tmp_path: Path, name: str) -> None:
    datasets = pytest.importorskip("datasets")
    row = {"query": "red kettle", "positive": "a red kettle", "negative": "a blue lamp"}
    datasets.Dataset.from_list([row]).save_to_disk(str(tmp_path / "set"))
    command = [sys.executable, "-m", "obverse", "read", str(tmp_path / "set")]
    subprocess.run([*command, "--out", str(tmp_path / name)], check=True, capture_output=True)
    (topic,) = read_topics(tmp_path / name)
    assert topic.query == "red kettle"
