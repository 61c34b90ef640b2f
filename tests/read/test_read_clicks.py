"""Click logs: holes in the data, ids, strings for lists, rules, merging."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obverse.errors import InputError, SettingError
from obverse.read import Findings, read
from obverse.records import Label, Topic

Jsonl = Callable[..., Path]


def doc(doc_id: Any, text: Any, **more: Any) -> dict[str, Any]:
    return {"id": doc_id, "text": text, **more}


def clicks(query_id: Any, query: Any, clicked: Any, *shown: Any) -> dict[str, Any]:
    return {"query_id": query_id, "query": query, "clicked": clicked, "shown": list(shown)}


def read_all(path: Path, **options: Any) -> tuple[dict[str, Topic], Findings]:
    findings = Findings()
    return {t.topic_id: t for t in read(path, findings=findings, **options)}, findings


def negatives(topic: Topic) -> set[str]:
    return set(topic.views[0].negatives)


def test_byte_order_mark_crlf_and_blank_lines_leave_no_trace(tmp_path: Path) -> None:
    row = '{"query_id": "q%d", "query": "café chair", "clicked": [{"id": "c", "text": "Café."}]}'
    text = "\ufeff" + "\r\n".join([row % 1, row % 2, "", row % 3, "", ""])
    path = tmp_path / "clicks.jsonl"
    path.write_bytes(text.encode())
    topics, findings = read_all(path)
    assert list(topics) == ["q1", "q2", "q3"]
    assert topics["q1"].query == "café chair"
    assert findings.counts["byte_order_mark"] == 1
    assert findings.counts["blank_line"] == 2
    assert any("blank line" in line for line in findings.summary())


def test_marks_in_joined_files_and_texts_are_removed(jsonl: Jsonl) -> None:
    row = clicks("q", "\ufeffa chair", [doc("a", "\ufeffA chair.")])
    path = jsonl(
        row, "\ufeff" + '{"query_id": "r", "query": "b", "clicked": [{"id": "b", "text": "B"}]}'
    )
    topics, findings = read_all(path)
    assert topics["q"].query == "a chair"
    assert topics["q"].docs[0].text == "A chair."
    assert findings.examples["byte_order_mark"][0].line == 2


def test_number_ids_become_their_digits_and_are_reported(jsonl: Jsonl) -> None:
    topics, findings = read_all(
        jsonl(
            clicks(
                1, "red kettle", [doc(7, "Red kettle.")], doc("007", "Blue."), doc(8.0, "Green.")
            )
        )
    )
    assert topics["1"].views[0].labels == {
        "7": Label.POSITIVE,
        "007": Label.NEGATIVE,
        "8": Label.NEGATIVE,
    }
    assert findings.counts["number_id"] == 3
    assert findings.examples["number_id"][0].line == 1


def test_ids_larger_than_64_bits_keep_all_digits(tmp_path: Path) -> None:
    path = tmp_path / "clicks.jsonl"
    path.write_text(
        '{"query_id": 123456789012345678901234567890, "query": "q", "clicked": [{"id": "a", "text": "A"}]}'
    )
    topics, _ = read_all(path)
    assert list(topics) == ["123456789012345678901234567890"]


def test_a_string_is_one_passage_with_a_warning_of_line_and_field(jsonl: Jsonl) -> None:
    topics, findings = read_all(
        jsonl(
            {
                "query_id": "q1",
                "query": "tea pot",
                "clicked": "Iron pot.",
                "shown": ["Glass pot.", "Towel."],
            },
            {
                "query_id": "q2",
                "query": "tea cup",
                "clicked": [doc("x", "Cup.")],
                "shown": "Paper cup.",
            },
        )
    )
    assert [d.text for d in topics["q1"].docs] == ["Iron pot.", "Glass pot.", "Towel."]
    assert [(e.line, e.field) for e in findings.examples["string_for_list"]] == [
        (1, "clicked"),
        (2, "shown"),
    ]
    assert [(e.line, e.field) for e in findings.examples["string_for_document"]] == [
        (1, "shown[0]"),
        (1, "shown[1]"),
    ]


def test_plain_strings_are_a_form_of_their_own_where_all_documents_are(jsonl: Jsonl) -> None:
    row = {"query": "tea", "clicked": ["Iron pot."], "shown": ["Iron pot.", "Towel."]}
    topics, findings = read_all(jsonl(row))
    assert len(topics) == 1
    assert findings.counts["text_only_document"] == 3
    assert not findings.counts["string_for_document"]
    assert not findings.counts["positive_among_negatives"], "what was clicked had been shown"
    _, findings = read_all(jsonl({"query": "tea", "clicked": ["A."], "negatives": ["A.", "B."]}))
    assert findings.counts["positive_among_negatives"] == 1


def test_holes_are_set_aside_with_a_reason_each(jsonl: Jsonl) -> None:
    a, b = doc("a", "Storm-proof umbrella."), doc("b", "Umbrella stand.")
    path = jsonl(
        clicks("ok", "umbrella", [a], b),
        clicks("blank-neg", "umbrella", [a], doc("c", ""), doc("d", "  \t"), b),
        clicks("no-neg", "raincoat", [doc("e", "Raincoat.")]),
        clicks("no-click", "boots", [], doc("f", "Boots.")),
        clicks("blank-click", "hat", [doc("g", " ")], doc("h", "Hat.")),
        clicks("null-text", "poncho", [doc("i", None)], doc("j", "Poncho.")),
        {"query_id": "no-shown-key", "query": "gaiters", "clicked": [doc("k", "Gaiters.")]},
        clicks("blank-query", "  ", [doc("l", "Something.")]),
        clicks("no-text-key", "cap", [{"id": "m"}]),
        {"query_id": "no-query", "clicked": [doc("n", "Cap.")]},
    )
    topics, findings = read_all(path)
    assert list(topics) == ["ok", "blank-neg", "no-neg", "no-shown-key"]
    assert negatives(topics["blank-neg"]) == {"b"}
    assert {row["topic_id"]: row["reason"] for row in findings.drops.rows} == {
        "no-click": "no positive",
        "blank-click": "blank positive",
        "null-text": "null positive",
        "blank-query": "blank query",
        "no-text-key": "missing positive",
        "no-query": "no query",
    }
    assert findings.rows == 10 and findings.usable == 4
    assert findings.counts["no_negative"] == 2


def test_a_title_alone_is_a_document(jsonl: Jsonl) -> None:
    topics, findings = read_all(jsonl(clicks("q", "chair", [doc("a", None, title="Ash chair")])))
    assert topics["q"].docs[0].title == "Ash chair"
    assert not findings.counts["null_text"]


def test_negatives_with_the_text_of_a_positive_go_and_texts_stay_as_they_are(jsonl: Jsonl) -> None:
    path = jsonl(
        clicks(
            "q1",
            "torch",
            [doc("p1", "Crème brûlée torch")],
            doc("n1", "Cre\u0300me bru\u0302le\u0301e torch"),
            doc("n2", "  crème  brûlée TORCH "),
            doc("n3", "Butane can"),
        ),
        clicks("q2", "usb", [doc("p2", "USB 2 m")], doc("n4", "ＵＳＢ 2 m"), doc("n5", "HDMI")),
    )
    topics, findings = read_all(path)
    assert negatives(topics["q1"]) == {"n3"} and negatives(topics["q2"]) == {"n5"}
    assert topics["q1"].docs[0].text == "Crème brûlée torch"
    assert [row["rule"] for row in findings.drops.rows] == ["nfc, case and space"] * 2 + ["nfkc"]
    assert [e.line for e in findings.examples["same_text_two_ids"]] == [1, 1, 2]


def impressions(query_id: str, *shown: tuple[int | None, str, bool]) -> dict[str, Any]:
    items = [
        {"position": place, "id": name, "text": f"Text of {name}.", "clicked": clicked}
        for place, name, clicked in shown
    ]
    return {"query_id": query_id, "query": f"query of {query_id}", "impressions": items}


LOG = (
    impressions(
        "q1",
        (1, "h1", False),
        (2, "h2", False),
        (3, "h3", True),
        (4, "h4", False),
        (5, "h5", False),
    ),
    impressions("q2", (1, "r1", True), (2, "r2", False)),
    impressions("q3", (1, "t1", False), (2, "t2", False)),
    impressions("q4", (2, "u2", True), (1, "u1", True), (3, "u3", False)),
)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("examined", {"q1": {"h1", "h2"}, "q2": set(), "q4": set()}),
        ("all", {"q1": {"h1", "h2", "h4", "h5"}, "q2": {"r2"}, "q4": {"u3"}}),
    ],
)
def test_click_rules(jsonl: Jsonl, rule: str, expected: dict[str, set[str]]) -> None:
    topics, findings = read_all(jsonl(*LOG), rule=rule)
    assert {name: negatives(topic) for name, topic in topics.items()} == expected
    assert topics["q1"].views[0].origin["rule"] == rule
    assert any(f"rule in force: {rule}" in line for line in findings.said)


def test_the_rule_is_examined_where_there_are_positions(jsonl: Jsonl) -> None:
    topics, findings = read_all(jsonl(*LOG))
    assert negatives(topics["q1"]) == {"h1", "h2"}
    assert findings.facts["kept_by_rule"]["all"] == {"with_negatives": 3, "negatives": 6}
    assert findings.facts["kept_by_rule"]["examined"] == {"with_negatives": 1, "negatives": 2}


def test_without_positions_the_rule_cannot_be_applied(jsonl: Jsonl) -> None:
    path = jsonl(impressions("q", (None, "a", True), (None, "b", False)))
    _, findings = read_all(path)
    assert any("cannot be applied" in line for line in findings.said)
    with pytest.raises(SettingError, match="cannot be applied"):
        read_all(path, rule="examined")


def test_max_position_and_min_impressions(jsonl: Jsonl) -> None:
    path = jsonl(*LOG)
    topics, _ = read_all(path, rule="all", max_position=4)
    assert negatives(topics["q1"]) == {"h1", "h2", "h4"}
    topics, _ = read_all(jsonl(LOG[1], LOG[1], LOG[0]), rule="all", min_impressions=2)
    assert negatives(topics["q2"]) == {"r2"} and negatives(topics["q1"]) == set()


def test_sessions_of_one_query_are_merged_and_a_click_anywhere_counts(jsonl: Jsonl) -> None:
    first = {
        "query": "rake",
        "clicked": [doc("a", "A.")],
        "shown": [doc("b", "B."), doc("c", "C.")],
    }
    second = {
        "query": "rake",
        "clicked": [doc("b", "B.")],
        "shown": [doc("a", "A."), doc("d", "D.")],
    }
    topics, findings = read_all(jsonl(first, second))
    (topic,) = topics.values()
    assert set(topic.views[0].positives) == {"a", "b"} and negatives(topic) == {"c", "d"}
    assert findings.usable == 2


def test_a_document_clicked_under_another_id_of_the_query_is_no_negative(jsonl: Jsonl) -> None:
    path = jsonl(
        clicks("s1", "Rake", [doc("a", "A.")], doc("b", "B."), doc("c", "C.")),
        clicks("s2", "rake ", [doc("b", "B.")], doc("c", "C.")),
    )
    topics, findings = read_all(path)
    assert negatives(topics["s1"]) == {"c"}
    assert findings.examples["clicked_elsewhere"][0].line == 1
    merged, _ = read_all(path, merge="query")
    assert len(merged) == 1


def test_flat_impressions_from_a_table(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    path.write_text(
        "session_id\tq\trank\tdoc_id\ttext\tclicked\n"
        "s1\trake\t2\t007\tBow rake\t1\n"
        "s1\trake\t1\t7\tLeaf rake\t0\n"
        "s1\trake\t3\t8\tHoe\t0\n"
        "s2\trake\t1\t8\tHoe\tfalse\n"
    )
    topics, findings = read_all(path, columns={"query": "q", "position": "rank"})
    (topic,) = topics.values()
    assert topic.views[0].positives == ["007"] and negatives(topic) == {"7"}
    assert findings.rows == 4 and findings.usable == 4


def test_one_id_with_two_texts_keeps_each_text_under_its_label(jsonl: Jsonl) -> None:
    topics, findings = read_all(
        jsonl(
            clicks("q1", "one", [doc("1", "First.")], doc("2", "Second.")),
            clicks("q2", "two", [doc("1", "Another first.")], doc("2", "Second.")),
        )
    )
    assert [d.text for d in topics["q2"].docs] == ["Another first.", "Second."]
    assert findings.counts["id_with_two_texts"] == 1


def test_one_query_id_with_two_queries_gives_two_topics(jsonl: Jsonl) -> None:
    topics, findings = read_all(
        jsonl(clicks("q", "one", [doc("1", "A.")]), clicks("q", "two", [doc("2", "B.")]))
    )
    assert [topic.query for topic in topics.values()] == ["one", "two"]
    assert findings.counts["query_id_with_two_queries"] == 1


def test_views_by_instruction_and_their_instruction_negatives(jsonl: Jsonl) -> None:
    new, used = doc("n", "New bike."), doc("u", "Used bike.")
    path = jsonl(
        {"query": "bike", "instruction": "only used", "positive": [used], "negatives": [new]},
        {"query": "bike", "instruction": "only new", "positive": [new], "negatives": [used]},
        {"query": "bike", "positive": [new, used], "negatives": [doc("h", "Helmet.")]},
    )
    topics, _ = read_all(path)
    (topic,) = topics.values()
    assert [view.instruction for view in topic.views] == ["", "only used", "only new"]
    assert topic.views[1].labels == {"u": Label.POSITIVE, "n": Label.INSTRUCTION_NEGATIVE}


def test_broken_rows_stop_a_read_with_file_and_line(jsonl: Jsonl) -> None:
    path = jsonl(clicks("q", "a", [doc("a", "A.")]), '{"query": "b", "clicked": [')
    with pytest.raises(InputError, match=r"rows\.jsonl:2: is no JSON"):
        read_all(path)


def test_nan_is_null_and_reported(jsonl: Jsonl) -> None:
    path = jsonl(
        '{"query_id": "q", "query": "a", "clicked": [{"id": "a", "text": "A", "title": NaN}], "shown": NaN}'
    )
    topics, findings = read_all(path)
    assert topics["q"].docs[0].title == "" and findings.counts["not_a_number"] == 1


def test_empty_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    for name in ("empty.jsonl", "none.jsonl"):
        with pytest.raises(InputError, match=name):
            list(read(tmp_path / name))
