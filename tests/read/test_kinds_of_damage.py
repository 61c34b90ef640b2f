"""Kinds of damage beyond the first examples: other containers, line ends, invisible texts, lists in cells."""

from __future__ import annotations

import bz2
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obverse.check import check
from obverse.errors import InputError
from obverse.read import Findings, read
from obverse.records import Topic

Jsonl = Callable[..., Path]


def read_all(path: Path, **options: Any) -> tuple[dict[str, Topic], Findings]:
    findings = Findings()
    return {t.topic_id: t for t in read(path, findings=findings, **options)}, findings


def clicks(query_id: Any, query: Any, clicked: Any, shown: Any = ()) -> dict[str, Any]:
    return {"query_id": query_id, "query": query, "clicked": clicked, "shown": shown}


def doc(doc_id: Any, text: Any) -> dict[str, Any]:
    return {"id": doc_id, "text": text}


def test_lines_that_end_in_cr_alone(tmp_path: Path) -> None:
    rows = [json.dumps(clicks(f"q{n}", f"query {n}", [doc("a", "A.")])) for n in range(3)]
    (tmp_path / "mac.jsonl").write_bytes("\r".join([*rows, ""]).encode())
    topics, findings = read_all(tmp_path / "mac.jsonl")
    assert list(topics) == ["q0", "q1", "q2"] and findings.lines.crlf == 0
    (tmp_path / "mac.tsv").write_bytes(b"query\tpositive\ra\tA.\rb\tB.\r")
    assert len(read_all(tmp_path / "mac.tsv")[0]) == 2


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_other_containers_are_read_by_content(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    row = json.dumps(clicks("q", "a", [doc("a", "A.")])).encode() + b"\n"
    path = tmp_path / "rows.jsonl"
    path.write_bytes(pack(row * 50))
    assert read_all(path)[1].rows == 50
    path.write_bytes(pack(row * 50)[:-8])
    with pytest.raises(InputError, match="cut off or damaged"):
        read_all(path)
    assert "cut_archive" in check(path).counts


def test_a_zip_archive_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "rows.zip", "w") as archive:
        archive.writestr("rows.jsonl", "{}")
    with pytest.raises(InputError, match="zip archive"):
        read_all(tmp_path / "rows.zip")
    assert "cut_archive" in check(tmp_path / "rows.zip").counts


@pytest.mark.parametrize(
    "text", ["", " ", "\u00a0\u2003", "\u200b", "\u200b\ufeff \u2060", "\x00", "\u3000"]
)
def test_texts_without_anything_to_see_are_blank(jsonl: Jsonl, text: str) -> None:
    path = jsonl(
        clicks("ok", "a", [doc("a", "A.")], [doc("b", text)]), clicks("no", text, [doc("a", "A.")])
    )
    topics, findings = read_all(path)
    assert list(topics) == ["ok"] and len(topics["ok"].docs) == 1
    assert [row["reason"] for row in findings.drops.rows] == ["blank query"]


@pytest.mark.parametrize("text", ["👍", "x", "ß", "日"])
def test_one_visible_character_is_a_text(jsonl: Jsonl, text: str) -> None:
    topics, _ = read_all(jsonl(clicks("q", text, [doc("a", text)])))
    assert topics["q"].docs[0].text == text


def test_one_object_where_a_list_belongs(jsonl: Jsonl) -> None:
    topics, findings = read_all(jsonl(clicks("q", "a", doc("a", "A."), doc("b", "B."))))
    assert topics["q"].views[0].positives == ["a"]
    assert [(e.line, e.field) for e in findings.examples["object_for_list"]] == [
        (1, "clicked"),
        (1, "shown"),
    ]


def test_lists_in_the_cells_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    cell = json.dumps([doc("a", "A."), doc("b", "B.")]).replace('"', '""')
    path.write_text(f"query_id,query,clicked,shown\n1,x,\"{cell}\",\"['one', 'two']\"\n")
    topics, findings = read_all(path)
    assert topics["1"].views[0].positives == ["a", "b"] and len(topics["1"].views[0].negatives) == 2
    assert findings.counts["json_in_string"] == 2


def test_clicks_named_by_the_ids_of_what_was_shown(jsonl: Jsonl) -> None:
    shown = [
        doc("1", "A.") | {"position": 1},
        doc("2", "B.") | {"position": 2},
        doc("3", "C.") | {"position": 3},
    ]
    topics, findings = read_all(jsonl(clicks("q", "a", ["2"], shown)))
    assert topics["q"].views[0].positives == ["2"] and topics["q"].views[0].negatives == ["1"]
    assert not findings.counts["string_for_document"]


def test_items_of_no_known_form_are_left_out(jsonl: Jsonl) -> None:
    topics, findings = read_all(
        jsonl(clicks("q", "a", [doc("a", "A."), 3, None, ["x"], True], [{}, doc("b", 4)]))
    )
    assert len(topics["q"].views[0].positives) == 1
    assert findings.counts["wrong_type"] >= 3 and findings.counts["null_text"] == 1


