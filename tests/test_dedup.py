"""Equal queries become one topic, equal texts one document, and every merge is noted."""

from __future__ import annotations

import pytest

from obverse.dedup import dedup
from obverse.errors import SettingError
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops

P, N, H = Label.POSITIVE, Label.NEGATIVE, Label.INSTRUCTION_NEGATIVE


def test_topics_of_one_query_are_merged() -> None:
    first = Topic("1", "Bike", (Doc("a", "A."), Doc("b", "B.")), (View("", {"a": P, "b": N}),))
    second = Topic(
        "2",
        " bike ",
        (Doc("b", "B."), Doc("a", "Other.")),
        (View("", {"b": P, "a": N}), View("new", {"a": P})),
    )
    drops = Drops()
    (made,) = dedup([first, second], drops=drops)
    assert made.topic_id == "1"
    assert [(doc.doc_id, doc.text) for doc in made.docs] == [
        ("a", "A."),
        ("b", "B."),
        ("a#2", "Other."),
    ]
    assert made.views[0].labels == {"a": P, "b": P, "a#2": N}
    assert made.views[1].labels == {"a#2": P}
    assert drops.by_reason == {"merged into a topic of the same query": 1}


def test_one_document_for_each_text() -> None:
    docs = (Doc("a", "Red  kettle"), Doc("b", "red KETTLE"), Doc("c", "Pot"))
    drops = Drops()
    (made,) = dedup(
        [Topic("1", "q", docs, (View("", {"b": P, "a": N, "c": N}), View("x", {"a": P, "b": H})))],
        drops=drops,
    )
    assert [doc.doc_id for doc in made.docs] == ["a", "c"]
    assert [view.labels for view in made.views] == [{"a": P, "c": N}, {"a": P}]
    assert drops.rows[0]["same_as"] == "a"


def test_near_negatives_go_when_asked() -> None:
    text = "a light folding table with a carry handle for the garden"
    docs = (Doc("a", text), Doc("b", text + " green"), Doc("c", "Pot"))
    topic = Topic("1", "q", docs, (View("", {"a": P, "b": N, "c": N}),))
    assert list(dedup([topic])) == [topic]
    (made,) = dedup([topic], near=0.9)
    assert made.views[0].labels == {"a": P, "c": N}
    with pytest.raises(SettingError):
        list(dedup([topic], near=2))


def test_near_texts_are_found_without_spaces_and_whatever_the_punctuation() -> None:
    text = "北京的天气很好今天我们去公园"
    docs = (Doc("a", text), Doc("b", text + "。"), Doc("c", "上海的菜很贵"), Doc("d", f"{text}吧!"))
    topic = Topic("1", "q", docs, (View("", {"a": P, "b": N, "c": N, "d": N}),))
    (made,) = dedup([topic], near=0.9)
    assert made.views[0].labels == {"a": P, "c": N}


def test_a_text_that_differs_in_case_alone_gets_no_second_id() -> None:
    first = Topic("1", "q", (Doc("a", "Red"),), (View("", {"a": P}),))
    drops = Drops()
    (made,) = dedup(
        [first, Topic("2", "Q", (Doc("a", "RED"),), (View("", {"a": P}),))], drops=drops
    )
    assert [doc.doc_id for doc in made.docs] == ["a"]
    assert list(drops.by_reason) == ["merged into a topic of the same query"]
