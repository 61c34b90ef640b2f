"""With --fix the exit status and the last line speak of the copy; what it is written as, its name says."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obverse.cli import main

Jsonl = Callable[..., Path]
GOOD = {"query": "k", "clicked": [{"id": "a", "text": "A"}], "shown": [{"id": "b", "text": "B"}]}
ODD = GOOD | {"query": "m", "clicked": "a string"}


def command(*words: Any) -> int:
    sys.argv = ["obverse", *map(str, words)]
    with pytest.raises(SystemExit) as stop:
        main()
    return int(str(stop.value.code))


def test_the_status_is_that_of_the_copy(
    tmp_path: Path, jsonl: Jsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    path, copy = jsonl(GOOD, "{"), tmp_path / "copy.jsonl"
    assert command("check", path) == 2
    capsys.readouterr()
    assert command("check", path, "--fix", copy) == 0
    shown = capsys.readouterr()
    assert "bad_json" in shown.out
    assert shown.err.splitlines()[-1].endswith(f"{copy}: the copy has no error left")


def test_what_is_left_in_the_copy_is_named(
    tmp_path: Path, jsonl: Jsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    path, copy = jsonl({"query": "k", "pos": [], "neg": ["B"]}, "{"), tmp_path / "copy.jsonl"
    assert command("check", path, "--fix", copy) == 2
    assert "1 error is left in the copy: empty_file" in capsys.readouterr().err
    bench = jsonl(GOOD, name="bench.jsonl")
    assert command("check", jsonl(GOOD, "{"), "--fix", copy, "--against", bench) == 2
    assert "2 errors are left in the copy: benchmark_leak" in capsys.readouterr().err


def test_the_copy_is_held_to_the_same_severity(
    tmp_path: Path, jsonl: Jsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    path, copy = jsonl(ODD), tmp_path / "copy.jsonl"
    assert command("check", path, "--fail-on", "warning") == 2
    capsys.readouterr()
    assert command("check", path, "--fail-on", "warning", "--fix", copy) == 0
    assert "the copy has no error or warning left" in capsys.readouterr().err
    assert command("check", path, "--fail-on", "note", "--fix", copy) == 0
    assert "the copy has no fault left" in capsys.readouterr().err


def test_the_json_is_still_about_the_source(
    tmp_path: Path, jsonl: Jsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    path = jsonl(GOOD, "{")
    assert command("check", path, "--json") == 2
    alone = capsys.readouterr().out
    assert command("check", path, "--json", "--fix", tmp_path / "copy.jsonl") == 0
    shown = capsys.readouterr().out
    assert shown == alone and set(json.loads(shown)) == {"rows", "usable", "faults"}


def test_a_mapped_and_quoted_table_is_checked_as_it_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, copy = tmp_path / "log.csv", tmp_path / "copy.tsv"
    path.write_text('q,doc_id,text,clicked\n"k",1,"re""d",1\n"k",2,"blue, or so",0\nk,3\n')
    assert (
        command(
            "check", path, "--map", "query=q,clicked=clicked", "--quoting", "csv", "--fix", copy
        )
        == 0
    )
    assert "the copy has no error left" in capsys.readouterr().err


def test_standard_output_is_no_copy(jsonl: Jsonl, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("check", jsonl(GOOD), "--fix", "-") == 2
    shown = capsys.readouterr()
    assert shown.out == "" and "--fix writes to a file" in shown.err


def test_a_copy_is_what_its_name_says(
    tmp_path: Path, jsonl: Jsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, table = jsonl(GOOD), tmp_path / "log.csv"
    table.write_text('query,doc_id,text,clicked\nk,1,"a ""red"" one",1\nk,2,"blue,\ta\nb",0\nk,3\n')
    for source, name, better in (
        (rows, "copy.parquet", ".jsonl"),
        (rows, "copy.CSV.gz", ".jsonl"),
        (table, "copy.jsonl", ".tsv"),
        (table, "copy.parquet", ".tsv"),
    ):
        assert command("check", source, "--fix", tmp_path / name) == 2
        shown = capsys.readouterr()
        assert shown.out == "" and f"Let its name end in {better}" in shown.err
        assert not (tmp_path / name).exists()
    copy = tmp_path / "copy.csv"
    assert command("check", table, "--fix", copy) == 0
    assert copy.read_text() == (
        'query,doc_id,text,clicked\nk,1,"a ""red"" one",1\nk,2,"blue,\ta\nb",0\n'
    )
    assert "made blanks" not in capsys.readouterr().err


def test_topics_are_mended_to_parquet_too(tmp_path: Path, jsonl: Jsonl) -> None:
    docs, views = [{"doc_id": "a", "text": "A"}], [{"instruction": "", "labels": {"a": "positive"}}]
    path = jsonl({"topic_id": "1", "query": "k", "docs": docs, "views": views}, "{")
    assert command("check", path, "--fix", tmp_path / "copy.parquet") == 0
    assert (tmp_path / "copy.parquet").read_bytes().startswith(b"PAR1")
    assert command("check", path, "--fix", tmp_path / "copy.tsv") == 2
