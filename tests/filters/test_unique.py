"""What counts as standing there twice."""

from __future__ import annotations

import pytest

from obverse.filters.unique import characters, copy_rule, overlap, unique, words
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops

P, D, N, X = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE, Label.IGNORE


def topic(
    topic_id: str, query: str, *views: View, texts: tuple[str, ...] = ("new", "used")
) -> Topic:
    docs = tuple(Doc("abcdef"[n], text) for n, text in enumerate(texts))
    labels = {doc.doc_id: N for doc in docs} | {"a": P}
    return Topic(topic_id, query, docs, (View("", labels), *views))


def run(*topics: Topic, **limits: float) -> tuple[list[Topic], Drops]:
    drops = Drops()
    return list(unique(**limits)(topics, drops)), drops


def keep(instruction: str) -> View:
    return View(instruction, {"a": P, "b": D})


def promote(instruction: str) -> View:
    return View(instruction, {"a": D, "b": P})


def test_same_instruction_after_normalisation() -> None:
    (left,), drops = run(
        topic("t", "bike", keep("Only  NEW items."), keep("only new items."), keep("Bike "))
    )
    assert [view.instruction for view in left.views] == ["", "Only  NEW items."]
    assert drops.by_reason == {
        "same instruction as another view of the query": 1,
        "the instruction only repeats the query": 1,
    }


def test_near_instructions_go_only_where_they_ask_for_the_same() -> None:
    a, b = (
        "Only brand new items with a full warranty.",
        "Only brand-new items, with a full warranty",
    )
    (left,), drops = run(topic("t", "bike", keep(a), keep(b)))
    assert len(left.views) == 2 and drops.rows[0]["instruction"] == b
    (left,), _ = run(
        topic("t", "bike", keep("Include trials in humans."), promote("Exclude trials in humans."))
    )
    assert len(left.views) == 3
    (left,), _ = run(topic("t", "bike", keep(a), promote(b)), near_instructions=1)
    assert len(left.views) == 3


def test_the_same_instruction_under_other_queries_stays() -> None:
    left, drops = run(topic("1", "bike", keep("New only.")), topic("2", "car", keep("New only.")))
    assert [len(t.views) for t in left] == [2, 2] and not drops.rows


def test_topics_that_stand_twice() -> None:
    left, drops = run(
        topic("1", "bike", keep("New only.")),
        topic("2", " BIKE", keep("Other.")),
        topic("3", "bike", keep("New only."), texts=("another", "used")),
    )
    assert [t.topic_id for t in left] == ["1", "3"]
    # Another positive, so another topic; but the query has this instruction already.
    assert len(left[1].views) == 1
    assert drops.by_reason["same query and positive as an earlier topic"] == 1


def test_copies_of_a_positive_are_no_negatives() -> None:
    texts = (
        "Crème brûlée torch with refillable gas tank.",
        "Cre\u0300me bru\u0302le\u0301e torch with refillable gas tank.",
        "  crème  brûlée TORCH with refillable gas tank. ",
        "Butane refill can, 250 ml.",
        "Ｃrème brûlée torch with refillable gas tank.",
    )
    view = View("With a tank.", {"a": P, "b": D, "c": N, "d": N, "e": N})
    (left,), drops = run(topic("q1", "kitchen torch", view, texts=texts))
    assert list(left.views[0].labels.values()) == [P, X, X, N, X]
    assert list(left.views[1].labels.values()) == [P, X, X, N, X]
    assert [(row["doc_id"], row["rule"]) for row in drops.rows] == [
        ("b", "nfc, case and space"),
        ("c", "nfc, case and space"),
        ("e", "nfkc"),
    ]
    assert left.docs[1].text == texts[1]


def test_near_copies() -> None:
    text = " ".join(f"word{n}" for n in range(80))
    assert copy_rule(Doc("a", text), Doc("b", text + " more")) == "shingles"
    assert copy_rule(Doc("a", text), Doc("b", text[: len(text) // 2])) is None
    assert copy_rule(Doc("a", text), Doc("b", text + " more"), limit=1) is None


@pytest.mark.parametrize(
    ("a", "b", "value"),
    [("a b c d", "a b c d", 1), ("a b c", "x y z", 0), ("a b c d", "a b c x", 1 / 3)],
)
def test_overlap(a: str, b: str, value: float) -> None:
    assert overlap(words(a), words(b)) == pytest.approx(value)
    assert overlap(characters(a), characters(a)) == 1
