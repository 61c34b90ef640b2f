"""Topics to and from JSON: loss-free, and every wrong form has its own line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.errors import InputError
from obverse.records import Doc, Label, Topic, View, doc_from_json, topic_from_json, topic_to_json

TEXT = st.text(max_size=12)
WORDS = st.text(min_size=1, max_size=12).filter(lambda text: bool(text.strip()))


@st.composite
def topics(draw: st.DrawFn) -> Topic:
    ids = draw(st.lists(TEXT, min_size=1, max_size=4, unique=True))
    docs = tuple(Doc(doc_id, draw(TEXT), draw(TEXT)) for doc_id in ids)
    views = []
    for _ in range(draw(st.integers(1, 3))):
        labels = {doc_id: draw(st.sampled_from(list(Label))) for doc_id in ids}
        labels[draw(st.sampled_from(ids))] = Label.POSITIVE
        views.append(
            View(draw(TEXT), labels, {"method": draw(TEXT)}, {"gain": draw(st.integers())})
        )
    return Topic(draw(TEXT), draw(WORDS), docs if draw(st.booleans()) else (), tuple(views))


@given(topics())
def test_round_trip(topic: Topic) -> None:
    assert topic_from_json(json.loads(json.dumps(topic_to_json(topic)))) == topic


def test_the_documented_keys() -> None:
    topic = Topic("t", "q", (Doc("a", "A."),), (View("only a", {"a": Label.POSITIVE}),))
    assert topic_to_json(topic) == {
        "topic_id": "t",
        "query": "q",
        "docs": [{"doc_id": "a", "title": "", "text": "A."}],
        "views": [
            {"instruction": "only a", "labels": {"a": "positive"}, "origin": {}, "checks": {}}
        ],
    }


def row(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "topic_id": "t",
        "query": "q",
        "docs": [{"doc_id": "a", "text": "A."}, {"doc_id": "b", "text": "B."}],
        "views": [{"labels": {"a": "positive", "b": "negative"}}],
    }
    return made | changes


def test_what_may_be_left_out() -> None:
    topic = topic_from_json(row())
    assert topic.docs[0].title == "" and topic.views[0].instruction == ""
    assert (
        topic_from_json(row(views=[{"instruction": None, "labels": {"a": "positive"}}]))
        .views[0]
        .is_plain
    )
    without = row()
    del without["docs"]
    assert topic_from_json(without).docs == ()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"query": " "}, "query: is empty"),
        ({"query": 3}, "query: should be a string, not a number"),
        ({"docs": "A."}, "docs: should be a list, not a string"),
        ({"docs": ["A."]}, r"docs\[0\]: a document should be an object, not a string"),
        ({"docs": [{"doc_id": "a"}]}, r"docs\[0\]: a document lacks the key 'text'"),
        (
            {"docs": [{"doc_id": "a", "text": None}]},
            r"docs\[0\], text: should be a string, not null",
        ),
        ({"docs": [{"doc_id": "a", "text": "A."}] * 2}, "document 'a' stands twice"),
        ({"views": []}, "no view, so no positive"),
        ({"views": {}}, "views: should be a list, not an object"),
        ({"views": [{"labels": []}]}, r"views\[0\], labels: should be an object of labels"),
        (
            {"views": [{"labels": {"a": "negative"}}]},
            r"views\[0\], labels: no document is positive",
        ),
        ({"views": [{"labels": {"z": "positive"}}]}, r"views\[0\].labels: labels document 'z'"),
        ({"views": [{"labels": {"a": ["positive"]}}]}, "unknown label"),
        ({"views": [{"labels": {"a": "positive"}, "origin": []}]}, "origin: should be an object"),
        (
            {"views": [{"labels": {"a": "positive"}, "instruction": 3}]},
            "instruction: should be a string",
        ),
        ({"why": 1}, "unknown key 'why'"),
    ],
)
def test_wrong_forms_say_where_and_what_to_do(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        topic_from_json(row(**changes))
    assert caught.value.fix


def test_a_document_is_an_object() -> None:
    with pytest.raises(InputError, match="not true or false"):
        doc_from_json(True)


def test_lists_by_label() -> None:
    view = View(
        "",
        {
            "a": Label.POSITIVE,
            "b": Label.NEGATIVE,
            "c": Label.INSTRUCTION_NEGATIVE,
            "d": Label.IGNORE,
        },
    )
    assert view.positives == ["a"] and view.negatives == ["b", "c"]
    topic = Topic("t", "q", (Doc("a", "A."),), (View("x", view.labels), view))
    assert topic.plain_view is view and topic.doc("a").text == "A."
    with pytest.raises(KeyError):
        topic.doc("z")
    assert view.checked(gain=1.0).checks == {"gain": 1.0}
