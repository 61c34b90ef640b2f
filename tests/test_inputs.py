"""One function builds every encoder's input; the query is never cut."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from obverse.errors import InputError, SettingError
from obverse.inputs import (
    FILE_NAME,
    TEMPLATES,
    Shortened,
    Template,
    fit,
    saved_template,
    speakable,
    template_named,
    template_row,
)
from obverse.records import Doc


def words(text: str) -> int:
    return len(text.split())


def test_a_missing_and_an_empty_instruction_leave_no_trace() -> None:
    for template in TEMPLATES.values():
        bare = template.query("mountain bike")
        assert template.query("mountain bike", None) == bare == template.query("mountain bike", "")
        assert template.query(" mountain bike\n", " \t") == bare
        assert "{" not in bare and bare == bare.strip()


@pytest.mark.parametrize(
    ("name", "instructed", "plain", "document"),
    [
        ("default", "bike Only red.", "bike", "T x"),
        ("e5", "query: bike Only red.", "query: bike", "passage: T x"),
        (
            "bge",
            "Represent this sentence for searching relevant passages: bike Only red.",
            "Represent this sentence for searching relevant passages: bike",
            "T x",
        ),
        ("gte", "bike Only red.", "bike", "T x"),
        (
            "qwen3",
            "Instruct: Only red.\nQuery:bike",
            "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:bike",
            "T x",
        ),
        (
            "e5-mistral",
            "Instruct: Only red.\nQuery: bike",
            "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: bike",
            "T x",
        ),
        ("promptriever", "query:  bike Only red.", "query:  bike", "passage:  T x"),
    ],
)
def test_the_named_templates(name: str, instructed: str, plain: str, document: str) -> None:
    template = template_named(name)
    assert template.query("bike", "Only red.") == instructed
    assert template.query("bike") == plain
    assert template.doc(Doc("d", "x", "T")) == document


def test_what_a_user_writes_is_never_a_slot() -> None:
    assert Template().query("{instruction} {query}", "{text}") == "{instruction} {query} {text}"
    assert Template().doc(Doc("d", "{title}")) == "{title}"


def test_half_a_surrogate_pair_which_no_tokenizer_takes_is_a_replacement_character() -> None:
    assert speakable("\ud800 bike, only \udc00 red") == "\ufffd bike, only \ufffd red"
    assert speakable("Fahrräder 🚲") == "Fahrräder 🚲" and speakable("bike") == "bike"


def test_a_template_without_a_slot_is_refused() -> None:
    with pytest.raises(SettingError, match=r"lacks the slot \{instruction\}"):
        Template("{query}")
    with pytest.raises(SettingError, match="unknown template 'x'"):
        template_named("x")


def test_whole_words_go_from_the_end_of_the_instruction_and_the_query_stays() -> None:
    lost = Shortened()
    assert fit(Template(), "a b", "c d e f", 4, words, lost) == "a b c d"
    assert (lost.instructions, lost.instruction_tokens) == (1, 2)
    assert fit(Template(), "a b", "c d", 4, words, lost) == "a b c d"
    assert lost.instructions == 1
    assert fit(Template(), "a b c d", "e", 4, words) == "a b c d"


def test_a_query_that_is_too_long_alone_is_refused() -> None:
    with pytest.raises(InputError, match="alone has more than 3 tokens"):
        fit(Template(), "a b c d", "e", 3, words)


def test_the_template_is_saved_and_read_back(tmp_path: Path) -> None:
    assert saved_template(tmp_path) is None
    for template in TEMPLATES.values():
        (tmp_path / FILE_NAME).write_text(json.dumps({"template": template_row(template)}))
        assert saved_template(tmp_path) == template
    (tmp_path / FILE_NAME).write_text("{}")
    with pytest.raises(InputError, match="holds no template"):
        saved_template(tmp_path)


def test_the_digest_tells_templates_apart_by_what_they_build() -> None:
    assert Template().digest == TEMPLATES["gte"].digest
    assert len({template.digest for template in TEMPLATES.values()}) == len(TEMPLATES) - 1


@pytest.mark.parametrize(
    ("name", "query", "instruction", "expected"),
    [
        ("e5", "query: bike", "", "query: bike"),
        ("e5", " query: bike", "Only red.", "query: bike Only red."),
        ("default", "query: bike", "Only red.", "query: bike Only red."),
        (
            "qwen3",
            "Instruct: mountain bike",
            "Only red.",
            "Instruct: Only red.\nQuery:mountain bike",
        ),
        ("qwen3", "Instruct: Only red.\nQuery: bike", "", "Instruct: Only red.\nQuery: bike"),
        ("e5", "query:", "Only red.", "query: query: Only red."),
        ("e5", "Query: bike", "", "query: Query: bike"),
    ],
)
def test_a_prefix_that_stands_there_is_not_added_twice(
    name: str, query: str, instruction: str, expected: str
) -> None:
    template = template_named(name)
    assert template.query(query, instruction) == expected
    assert template.query(template.query("bike", "Only red.")) == template.query(
        "bike", "Only red."
    )


def test_a_documents_prefix_is_not_added_twice_and_no_query_prompt_is_taken_from_it() -> None:
    e5 = template_named("e5")
    assert e5.doc(Doc("a", "passage: x")) == "passage: x" == e5.doc(Doc("a", "x"))
    assert e5.doc(Doc("a", "x", "passage: T")) == "passage: T x"
    assert e5.doc(Doc("a", "query: x")) == "passage: query: x"
