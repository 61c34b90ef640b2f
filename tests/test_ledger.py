"""The ledger counts by content, proves sizes equal, and says what was replaced by what."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from obverse.cli import _register, app
from obverse.errors import ObverseError, SettingError
from obverse.inputs import Template
from obverse.ledger import compare_ledgers, difference_text, ledger, ledger_text
from obverse.ledger.counting import steps_of
from obverse.mix import cut_views
from obverse.records import Doc, Label, Topic, View, topic_to_json
from obverse.training.plan import Plan
from obverse.training.topic_set import topic_set

GOOD, OUT, BAD = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE


def _topics(count: int, start: int = 0) -> list[Topic]:
    origin = {"method": "natural_dual_view", "lever": "audience"}
    return [
        Topic(
            f"t{n}",
            f"query {n}",
            (Doc("p", f"good {n}"), Doc("n", f"other {n}"), Doc("x", "the same bad one")),
            (
                View("", {"p": GOOD, "n": BAD, "x": BAD}),
                View("keep it", {"p": GOOD, "n": OUT}, origin),
                View("swap it", {"p": OUT, "n": GOOD}, origin),
            ),
        )
        for n in range(start, start + count)
    ]


def test_it_counts_by_content_and_ignores_order() -> None:
    topics = _topics(5)
    book = ledger(topics)
    assert (book.topics, book.views, book.queries, book.documents) == (5, 15, 5, 11)
    assert book.kinds == {"plain": 5, "original": 5, "reversed": 5}
    assert book.origins["original", "natural_dual_view", "audience"] == 5
    assert book.labels == {"positive": 15, "negative": 10, "instruction_negative": 10}
    assert book.tokens == 5 * (2 + 4 + 4 + 2 + 2 + 4)
    turned = [t.with_views(t.views[::-1]) for t in topics[::-1]]
    turned = [replace(t, docs=t.docs[::-1]) for t in turned]
    assert ledger(turned).digest == book.digest
    assert json.loads(json.dumps(book.to_json()))["hashes"].keys() == {f"t{n}" for n in range(5)}


@pytest.mark.parametrize(
    "change",
    [
        lambda t: replace(t, query="another"),
        lambda t: replace(t, topic_id="another"),
        lambda t: replace(t, docs=(replace(t.docs[0], text="changed"), *t.docs[1:])),
        lambda t: t.with_views(t.views[:2]),
        lambda t: t.with_views([*t.views[:2], replace(t.views[2], instruction="else")]),
        lambda t: t.with_views([*t.views[:2], replace(t.views[2], labels={"n": GOOD})]),
        lambda t: t.with_views([*t.views, t.views[2]]),
    ],
)
def test_any_change_of_what_is_trained_on_changes_the_digest(
    change: Callable[[Topic], Topic],
) -> None:
    topics = _topics(3)
    changed = [topics[0], change(topics[1]), topics[2]]
    assert ledger(changed).digest != ledger(topics).digest


def test_origin_and_checks_do_not_change_the_digest() -> None:
    topics = _topics(2)
    noted = [
        t.with_views(replace(v, origin={"method": "m"}, checks={"judge": True}) for v in t.views)
        for t in topics
    ]
    assert ledger(noted).digest == ledger(topics).digest


@given(st.integers(1, 40), st.integers(1, 50), st.sampled_from([0.4, 1, 1.5, 2, 3.3]))
def test_the_steps_are_those_of_the_training_plan(topics: int, batch: int, epochs: float) -> None:
    found = topic_set(_topics(topics), Template(), 64, lambda text: len(text.split()))
    said = steps_of(topics, 3 * topics, batch, epochs)
    try:
        plan = Plan(found, min(batch, topics), epochs)
    except ObverseError:
        assert said.steps == 0
        return
    assert said.steps == len(plan)
    rows = [len(plan.rows(plan.batch(step))) for step in range(len(plan))]
    assert said.views_per_step == pytest.approx(sum(rows) / len(rows), abs=0.01)


def test_two_sets_are_size_matched_and_what_was_replaced_is_told() -> None:
    topics = _topics(4)
    a = list(cut_views(topics, ["plain", "original"]))
    b = list(cut_views(topics, ["original", "reversed"]))
    found = compare_ledgers(ledger(a, batch_size=2), ledger(b, batch_size=2))
    assert found.matched(["views", "topics", "queries", "documents", "steps", "views_per_step"])
    assert not found.matched(["views", "tokens"])
    assert (found.same, len(found.changes), found.only_a, found.only_b) == (0, 4, [], [])
    assert found.taken == [("plain", 4)]
    assert found.given == [("reversed natural_dual_view", 4)]
    text = difference_text(found, ["views", "queries"])
    assert "t0: plain -> reversed natural_dual_view audience" in text
    assert text.endswith("size-matched by views, queries: yes")


def test_topics_are_matched_by_query_where_the_id_is_another() -> None:
    a = _topics(3)
    b = [replace(topic, topic_id=f"other {topic.topic_id}") for topic in a[:2]]
    found = compare_ledgers(ledger(a), ledger(b))
    assert (found.same, found.changes, found.only_a, found.only_b) == (2, [], ["t2"], [])
    moved = compare_ledgers(
        ledger(a), ledger([replace(t, docs=(*t.docs, Doc("y", "more"))) for t in a])
    )
    assert [change.other_documents for change in moved.changes] == [True] * 3


def test_a_unit_that_was_not_counted_is_refused() -> None:
    found = compare_ledgers(ledger(_topics(1)), ledger(_topics(1), tokens=None))
    for unit, said in (("steps", "were not counted"), ("tokens", "were not"), ("rows", "no unit")):
        with pytest.raises(SettingError, match=said):
            found.matched([unit])
    with pytest.raises(SettingError, match="make no step"):
        ledger(_topics(1), batch_size=0)
    with pytest.raises(SettingError, match="make no step"):
        ledger(_topics(1), batch_size=1, epochs=float("nan"))
    with pytest.raises(SettingError, match="no unit is named"):
        found.matched([])


def test_the_commands(jsonl: Callable[..., Path]) -> None:
    _register()
    run = CliRunner().invoke
    one = jsonl(*map(topic_to_json, cut_views(_topics(6), ["original"])), name="one.jsonl")
    two = jsonl(*map(topic_to_json, cut_views(_topics(3), ["instructed"])), name="two.jsonl")
    shown = run(app, ["ledger", "show", str(one), "--batch-size", "4"])
    assert shown.stdout.splitlines()[1].split() == ["views", "6", "(6", "original)"]
    assert "2 of 3 views (4 topics a batch, 1 epochs)" in shown.stdout
    by_json = json.loads(run(app, ["ledger", "show", str(one), "--json"]).stdout)
    assert by_json["views"] == 6 and len(by_json["hashes"]) == 6
    same = run(app, ["ledger", "diff", str(one), str(two)])
    assert same.exit_code == 0
    assert "size-matched by views: yes" in same.stdout
    other = run(app, ["ledger", "diff", str(one), str(two), "--by", "views,queries", "--json"])
    assert other.exit_code == 1
    row = json.loads(other.stdout)
    assert row["size_matched"]["views"] and not row["matched"]
    assert row["only_a"] == ["t3", "t4", "t5"]
    sizes = ["--batch-size", "4", "--batch-size", "2", "--by", "steps,views_per_step"]
    assert run(app, ["ledger", "diff", str(one), str(two), *sizes]).exit_code == 0


def test_the_text_holds_every_origin() -> None:
    text = ledger_text(ledger(_topics(2), tokens=None))
    assert text.splitlines()[-1].split() == ["reversed", "natural_dual_view", "audience", "2"]
    assert "tokens" not in text