@pytest.mark.parametrize("position", ["2", 2.0, "2.0"])
def test_positions_as_strings_and_floats(jsonl: Jsonl, position: Any) -> None:
    items = [
        doc("a", "A.") | {"position": 1},
        doc("b", "B.") | {"position": position, "clicked": "true"},
    ]
    topics, findings = read_all(jsonl({"query_id": "q", "query": "a", "impressions": items}))
    assert topics["q"].views[0].negatives == ["a"] and not findings.counts["bad_position"]


def test_rows_without_positions_give_no_negatives_under_a_rule_that_needs_them(
    jsonl: Jsonl,
) -> None:
    placed = [doc("a", "A.") | {"position": 1}, doc("b", "B.") | {"position": 2, "clicked": True}]
    bare = [doc("c", "C."), doc("d", "D.") | {"clicked": True}]
    path = jsonl(
        *[
            {"query_id": n, "query": n, "impressions": items}
            for n, items in (("p", placed), ("n", bare))
        ]
    )
    topics, findings = read_all(path)
    assert topics["p"].views[0].negatives == ["a"] and topics["n"].views[0].negatives == []
    assert findings.examples["rule_without_positions"][0].line == 2


def test_words_for_nothing_and_long_queries_are_reported(jsonl: Jsonl) -> None:
    path = jsonl(
        clicks("q", "nan", [doc("a", "None")]), clicks("r", "long " * 1_000, [doc("b", "B.")])
    )
    counts = check(path).counts
    assert counts["null_word"] == 2 and counts["huge_query"] == 1


def test_the_short_way_and_the_long_way_agree(jsonl: Jsonl) -> None:
    rows = [
        {
            "session_id": f"s{n // 4}",
            "query": f"q {n // 8}",
            "doc_id": str(n % 11),
            "text": f"T {n % 11}",
            "position": n % 4 + 1,
            "clicked": n % 3 == 0,
            "timestamp": 1_700_000_000 + n,
        }
        for n in range(64)
    ]
    short, one = read_all(jsonl(*rows))
    # A null instruction, a float time and a string position say the same and need the long way.
    slow = [
        row | {"position": str(row["position"]), "timestamp": float(row["timestamp"])}
        for row in rows
    ]
    long, other = read_all(jsonl(*slow, name="slow.jsonl"))
    assert short == long
    assert (one.rows, one.usable, one.counts) == (other.rows, other.usable, other.counts)


def test_json_over_many_lines_and_rows_in_a_wrapper(tmp_path: Path) -> None:
    row = clicks("q", "a", [doc("a", "A.")])
    for name, value in (("one", row), ("list", [row]), ("wrapper", {"data": [row]})):
        for indent in (None, 2):
            path = tmp_path / f"{name}.json"
            path.write_text(json.dumps(value, indent=indent))
            assert list(read_all(path)[0]) == ["q"], (name, indent)


def test_a_file_without_one_readable_row_has_its_faults_by_line(
    tmp_path: Path, jsonl: Jsonl
) -> None:
    two = json.dumps(clicks("q", "a", [doc("a", "A.")])) * 2
    for text, code in (
        (two, "bad_json"),
        ("<html></html>", "bad_json"),
        ("", "empty_file"),
        ("\n\n", "blank_line"),
    ):
        assert code in check(jsonl(text)).counts
    with pytest.raises(InputError, match=r"rows\.jsonl:1: is no JSON"):
        read_all(jsonl(two))
    pointer = jsonl("version https://git-lfs.github.com/spec/v1")
    assert "git lfs pull" in check(pointer).examples["bad_json"][0].message


def test_contradictions_between_rows(jsonl: Jsonl) -> None:
    path = jsonl(
        {"query": "a", "positive": "A", "negative": "B"},
        {"query": "a", "positive": "B", "negative": "C"},
    )
    findings = check(path)
    assert [e.line for e in findings.examples["contradictory_labels"]] == [2]


def test_an_instruction_of_the_wrong_type_sets_the_row_aside(jsonl: Jsonl) -> None:
    good = {"query": "b", "positive": "A"}
    topics, findings = read_all(jsonl({"query": "a", "instruction": 5, "positive": "A"}, good))
    assert len(topics) == 1
    assert findings.drops.rows[0]["reason"] == "instruction of the wrong type"


def test_values_nested_without_end(jsonl: Jsonl) -> None:
    deep = '{"query": "a", "clicked": ' + "[" * 900 + "]" * 900 + "}"
    assert check(jsonl(deep, json.dumps(clicks("q", "b", [doc("a", "A.")])))).usable == 1


