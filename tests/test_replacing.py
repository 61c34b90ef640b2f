"""A replacement keeps the size exactly, whatever the topics; an addition loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.errors import InputError, SettingError
from obverse.mix import append, replace
from obverse.mix.replacing import GAVE_WAY, MADE_ROOM
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops

DOCS = (Doc("a", "one"), Doc("b", "two"))


def _topic(name: str, *views: str, query: str | None = None) -> Topic:
    made = (View(text, {"a": Label.POSITIVE, "b": Label.NEGATIVE}) for text in views)
    return Topic(name, query or f"query of {name}", DOCS, tuple(made))


def _views(topics: list[Topic]) -> int:
    return sum(len(topic.views) for topic in topics)


ONE_SIDED = [_topic(f"t{n}", "keep") for n in range(21)]
TWO_SIDED = [_topic(f"t{n}", "keep", "swap") for n in range(21)]
PLAIN = [_topic(f"t{n}", "", "keep") for n in range(21)]


def test_one_sided_rows_become_two_sided_rows_over_half_the_queries() -> None:
    made = replace(ONE_SIDED, TWO_SIDED)
    assert _views(made.topics) == 21
    assert sorted(len(topic.views) for topic in made.topics) == [1] + [2] * 10
    assert len(made.swaps) == len(made.made_room) == 10
    assert [
        t.topic_id for t in ONE_SIDED if t in made.topics or t.topic_id in _ids(made.topics)
    ] == [t.topic_id for t in made.topics]


def _ids(topics: list[Topic]) -> set[str]:
    return {topic.topic_id for topic in topics}


def test_plain_rows_become_reversed_rows_of_the_same_queries() -> None:
    made = replace(PLAIN, TWO_SIDED)
    assert made.topics == TWO_SIDED
    assert not made.made_room
    assert [v.instruction for v in made.swaps[0].taken] == [""]
    assert [v.instruction for v in made.swaps[0].given] == ["swap"]
    drops = Drops()
    made.note(drops)
    assert drops.by_reason == {GAVE_WAY: 21}


def test_topics_without_a_counterpart_make_room_first() -> None:
    base = [*ONE_SIDED[:4], _topic("alone", "x", "y"), _topic("apart", "x", "y")]
    made = replace(base, TWO_SIDED)
    assert {topic.topic_id for topic in made.made_room} == {"alone", "apart"}
    assert (_views(made.topics), len(made.swaps), made.unused) == (8, 4, 17)
    drops = Drops()
    made.note(drops)
    assert drops.by_reason == {MADE_ROOM: 4}


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4)), min_size=1, max_size=25),
    st.integers(0, 3),
    st.floats(0.01, 1.0),
)
def test_the_number_of_views_never_changes(
    counts: list[tuple[int, int]], seed: int, part: float
) -> None:
    base = [_topic(f"t{n}", *(f"b{v}" for v in range(b))) for n, (b, _) in enumerate(counts)]
    other = [_topic(f"t{n}", *(f"o{v}" for v in range(o))) for n, (_, o) in enumerate(counts) if o]
    try:
        made = replace(base, other, seed=seed, part=part)
    except SettingError:
        return
    assert _views(made.topics) == _views(base)
    assert len(_ids(made.topics)) == len(made.topics)
    gone = {topic.topic_id for topic in made.made_room}
    assert _ids(made.topics) == _ids(base) - gone
    assert not gone & {swap.old.topic_id for swap in made.swaps}
    whole = replace(base, other, seed=seed)
    assert {s.by for s in made.swaps} <= {s.by for s in whole.swaps}


def test_a_part_is_drawn_by_the_seed_and_ignores_the_order() -> None:
    half = replace(PLAIN, TWO_SIDED, part=0.5, seed=1)
    assert len(half.swaps) == 10
    assert half.kept == 11
    turned = replace(PLAIN[::-1], TWO_SIDED[::-1], part=0.5, seed=1)
    assert turned.topics[::-1] == half.topics
    assert replace(PLAIN, TWO_SIDED, part=0.5, seed=2).topics != half.topics


def test_the_size_can_stay_equal_in_topics() -> None:
    made = replace(ONE_SIDED, TWO_SIDED, unit="topics")
    assert made.topics == TWO_SIDED


def test_a_counterpart_is_found_by_query_and_the_id_stays() -> None:
    other = [_topic("z", "", "swap", query="Query of  T3")]
    made = replace(PLAIN, other, match="query")
    assert [(swap.old.topic_id, swap.new.topic_id, swap.by) for swap in made.swaps] == [
        ("t3", "t3", "z")
    ]


def test_any_topics_come_for_as_many_views_of_any_others() -> None:
    plain = [_topic(f"new{n}", "") for n in range(9)]
    made = replace(TWO_SIDED, plain, match="any")
    assert _views(made.topics) == 42
    assert (len(made.came), len(made.made_room), len(made.topics), made.unused) == (8, 4, 25, 1)
    half = replace(TWO_SIDED, plain, match="any", part=0.5)
    assert (len(half.came), len(half.made_room)) == (4, 2)
    assert _ids(half.came) < _ids(made.came)
    as_many = replace(TWO_SIDED, plain, match="any", unit="topics")
    assert (len(as_many.topics), _views(as_many.topics)) == (21, 33)
    drops = Drops()
    made.note(drops)
    assert drops.by_reason == {MADE_ROOM: 8}
    with pytest.raises(SettingError, match="no topics of the other set come to as many views"):
        replace(TWO_SIDED, ONE_SIDED, match="any")


def test_what_cannot_be_replaced_is_refused() -> None:
    with pytest.raises(SettingError, match="no topic of the base can give way"):
        replace(ONE_SIDED, ONE_SIDED)
    with pytest.raises(SettingError, match="at an equal number of views"):
        replace(ONE_SIDED[:1], TWO_SIDED)
    with pytest.raises(SettingError, match="the part is 0"):
        replace(ONE_SIDED, TWO_SIDED, part=0)
    with pytest.raises(SettingError, match="cannot match by 'doc'"):
        replace(ONE_SIDED, TWO_SIDED, match="doc")
    with pytest.raises(InputError, match="has another query in the other set"):
        replace(ONE_SIDED, [_topic("t1", "x", query="else")])
    with pytest.raises(InputError, match="has the query of topic t0 in the base"):
        replace([*ONE_SIDED, _topic("again", "x", query="query of t0")], TWO_SIDED, match="query")


def test_an_addition_brings_new_views_and_new_topics() -> None:
    made = append(PLAIN[:2], [*TWO_SIDED[1:3]])
    assert [(t.topic_id, [v.instruction for v in t.views]) for t in made] == [
        ("t0", ["", "keep"]),
        ("t1", ["", "keep", "swap"]),
        ("t2", ["keep", "swap"]),
    ]
    by_query = append(PLAIN[:1], [_topic("z", "swap", query="query of t0")], match="query")
    assert [(t.topic_id, len(t.views)) for t in by_query] == [("t0", 3)]
    with pytest.raises(InputError, match="the id stands for another query"):
        append(PLAIN[:1], [_topic("t0", "x", query="else")], match="query")
