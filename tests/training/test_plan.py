"""The plan is a pure function of data, seed and epoch: full batches, whole topics, an exact length."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_encoder import dual_topic, dual_topics, plain_topic

from obverse.errors import SettingError
from obverse.inputs import Template
from obverse.records import Doc, Label, Topic, View
from obverse.sampling import rng_for
from obverse.training.courses import Course, course
from obverse.training.plan import Plan
from obverse.training.settings import Settings
from obverse.training.topic_set import TopicSet, topic_set


def words(text: str) -> int:
    return len(text.split()) + 2


def prepared(topics: list[Topic]) -> TopicSet:
    return topic_set(topics, Template(), 64, words)


@given(
    count=st.integers(1, 40), size=st.integers(1, 40), epochs=st.integers(1, 4), seed=st.integers()
)
@settings(max_examples=60, deadline=None)
def test_every_batch_is_full_and_every_topic_stands_once_in_an_epoch(
    count: int, size: int, epochs: int, seed: int
) -> None:
    topics = prepared(dual_topics(count, negatives=0, plain=False))
    if size > count:
        with pytest.raises(SettingError, match="cannot be filled"):
            Plan(topics, size, epochs, seed)
        return
    plan = Plan(topics, size, epochs, seed)
    batches = [plan.batch(step) for step in range(len(plan))]
    assert len(batches) == len(plan) == -(-epochs * count // size)
    assert all(len(batch.topics) == size for batch in batches[:-1]), "the last may be smaller"
    assert len(batches[-1].topics) == plan.last_size == epochs * count - (len(plan) - 1) * size
    assert all(len(set(batch.topics)) == len(batch.topics) for batch in batches)
    for epoch in range(epochs):
        seen = [
            topic
            for batch in batches
            for topic, at in zip(batch.topics, batch.epochs, strict=True)
            if at == epoch
        ]
        assert sorted(seen) == list(range(count))
    again = Plan(prepared(dual_topics(count, negatives=0, plain=False)), size, epochs, seed)
    assert [again.batch(step) for step in reversed(range(len(again)))] == batches[::-1]
    full = Plan(topics, size, epochs, seed, keep_last=False)
    assert len(full) == epochs * count // size and full.left_out == epochs * count % size
    assert [full.batch(step) for step in range(len(full))] == batches[: len(full)]


def all_orders(plan: Plan) -> list[list[int]]:
    """Every epoch's order, one after the other, as runs that were stopped have had them."""
    made: list[list[int]] = []
    size = plan.epoch_size
    for epoch in range(-(-len(plan) * plan.batch_size // size)):
        order = list(range(size))
        rng_for(plan.seed, "epoch", epoch).shuffle(order)
        if begun := epoch * size % plan.batch_size:
            waiting = made[-1][-begun:]
            head = [n for n in order if n not in waiting][: plan.batch_size - begun]
            order = head + [n for n in order if n not in head]
        made.append(order)
    return made


@given(
    size=st.integers(1, 12),
    more=st.integers(0, 9),
    steps=st.lists(st.integers(0, 59), min_size=1, max_size=12),
)
@settings(max_examples=60, deadline=None)
def test_orders_are_made_when_they_are_asked_for_and_are_those_of_all_at_once(
    size: int, more: int, steps: list[int]
) -> None:
    plan = Plan(prepared(dual_topics(size + more, negatives=0, plain=False)), size, steps=60)
    flat = [topic for order in all_orders(plan) for topic in order]
    for step in steps:
        assert list(plan.batch(step).topics) == flat[step * size : (step + 1) * size]


def test_a_long_run_has_no_more_orders_in_memory_than_a_batch_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []

    def counted(*what: Any) -> Any:
        made.append(what)
        return rng_for(*what)

    monkeypatch.setattr("obverse.training.plan.rng_for", counted)
    plan = Plan(prepared(dual_topics(7)), 3, epochs=2000)
    assert plan.batch(0).step == 0 and len(made) == 1
    for step in range(300):
        plan.batch(step)
    assert len(plan._orders) <= 2 and len(made) <= 300 * 3 // 7 + 2
    plan.batch(len(plan) - 1)
    assert len(made) <= 300 * 3 // 7 + 2 + 3


def test_steps_may_be_asked_for_instead_of_epochs() -> None:
    plan = Plan(prepared(dual_topics(8)), 3, steps=5)
    assert [len(plan.batch(step).topics) for step in range(len(plan))] == [3] * 5
    assert plan.batch(2).epochs == (0, 0, 1) and plan.seen(5) == (1, 7)
    with pytest.raises(SettingError, match="number of steps is 0"):
        Plan(prepared(dual_topics(8)), 3, steps=0)


def test_seed_and_epoch_change_the_order() -> None:
    topics = prepared(dual_topics(30))
    one, other = (Plan(topics, 5, 2, seed=seed) for seed in (1, 2))
    orders = [[plan.batch(step).topics for step in range(12)] for plan in (one, other)]
    assert orders[0] != orders[1] and orders[0][:6] != orders[0][6:]


def test_a_part_of_an_epoch_is_a_number_of_steps() -> None:
    assert len(Plan(prepared(dual_topics(20)), 4, 0.6)) == 3
    with pytest.raises(SettingError, match="make no step"):
        Plan(prepared(dual_topics(20)), 4, 0.01)


def test_all_views_of_a_topic_come_along() -> None:
    plan = Plan(prepared(dual_topics(6)), 3)
    rows = plan.rows(plan.batch(1))
    assert [(r.topic, r.view) for r in rows] == [
        (t, v) for t in plan.batch(1).topics for v in range(3)
    ]


def test_max_views_and_plain_share_choose_by_epoch_and_topic() -> None:
    topics = prepared(dual_topics(40))
    plan = Plan(topics, 40, 2, max_views=1, plain_share=0.5)
    first, second = (plan.rows(plan.batch(step)) for step in (0, 1))
    for rows in (first, second):
        assert sum(not row.plain for row in rows) == 40
        assert 8 < sum(row.plain for row in rows) < 32
    chosen = [{(r.topic, r.view) for r in rows} for rows in (first, second)]
    assert chosen[0] != chosen[1]
    assert not any(row.plain for row in Plan(topics, 4, plain_share=0).rows(plan.batch(0)))


def test_plain_topics_go_round_and_round_beside_the_others() -> None:
    topics = prepared(dual_topics(8) + [plain_topic(n) for n in range(5)])
    plan = Plan(topics, 4, 5, plain_per_batch=2)
    added = []
    for step in range(len(plan)):
        batch = plan.batch(step).topics
        assert len(batch) == 6 and len(set(batch)) == 6
        assert all(t < 8 for t in batch[:4]) and all(t >= 8 for t in batch[4:])
        added += batch[4:]
    assert len(plan) == 10
    assert all(added.count(topic) >= 3 for topic in range(8, 13))


def test_no_plain_topics_per_batch_leave_them_out() -> None:
    plan = Plan(prepared([*dual_topics(4), plain_topic(1)]), 2, plain_per_batch=0)
    assert len(plan) == 2
    assert {t for step in range(2) for t in plan.batch(step).topics} == {0, 1, 2, 3}


def test_the_digest_of_the_data_holds_whatever_decides_a_step() -> None:
    """Beside texts and labels: the source of a view, the order of its labels, unlabelled documents' topic."""
    one, two = dual_topics(2)
    doc = Doc("z", "w8")

    def digest(*topics: Topic) -> str:
        return prepared(list(topics)).digest

    assert digest(one, two) == digest(one, two)
    turned = [replace(v, labels=dict(reversed([*v.labels.items()]))) for v in one.views]
    with_doc = [replace(topic, docs=(*topic.docs, doc)) for topic in (one, two)]
    others = [
        digest(one, two),
        digest(dual_topic(0, source="shop"), two),
        digest(one.with_views(turned), two),
        digest(with_doc[0], two),
        digest(one, with_doc[1]),
    ]
    assert len(set(others)) == len(others)


def test_more_plain_topics_than_there_are_is_refused() -> None:
    with pytest.raises(SettingError, match="plain topics per batch"):
        Plan(prepared([*dual_topics(4), plain_topic(1)]), 2, plain_per_batch=2)


def many_negatives(hard: int, ruled_out: int) -> Topic:
    docs = [Doc("p", "w1 w2"), *(Doc(f"i{n}", f"kind w{n}") for n in range(ruled_out))]
    docs += [Doc(f"h{n}", f"not w{n}") for n in range(hard)]
    labels = {"p": Label.POSITIVE}
    labels |= {f"i{n}": Label.INSTRUCTION_NEGATIVE for n in range(ruled_out)}
    labels |= {f"h{n}": Label.NEGATIVE for n in range(hard)}
    return Topic("t", "w1", tuple(docs), (View("only w2", labels),))


@given(hard=st.integers(0, 40), ruled_out=st.integers(0, 5), total=st.integers(0, 35))
@settings(max_examples=60, deadline=None)
def test_instruction_negatives_first_then_hard_ones_never_padded_never_repeated(
    hard: int, ruled_out: int, total: int
) -> None:
    topics = prepared([many_negatives(hard, ruled_out)])
    plan = Plan(topics, 1, negatives=total)
    row = topics.rows[0][0]
    found = plan.candidates(row, 0)
    labels = [row.labels[uid] for uid in found]
    kept = min(ruled_out, 3, total)
    assert len(found) == len(set(found)) == 1 + kept + min(hard, total - kept)
    assert labels[0] == Label.POSITIVE
    assert labels[1 : 1 + kept] == [Label.INSTRUCTION_NEGATIVE] * kept
    assert set(labels[1 + kept :]) <= {Label.NEGATIVE}
    assert plan.candidates(row, 0) == found


def test_epochs_draw_other_hard_negatives_and_first_takes_the_order_of_the_data() -> None:
    topics = prepared([many_negatives(40, 0)])
    row = topics.rows[0][0]
    drawn = [Plan(topics, 1, negatives=5).candidates(row, epoch) for epoch in (0, 1)]
    assert drawn[0] != drawn[1]
    first = Plan(topics, 1, negatives=5, pick="first").candidates(row, 1)
    assert first == list(row.labels)[:6]


def test_views_of_a_topic_share_their_draws() -> None:
    topics = prepared([dual_topic(1, negatives=40)])
    plan = Plan(topics, 1, negatives=10)
    one, two = ({*plan.candidates(row, 0)} for row in topics.rows[0][1:])
    assert len(one | two) == 2 + 9


def test_the_pool_is_of_other_topics_and_drawn_by_step() -> None:
    topics = prepared(dual_topics(12))
    plan = Plan(topics, 3, pool_negatives=7)
    pools = []
    for step in range(2):
        batch = plan.batch(step)
        docs = plan.documents(batch, plan.rows(batch))
        pool = plan.pool(batch, docs)
        assert len(set(pool)) == 7
        assert not set(pool) & set(docs)
        assert not any(set(pool) & topics.own[topic] for topic in batch.topics)
        assert pool == plan.pool(batch, docs)
        pools.append(pool)
    assert pools[0] != pools[1]


def test_a_batch_that_is_not_there_is_named() -> None:
    with pytest.raises(SettingError, match=r"no batch 9: the plan has 2 \(0 to 1\)"):
        Plan(prepared(dual_topics(8)), 4).batch(9)


def test_shares_move_in_a_straight_line_from_the_first_step_to_the_last() -> None:
    topics = prepared(dual_topics(200))
    plan = Plan(topics, 200, 5, plain_share="1:0")
    plain = [sum(row.plain for row in plan.rows(plan.batch(step))) for step in range(5)]
    assert plain[0] == 200 and plain[-1] == 0
    assert plain == sorted(plain, reverse=True) and abs(plain[2] - 100) < 30
    back = Plan(topics, 200, 5, instructed_share="0:1")
    rows = [back.rows(back.batch(step)) for step in range(5)]
    instructed = [len({row.topic for row in found if not row.plain}) for found in rows]
    assert instructed[0] == 0 and instructed[-1] == 200 and abs(instructed[2] - 100) < 30
    assert all(len({row.topic for row in found}) == 200 for found in rows), "every topic comes"
    again = Plan(topics, 200, 5, plain_share=Course(1.0, 0.0))
    assert [again.rows(again.batch(s)) for s in range(5)] == [
        plan.rows(plan.batch(s)) for s in range(5)
    ]


def test_topics_without_a_plain_view_keep_their_instructed_ones() -> None:
    topics = prepared([*dual_topics(3, plain=False), plain_topic(1)])
    plan = Plan(topics, 4, plain_share=0, instructed_share=0)
    assert len(plan.rows(plan.batch(0))) == 7


def test_sources_have_weights_that_may_move() -> None:
    topics = prepared(
        [dual_topic(0, source="mine"), dual_topic(1, source="theirs"), plain_topic(2)]
    )
    plan = Plan(topics, 3, 3, source_weights={"mine": "0:2", "": 0.5})
    weights = [
        [plan.weight(topics.rows[topic][0], step) for topic in range(3)] for step in range(3)
    ]
    assert weights == [[0, 0.5, 0.5], [1, 0.5, 0.5], [2, 0.5, 0.5]]
    assert Plan(topics, 3).weight(topics.rows[0][0], 0) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("0.8:0.2:0.1", "Write a number, or FIRST:LAST"),
        ("much", "Write a number"),
        ("0.5:1.5", "share between 0 and 1"),
        (-0.1, "share between 0 and 1"),
        (None, "Write a number"),
    ],
)
def test_a_course_that_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        course(given, "plain share", most=1)


def test_a_course_is_written_in_one_form() -> None:
    assert course("0.80:0.2", "x").written == course((0.8, 0.2), "x").written == "0.8:0.2"
    assert course("1", "x").written == course("1:1", "x").written == 1.0
    assert Settings(plain_share="1") == Settings()