def test_rows_that_stand_twice_and_judgements_alone(tmp_path: Path, jsonl: Jsonl) -> None:
    row = clicks("q", "a", [doc("a", "A.")])
    assert [e.line for e in check(jsonl(row, row)).examples["duplicate_row"]] == [2]
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\t007\t1\n1\t7\t0.5\n")
    assert [e.line for e in check(tmp_path / "qrels.tsv").examples["bad_grade"]] == [3]


def test_check_collects_the_faults_of_topics_files(jsonl: Jsonl) -> None:
    good = '{"topic_id": "t", "query": "q", "views": [{"labels": {"a": "positive"}}]}'
    twice = (
        '{"topic_id": "u", "query": "q", "views": [{"labels": {"a": "positive", "a": "negative"}}]}'
    )
    findings = check(jsonl(good, twice, "{", "[]"))
    assert {code: e[0].line for code, e in findings.examples.items()} == {
        "duplicate_key": 2,
        "bad_json": 3,
        "not_an_object": 4,
        "no_negative": 1,
    }
    assert (findings.rows, findings.usable) == (4, 1)


HEADER, FIRST, SECOND = "query,doc_id,text,clicked", "kettle,1,red,1", "kettle,2,blue,0"


@pytest.mark.parametrize(
    ("name", "mark"), [("a.tsv", ","), ("a.csv", "\t"), ("a.csv", "|"), ("a.csv", ";")]
)
def test_the_header_says_what_stands_between_fields(tmp_path: Path, name: str, mark: str) -> None:
    lines = "\n".join([HEADER, FIRST, SECOND]) + "\n"
    (tmp_path / name).write_text(lines.replace(",", mark))
    topics, _ = read_all(tmp_path / name)
    assert [doc.doc_id for topic in topics.values() for doc in topic.docs] == ["1", "2"]


def test_a_repeated_key_is_said_on_reading_too(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"query": "a", "query": "b", "clicked": ["c"], "shown": ["d"]}\n')
    _, findings = read_all(path)
    assert findings.counts["duplicate_key"] == 1
    assert "(a, b)" in findings.examples["duplicate_key"][0].message


def test_clicks_by_id_that_nobody_was_shown_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    shown = [{"id": "1", "text": "One."}, {"id": "2", "text": "Two."}]
    path.write_text(json.dumps({"query": "a", "clicked": ["1", "zz"], "shown": shown}) + "\n")
    topics, findings = read_all(path)
    assert [doc.text for topic in topics.values() for doc in topic.docs] == ["One.", "Two."]
    assert findings.examples["missing_document"][0].line == 1


def test_what_is_no_table_at_all_is_called_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_text("not parquet")
    with pytest.raises(InputError, match="is no Parquet file"):
        read_all(tmp_path / "rows.parquet")
    with tarfile.open(tmp_path / "rows.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "rows.parquet", "rows.jsonl")
    with pytest.raises(InputError, match="is a tar archive"):
        read_all(tmp_path / "rows.tar.gz")
    (tmp_path / "wide.jsonl").write_bytes('{"query": "a"}\n'.encode("utf-16-le"))
    with pytest.raises(InputError, match="UTF-16"):
        read_all(tmp_path / "wide.jsonl")
    (tmp_path / "blank.jsonl").write_text("\n \n")
    with pytest.raises(InputError, match="holds no row"):
        read_all(tmp_path / "blank.jsonl")


def test_pairs_with_labels_are_positives_and_negatives(jsonl: Jsonl) -> None:
    pairs = [("b", 1), ("c", 0), ("d", 0.4), ("e", "1.0")]
    rows = [{"sentence1": "a", "sentence2": text, "label": label} for text, label in pairs]
    topics, findings = read_all(jsonl(*rows))
    (topic,) = topics.values()
    labels = {doc.text: str(topic.views[0].labels[doc.doc_id]) for doc in topic.docs}
    assert labels == {"b": "positive", "c": "negative", "e": "positive"}
    assert findings.examples["bad_grade"][0].line == 3


def test_sessions_of_the_wrong_type_are_named(jsonl: Jsonl) -> None:
    row = {"query": "k", "doc_id": "1", "text": "a", "clicked": 1, "session_id": ["x"]}
    _, findings = read_all(jsonl(row))
    assert findings.examples["wrong_type"][0].field == "session_id"


def test_damage_inside_a_parquet_file_is_one_line(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(pa.table({"query": ["k"] * 9, "clicked": [["a"]] * 9}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 60 + whole[64:])
    with pytest.raises(InputError, match="cut off or damaged"):
        read_all(path)


@pytest.mark.parametrize(("qrels", "code"), [("", "empty_file"), ("q,c,score\n1,a,1\n", None)])
def test_judgements_with_commas_and_none_at_all(tmp_path: Path, qrels: str, code: str) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "A"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "q"}\n')
    (tmp_path / "qrels.tsv").write_text(qrels)
    findings = check(tmp_path)
    assert ("empty_file" in findings.counts) == bool(code)
    assert findings.usable == (0 if code else 1)
