"""Every kind of fault has its code, its line and its field; the exit status says how bad it is."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from obverse.check import check, to_json, worst
from obverse.check.mending import mend
from obverse.cli import _register, app
from obverse.errors import InputError, SettingError
from obverse.read import ahead
from obverse.read.faults import FAULTS, Findings, Severity

Jsonl = Callable[..., Path]


def doc(doc_id: Any, text: Any) -> dict[str, Any]:
    return {"id": doc_id, "text": text}


def clicks(query_id: Any, query: Any, clicked: Any, *shown: Any) -> dict[str, Any]:
    return {"query_id": query_id, "query": query, "clicked": clicked, "shown": list(shown)}


GOOD = [
    clicks(f"q{n}", f"query {n}", [doc(f"a{n}", f"Answer {n}.")], doc(f"b{n}", f"Other {n}."))
    for n in range(5)
]


def places(findings: Findings, code: str) -> list[tuple[int | None, str | None]]:
    return [(example.line, example.field) for example in findings.examples.get(code, [])]


def test_a_good_file_has_no_faults(jsonl: Jsonl) -> None:
    findings = check(jsonl(*GOOD))
    assert to_json(findings) == {"rows": 5, "usable": 5, "faults": []}
    assert worst(findings) is None


def test_broken_rows_are_counted_and_the_rest_is_read(jsonl: Jsonl) -> None:
    findings = check(jsonl(GOOD[0], '{"query": ', "[1, 2]", "17", GOOD[1]))
    assert places(findings, "bad_json") == [(2, None)]
    assert places(findings, "not_an_object") == [(3, None), (4, None)]
    assert (findings.rows, findings.usable) == (5, 2)
    assert worst(findings) is Severity.ERROR


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps(row, ensure_ascii=False) for row in GOOD[:2]]
    path.write_bytes(
        lines[0].encode() + b"\n" + lines[1].replace("Other", "Ötér").encode("latin-1") + b"\n"
    )
    assert places(check(path), "not_utf8") == [(2, None)]
    path.write_bytes(lines[0].encode("utf-16"))
    assert "not_utf8" in check(path).counts


def test_a_cut_archive_is_an_error_and_nothing_is_usable(tmp_path: Path, jsonl: Jsonl) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(jsonl(*GOOD).read_bytes())[:-9])
    findings = check(path)
    assert worst(findings) is Severity.ERROR and findings.usable == 0


def test_line_separators_inside_texts(jsonl: Jsonl) -> None:
    path = jsonl(
        clicks("q", "a", [doc("a", "one\u2028two")]),
        json.dumps(clicks("r", "b", [doc("b", "x\u2029y")])),
    )
    findings = check(path)
    assert places(findings, "line_separator") == [(1, None), (2, None)]
    assert findings.usable == 2


def test_keys_that_stand_twice(jsonl: Jsonl) -> None:
    path = jsonl(
        '{"query": "a", "query": "b", "clicked": [{"id": "x", "text": "a \\": b"}]}',
        '{"query": "a: \\"x\\": ", "clicked": [{"id": "x", "id": "y", "text": "a"}]}',
    )
    assert places(check(path), "duplicate_key") == [(1, "query"), (2, "id")]


def test_a_schema_that_drifts_late(jsonl: Jsonl) -> None:
    late = clicks("q9", "late", "a string") | {"price": 3}
    findings = check(jsonl(*GOOD, late))
    assert places(findings, "type_drift") == [(6, "clicked")]
    assert places(findings, "late_key") == [(6, "price")]


def test_ids(jsonl: Jsonl) -> None:
    path = jsonl(
        clicks(4, "a", [doc("007", "A.")], doc("7", "B."), doc(" 8", "C."), doc(True, "D."))
    )
    findings = check(path)
    assert places(findings, "number_id") == [(1, "query_id")]
    assert len(places(findings, "leading_zeros")) == 1
    assert len(places(findings, "zeros_only_differ")) == 1
    assert len(places(findings, "space_in_id")) == 1
    assert places(findings, "wrong_type") == [(1, "shown[2].id")]


def test_the_same_text_as_positive_and_negative(jsonl: Jsonl) -> None:
    text = "A light folding table with a carry handle for the garden and the balcony, in green"
    path = jsonl(
        clicks(
            "q",
            "table",
            [doc("p", text)],
            doc("n", text.upper() + " "),
            doc("m", text + " steel"),
            doc("o", "B"),
        )
    )
    findings = check(path)
    assert places(findings, "same_text_two_ids") == [(1, "shown")]
    assert findings.counts["near_duplicate"] == 1
    assert findings.counts["duplicate_document"] == 1


def test_a_huge_document_is_reported_with_what_is_beyond_the_limit(jsonl: Jsonl) -> None:
    findings = check(jsonl(*GOOD, clicks("h", "contract", [doc("huge", "clause " * 100_000)])))
    (example,) = findings.examples["huge_document"]
    assert (
        example.line == 6
        and "700,000 characters" in example.message
        and "668,000 beyond" in example.message
    )
    assert findings.usable == 6


def test_token_lengths_against_a_limit(jsonl: Jsonl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "obverse.check._tokens", lambda encoder, limit: (4, lambda text: len(text.split()))
    )
    findings = check(
        jsonl(clicks("q", "a", [doc("a", "one two three four five six")])), encoder="any"
    )
    assert "6 tokens, 2 beyond 4" in findings.examples["over_token_limit"][0].message


def test_a_stray_language(jsonl: Jsonl) -> None:
    english = "This is the text of the document and it is in English for all of you to read"
    rows = [clicks(f"q{n}", f"q{n}", [doc(f"d{n}", f"{english} {n}")]) for n in range(12)]
    rows.append(
        clicks(
            "de",
            "de",
            [
                doc(
                    "g",
                    "Das ist ein Text, der nicht auf Englisch ist, und die Sprache ist eine andere",
                )
            ],
        )
    )
    rows.append(clicks("ru", "ru", [doc("r", "Это русский текст о складном столе")]))
    findings = check(jsonl(*rows))
    assert [line for line, _ in places(findings, "wrong_language")] == [13, 14]


def topic(topic_id: str = "t", **changes: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "topic_id": topic_id,
        "query": f"bike of {topic_id}",
        "docs": [
            {"doc_id": "a", "title": "", "text": "A new bike."},
            {"doc_id": "b", "title": "", "text": "Used."},
        ],
        "views": [
            {"instruction": "only new", "labels": {"a": "positive", "b": "instruction_negative"}}
        ],
    }
    return row | changes


@pytest.mark.parametrize(
    ("code", "row"),
    [
        ("unknown_label", topic(views=[{"labels": {"a": "relevant"}}])),
        ("unknown_key", topic(price=3)),
        ("no_positive", topic(views=[{"labels": {"a": "negative"}}])),
        ("no_positive", topic(views=[])),
        ("string_for_list", topic(docs="A new bike.")),
        ("blank_query", topic(query=" ")),
        ("bad_topic", topic(views=[{"labels": {"z": "positive"}}])),
        ("duplicate_topic", topic("t0")),
        (
            "contradictory_labels",
            topic(
                views=[
                    {"labels": {"a": "positive"}},
                    {"labels": {"a": "negative", "b": "positive"}},
                ]
            ),
        ),
        (
            "instruction_equals_query",
            topic(views=[{"instruction": "Bike of T", "labels": {"a": "positive"}}]),
        ),
        (
            "too_few_candidates",
            topic(docs=[{"doc_id": "a", "text": "A."}], views=[{"labels": {"a": "positive"}}]),
        ),
        (
            "blank_text",
            topic(docs=[{"doc_id": "a", "text": " "}], views=[{"labels": {"a": "positive"}}]),
        ),
        (
            "id_with_two_texts",
            topic(docs=[{"doc_id": "a", "text": "Other."}], views=[{"labels": {"a": "positive"}}]),
        ),
    ],
)
def test_faults_of_topics(jsonl: Jsonl, code: str, row: dict[str, Any]) -> None:
    findings = check(jsonl(topic("t0"), row))
    assert [example.line for example in findings.examples[code]] == [2]
    unusable = FAULTS[code].severity is Severity.ERROR and code != "contradictory_labels"
    assert findings.usable == (
        1 if unusable or code in ("no_positive", "blank_query", "string_for_list") else 2
    )


def test_an_instruction_that_copies_its_document(jsonl: Jsonl) -> None:
    text = "Refurbished mountain bike, 21 speed, previously owned, new brake pads and tyres."
    row = topic(docs=[{"doc_id": "a", "text": text}])
    row["views"] = [
        {"instruction": "It must be a " + text.lower()[:60], "labels": {"a": "positive"}}
    ]
    assert check(jsonl(row)).counts["instruction_copies_document"] == 1


def test_leaks_of_a_benchmark_and_of_another_split(jsonl: Jsonl) -> None:
    train = jsonl(*GOOD, name="train.jsonl")
    test = jsonl(clicks("x", "QUERY 2", [doc("z", "Answer  3.")]), name="test.jsonl")
    findings = check(train, against=[test])
    assert sorted(line or 0 for line, _ in places(findings, "benchmark_leak")) == [3, 4]
    findings = check(train, apart_from=[test])
    assert findings.counts["split_leak"] == 2 and worst(findings) is Severity.ERROR


def test_conditions_that_a_filter_serves_better(jsonl: Jsonl) -> None:
    rows = [
        clicks(f"q{n}", f"shoes under {n}0 euros", [doc(f"d{n}", f"Shoe {n}.")]) for n in range(3)
    ]
    assert check(jsonl(*rows)).counts["filter_instead"] == 3


def test_a_table_of_documents_keeps_every_quote(tmp_path: Path) -> None:
    path = tmp_path / "corpus.tsv"
    path.write_text(
        'id\ttext\nd1\t"Unclosed quote\nd2\t19" monitor arm\nd3\t"Quoted" word first\nd4\tplain\n'
    )
    findings = check(path)
    assert (findings.rows, findings.usable) == (4, 4)
    assert places(findings, "stray_quotes") == [(2, "text"), (3, "text"), (4, "text")]
    assert any("without quoting" in line for line in findings.said)


def test_ragged_rows(tmp_path: Path) -> None:
    path = tmp_path / "corpus.tsv"
    path.write_text("id\ttext\nd1\tone\ttwo\nd2\nd3\tfine\n")
    findings = check(path)
    assert places(findings, "ragged_row") == [(2, None), (3, None)] and findings.usable == 1


def test_an_unknown_format_and_an_empty_file_are_findings(tmp_path: Path, jsonl: Jsonl) -> None:
    assert "unknown_format" in check(jsonl({"a": 1})).counts
    (tmp_path / "empty.jsonl").write_text("")
    assert "empty_file" in check(tmp_path / "empty.jsonl").counts
    with pytest.raises(InputError, match="no such file"):
        check(tmp_path / "missing.jsonl")


def run(*arguments: str) -> Any:
    _register()
    return CliRunner().invoke(app, list(arguments))


def test_the_command_prints_json_and_exits_by_severity(jsonl: Jsonl) -> None:
    warned = jsonl(*GOOD, clicks("s", "s", "a string"), name="warned.jsonl")
    result = run("check", str(warned), "--json")
    found = json.loads(result.stdout)
    assert set(found) == {"rows", "usable", "faults"}
    assert set(found["faults"][0]) == {"code", "severity", "count", "examples"}
    assert set(found["faults"][0]["examples"][0]) == {"file", "line", "field", "message"}
    assert result.exit_code == 0
    assert run("check", str(warned), "--fail-on", "warning").exit_code == 2
    broken = jsonl(*GOOD, "{", name="broken.jsonl")
    assert run("check", str(broken), "--json").exit_code == 2


def test_fix_writes_a_copy_without_the_faults(tmp_path: Path, jsonl: Jsonl) -> None:
    path = jsonl(
        clicks(1, "a", "A string.", doc("7", ""), doc(7, "Seven."), doc("x", "a STRING. ")),
        "",
        "{",
        clicks("q", " ", [doc("a", "A.")]),
        clicks("r", "r", [doc("a", None)]),
        *GOOD,
    )
    changes = mend(path, tmp_path / "fixed.jsonl")
    assert changes["number ids made strings"] == 2
    assert changes["rows that are no JSON left out"] == 1
    findings = check(tmp_path / "fixed.jsonl")
    assert (findings.rows, findings.usable) == (6, 6)
    assert worst(findings) in (None, Severity.NOTE)


def test_fix_refuses_folders_before_anything_is_read(tmp_path: Path, jsonl: Jsonl) -> None:
    jsonl(*GOOD, name="corpus.jsonl")
    with pytest.raises(SettingError, match=r"single files.*corpus\.jsonl"):
        mend(tmp_path, tmp_path / "out")
    result = run("check", str(tmp_path), "--fix", str(tmp_path / "out"))
    assert result.stdout == "" and isinstance(result.exception, SettingError)


def test_every_fault_has_words(jsonl: Jsonl) -> None:
    for code, kind in FAULTS.items():
        assert code == code.lower() and " " not in code
        assert kind.means and kind.done


def test_the_files_of_a_folder_are_compared_with_themselves_alone(tmp_path: Path) -> None:
    lines = {
        "queries.jsonl": ['{"_id": "1", "text": "kettle"}'],
        "corpus.jsonl": ['{"_id": "a", "title": "T", "text": "A kettle."}'],
        "qrels.tsv": ["query-id\tcorpus-id\tscore", "1\ta\t1"],
    }
    for name, content in lines.items():
        (tmp_path / name).write_text("\n".join(content) + "\n")
    assert not check(tmp_path).counts.keys() & {"late_key", "type_drift", "duplicate_row"}


def test_documents_named_by_id_are_looked_up_in_the_corpus(
    tmp_path: Path, jsonl: Jsonl, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {
            "query_id": str(n),
            "query_text": f"what is thing {n}",
            "positive_document_ids": ["a"],
            "negative_document_ids": ["b", "gone"] if n else ["b"],
        }
        for n in range(3)
    ]
    path = jsonl(*rows)
    corpus = [{"docid": "a", "text": "Answer."}, {"docid": "b", "text": "Other."}]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    findings = check(path, workers=0)
    field = "negative_document_ids"
    assert places(findings, "missing_document") == [(2, field), (3, field)]
    assert (findings.rows, findings.usable) == (3, 3)
    monkeypatch.setattr(ahead, "LEAST", 0)
    monkeypatch.setattr(ahead, "_STRETCH", 100)
    assert to_json(check(path, workers=1)) == to_json(findings)
    _register()
    shown = CliRunner().invoke(app, ["check", str(path), "--json"])
    assert json.loads(shown.stdout) == to_json(findings)


@pytest.mark.parametrize("code", ["cut_archive", "ragged_row", None])
def test_a_stop_is_a_finding_by_its_code_and_not_by_its_words(
    jsonl: Jsonl, monkeypatch: pytest.MonkeyPatch, code: str | None
) -> None:
    def reader(path: Path, findings: Findings) -> None:
        raise InputError("is not UTF-16, two columns are called x", where="here:3", code=code)

    monkeypatch.setattr("obverse.check.reader", reader, raising=False)
    if code is None:
        with pytest.raises(InputError, match="two columns"):
            check(jsonl(*GOOD), "obverse.check:reader")
    else:
        (example,) = check(jsonl(*GOOD), "obverse.check:reader").examples[code]
        assert (example.file, example.line) == ("here", 3)
        assert InputError("x", code=code).at("there").code == code
