"""Further damage of each kind: what cannot be read says so in one line, and the rest is read as it stands."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from obverse.check import check, worst
from obverse.cli import _register, app
from obverse.errors import InputError, SettingError
from obverse.read import Findings, read
from obverse.read.faults import Severity
from obverse.read.rows import column_map

Jsonl = Callable[..., Path]
ROW = '{"query": "k", "clicked": [{"id": "a", "text": "A"}], "shown": [{"id": "b", "text": "B"}]}'
TABLE = "query,doc_id,text,clicked\nk,1,red,1\nk,2,blue,0\n"


def texts(path: Path, **options: Any) -> list[str]:
    topics = read(path, findings=Findings(), **options)
    return [doc.text for topic in topics for doc in topic.docs]


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
@pytest.mark.parametrize(("name", "content"), [("a.jsonl", ROW), ("a.csv", TABLE)])
def test_wide_text_is_named(tmp_path: Path, name: str, content: str, code: str) -> None:
    (tmp_path / name).write_bytes(content.encode(code))
    with pytest.raises(InputError, match="UTF-16"):
        texts(tmp_path / name)
    (example,) = check(tmp_path / name).examples["not_utf8"]
    assert "iconv" in example.message or example.line == 1


def test_a_header_that_is_not_utf8_is_no_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("query,doc_id,text,catégorie\nk,1,A,1\n".encode("latin-1"))
    (example,) = check(tmp_path / "a.csv").examples["not_utf8"]
    assert example.line == 1 and "iconv" in example.message


def test_columns_of_one_name_are_named_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("query,text,text\nk,a,b\n")
    (example,) = check(tmp_path / "a.csv").examples["duplicate_column"]
    assert (example.file, example.line) == (str(tmp_path / "a.csv"), 1)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("\ufeff\ufeff" + ROW, "byte_order_mark"),
        (ROW + "\u2028", "line_separator"),
        (ROW + "\u0085", "line_separator"),
        (ROW.replace("A", "A\tB"), "control_character"),
        (ROW.replace("A", "A\u000bB"), "control_character"),
        (ROW.replace("A", "A\\u000bB"), "control_character"),
        (ROW.replace("A", "A\\u001FB"), "control_character"),
    ],
)
def test_characters_that_do_no_harm_lose_no_row(jsonl: Jsonl, line: str, code: str) -> None:
    findings = check(jsonl(line))
    assert findings.counts[code] == 1 and findings.usable == 1
    assert worst(findings) is Severity.NOTE


def test_characters_in_tables_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(TABLE.replace("red", "re\u2028d").replace("blue", 'b\x0bl\rue "x"').encode())
    findings = check(path)
    assert findings.counts["line_separator"] == 1 and findings.counts["control_character"] == 2
    assert texts(path) == ["re\u2028d", 'b\x0bl\rue "x"']
    path.write_bytes(b'query,doc_id,text,clicked\nk,1,"a, b",1\n   \nk,2,b\rc,0\n')
    assert texts(path) == ["a, b", "b\rc"]


def test_nul_bytes_are_no_utf16(jsonl: Jsonl) -> None:
    (example,) = check(jsonl(ROW, "\0\0\0\0", ROW)).examples["bad_json"]
    assert example.line == 2 and "NUL" in example.message


def test_a_quote_that_is_never_closed_takes_no_row_in_silence(tmp_path: Path) -> None:
    lines = [f"k{n},{n},text {n},1" for n in range(2_100)]
    path = tmp_path / "a.csv"
    for broken, says in (
        ('k,x,"red,1', "never closed"),
        ('k,x,red,"1', "never closed"),
        ('k,x,"red,1\nk,y,"blue,1', "never closed"),
        ('k,x,"red,1\nk,y,blue,1"', "lines up to 2103"),
    ):
        path.write_text("\n".join(["query,doc_id,text,clicked", *lines, broken, *lines[:9], ""]))
        (example,) = check(path).examples["ragged_row"]
        assert example.line == 2_102 and says in example.message, broken


def test_archives_in_archives(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(gzip.compress(gzip.compress(ROW.encode())))
    assert "inside an archive" in check(tmp_path / "a.jsonl").examples["cut_archive"][0].message
    (tmp_path / "b.parquet").write_text(ROW + "\n")
    assert texts(tmp_path / "b.parquet") == ["A", "B"]


def test_parquet_in_an_archive_and_ids_that_are_nan(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = [
        {"query": "k", "doc_id": 1.0, "text": "A", "clicked": 1.0},
        {"query": "k", "doc_id": float("nan"), "text": "B", "clicked": 0.0},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert texts(tmp_path / "a.parquet") == ["A", "B"]
    assert check(tmp_path / "a.parquet").examples["missing_id"][0].line == 2
    packed = tmp_path / "b.parquet.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a.parquet").read_bytes()))
    with pytest.raises(InputError, match="Parquet file in an archive"):
        texts(packed)


def test_lists_as_numpy_prints_them(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("query,clicked,shown\nk,['A'],\"['B'\n 'C, c' 'D']\"\n")
    assert texts(path) == ["A", "B", "C, c", "D"]


@pytest.mark.parametrize("text", ["\u3164", "\u2800", "\ufe0f", "\u0301", "\u00ad"])
def test_fillers_are_blank(jsonl: Jsonl, text: str) -> None:
    line = ROW.replace('"B"', json.dumps(text))
    assert check(jsonl(line)).counts["blank_text"] == 1


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (['{"clicked": ["A"], "shown": []}'] * 2, "missing_column"),
        (['{"query": "k", "clicked": [], "shown": ["A"]}'], "nothing_usable"),
        (['{"query": "", "clicked": ["A"]}'], "nothing_usable"),
    ],
)
def test_a_file_that_cannot_be_read_fails_the_check_too(
    jsonl: Jsonl, lines: list[str], code: str
) -> None:
    findings = check(jsonl(*lines))
    assert findings.counts[code] == 1 and worst(findings) is Severity.ERROR


def test_a_column_is_mapped_once() -> None:
    with pytest.raises(SettingError, match="names query twice"):
        column_map("query=a,query=b")


def test_the_check_takes_what_a_read_takes(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('query\tdoc_id\ttext\tclicked\nk\t1\t"red"\t1\nk\t2\t"blue"\t0\n')
    _register()
    arguments = ["check", str(path), "--quoting", "none", "--fix", str(tmp_path / "b.tsv")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0 and "stray_quotes" in result.stdout
    assert '"red"' in (tmp_path / "b.tsv").read_text()


def test_bytes_of_another_code_never_become_ids_or_queries(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "A"}\n')
    (tmp_path / "topics.tsv").write_bytes("1\tthé\n".encode("latin-1"))
    (tmp_path / "qrels.tsv").write_bytes("1\t0\td\t1\n1\t0\té\t1\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"qrels\.tsv:2: byte 5 is not UTF-8"):
        texts(tmp_path, format="trec")
    (tmp_path / "qrels.tsv").write_text("1\t0\td\t1\n")
    (example,) = check(tmp_path).examples["not_utf8"]
    assert (Path(example.file).name, example.line) == ("topics.tsv", 1)
    (tmp_path / "topics.tsv").write_text("1\tk\n2 no tab\n")
    assert check(tmp_path).examples["ragged_row"][0].line == 2


def test_ids_that_are_no_list(tmp_path: Path, jsonl: Jsonl) -> None:
    (tmp_path / "corpus.jsonl").write_text(
        '{"docid": "ab", "text": "A"}\n{"docid": "5", "text": "B"}\n'
    )
    path = jsonl(
        {"query_text": "k", "positive_document_ids": "ab", "negative_document_ids": 5},
        {"query_text": "l", "positive_document_ids": {"x": 1}, "negative_document_ids": None},
    )
    findings = check(path)
    assert findings.usable == 1 and findings.counts["wrong_type"] == 1
    assert findings.examples["string_for_list"][0].field == "positive_document_ids"
    assert texts(path) == ["A", "B"]


@pytest.mark.parametrize(
    ("positive", "code"),
    [
        (None, "no_positive"),
        (5, "wrong_type"),
        ([5], "wrong_type"),
        ([[{"role": "user", "content": None}]], "null_text"),
        ("A", ""),
        ([{"role": "user", "content": "A"}], "object_for_list"),
    ],
)
def test_messages_of_other_forms(jsonl: Jsonl, positive: Any, code: str) -> None:
    row = {"messages": [{"role": "user", "content": "k"}], "positive_messages": positive}
    other = {"role": "user", "content": "l"}
    findings = check(jsonl(row, {"messages": [other], "positive_messages": [[other]]}))
    assert not code or findings.counts[code]


def test_sessions_and_times_are_one_however_they_are_written(jsonl: Jsonl) -> None:
    def log(sessions: list[Any], factor: float) -> Path:
        rows = [
            {
                "session_id": sessions[n % len(sessions)],
                "query": "k",
                "doc_id": str(n),
                "text": f"T{n}",
                "position": n + 1,
                "clicked": n == 2,
                "timestamp": int(1_700_000_000 * factor) + n * int(factor),
            }
            for n in range(4)
        ]
        return jsonl(*rows)

    plain = list(read(log(["7"], 1), findings=Findings()))
    for sessions in (["7"], [7], ["7", 7], [7.0, "7", 7]):
        for factor in (1, 1e3, 1e6, 1e9):
            assert list(read(log(sessions, factor), findings=Findings())) == plain
    findings = check(log(["7"], 1e14))
    assert findings.counts["bad_time"] == 4
