"""Sets have the exact size asked for, whatever the order of what they are drawn from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.errors import InputError, SettingError
from obverse.mix import Tally, cut_views, kind_of, largest_remainder, mix, token_counter
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops


def _topics(name: str, count: int, method: str | None = None) -> list[Topic]:
    return [
        Topic(
            f"{name}-{n}",
            f"query {name} {n}",
            (Doc("p", f"good {name} {n}"), Doc("n", "bad")),
            (
                View("", {"p": Label.POSITIVE, "n": Label.NEGATIVE}),
                *([View("only x", {"p": Label.POSITIVE}, {"method": method})] if method else []),
            ),
        )
        for n in range(count)
    ]


@given(
    st.integers(0, 500),
    st.lists(st.floats(0.0, 10.0), min_size=1, max_size=6).filter(lambda w: sum(w) > 0.1),
)
def test_shares_add_up_and_are_within_one_of_exact(total: int, weights: list[float]) -> None:
    named = {str(n): w for n, w in enumerate(weights)}
    counts = largest_remainder(total, named)
    assert sum(counts.values()) == total
    for name, weight in named.items():
        assert abs(counts[name] - total * weight / sum(weights)) < 1


def test_equal_remainders_go_to_the_earlier_source() -> None:
    assert largest_remainder(1, {"a": 1.0, "b": 1.0}) == {"a": 1, "b": 0}


def test_the_set_has_the_shares_and_ignores_the_order_of_its_sources() -> None:
    a, b = _topics("a", 30), _topics("b", 30)
    first = mix({"a": a, "b": b}, size=20, shares={"a": 3, "b": 1}, seed=1)
    again = mix({"a": a[::-1], "b": b[::-1]}, size=20, shares={"a": 3, "b": 1}, seed=1)
    assert first == again
    assert sum(t.topic_id.startswith("a") for t in first) == 15
    assert first != mix({"a": a, "b": b}, size=20, shares={"a": 3, "b": 1}, seed=2)


def test_a_larger_set_of_the_same_seed_holds_the_smaller_one() -> None:
    topics = {"a": _topics("a", 50)}
    small = {t.topic_id for t in mix(topics, size=10)}
    assert small < {t.topic_id for t in mix(topics, size=20)}


def test_a_source_that_is_too_small_is_an_error() -> None:
    with pytest.raises(SettingError, match="should give 10 topics and holds 3"):
        mix({"a": _topics("a", 3)}, size=10)


def test_the_same_topic_in_two_sources_is_an_error() -> None:
    with pytest.raises(InputError, match="stands in a too"):
        mix({"a": _topics("x", 3), "b": _topics("x", 3)})


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 40), min_size=1),
    st.lists(st.integers(0, 5), min_size=3, max_size=3),
)
def test_shares_without_a_size_make_the_largest_set_of_those_shares(
    held: dict[str, int], weights: list[int]
) -> None:
    shares = dict(zip(held, weights, strict=False))
    if not sum(shares.values()):
        return
    made = mix({name: _topics(name, count) for name, count in held.items()}, shares=shares)
    found = {name: sum(t.topic_id.startswith(name) for t in made) for name in held}
    assert found == largest_remainder(len(made), shares)
    larger = largest_remainder(len(made) + 1, shares)
    assert any(larger[name] > held[name] for name in held)


def test_a_size_in_views_is_exact_with_topics_of_one_and_two_views() -> None:
    sources = {"one": _topics("one", 30), "two": _topics("two", 30, method="m")}
    made = mix(sources, size=42, unit="views", shares={"one": 2, "two": 1})
    assert sum(len(t.views) for t in made if t.topic_id.startswith("one")) == 28
    with pytest.raises(SettingError, match="do not add up to 15 views; 14"):
        mix({"two": sources["two"]}, size=15, unit="views")


@pytest.mark.parametrize("unit", ["views", "queries", "documents", "tokens"])
def test_a_cap_holds_and_is_shared_out(unit: str) -> None:
    sources = {"a": _topics("a", 40, method="m"), "b": _topics("b", 40, method="m")}
    drops = Drops()
    made = mix(sources, caps={unit: 48}, shares={"a": 3, "b": 1}, drops=drops)
    tally = Tally(token_counter())
    for topic in made:
        tally.add(topic)
    whole = Tally(token_counter())
    whole.add(sources["a"][0])
    assert 48 - 3 * getattr(whole, unit) < getattr(tally, unit) <= 48
    assert drops.by_reason == {f"over the cap on {unit}": 80 - len(made)}
    more = mix(sources, caps={unit: 49}, shares={"a": 3, "b": 1})
    assert {t.topic_id for t in made} <= {t.topic_id for t in more}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"size": 0}, "the size is 0"),
        ({"caps": {"views": 0}}, "the cap on views is 0"),
        ({"caps": {"words": 5}}, "no cap on 'words'"),
        ({"caps": {"tokens": 1}}, "no topic is left"),
        ({"size": 5, "unit": "queries"}, "cannot be in 'queries'"),
        ({"shares": {"a": -1.0}}, "weights should be 0 or more"),
        ({"shares": {"a": float("nan")}}, "weights should be 0 or more"),
        ({"shares": {"x": 1.0}}, "shares are given for 1 sources and there are 1"),
    ],
)
def test_what_makes_no_sense_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        mix({"a": _topics("a", 5)}, **settings)


def test_tokens_are_words_marks_and_single_characters_where_there_are_no_blanks() -> None:
    assert token_counter()("Second-hand bikes, red.") == 7
    assert token_counter()("\u4e8c\u624b bike") == 3


def test_kinds_are_told_by_labels_and_stay_when_the_plain_view_is_cut() -> None:
    topic = _dual("t")
    assert [kind_of(topic, view) for view in topic.views] == ["plain", "original", "reversed"]
    (alone,) = cut_views([topic], ["reversed"])
    assert [kind_of(alone, view) for view in alone.views] == ["reversed"]
    named = View("x", {"n": Label.POSITIVE}, {"side": "promote"})
    assert kind_of(topic.with_views([named]), named) == "reversed"


def test_cut_sets_are_over_the_same_queries_and_what_lacks_a_kind_is_noted() -> None:
    topics = [_dual("a"), _dual("b"), *_topics("plain", 2)]
    drops = Drops()
    both = list(cut_views(topics, ["original", "reversed"], drops=drops))
    one = list(cut_views(topics, ["original"]))
    assert [t.topic_id for t in both] == [t.topic_id for t in one] == ["a", "b"]
    assert drops.by_reason == {"has no original view": 2}
    either = list(cut_views(topics, ["plain", "original"], whole=False))
    assert [len(t.views) for t in either] == [2, 2, 1, 1]


def test_one_view_of_each_topic_is_drawn_now_from_this_side_now_from_that() -> None:
    topics = [_dual(f"t{n}") for n in range(60)]
    made = list(cut_views(topics, ["instructed"], per_topic=1, seed=3))
    sides = [kind_of(topic, topic.views[0]) for topic in made]
    assert 15 < sides.count("original") < 45
    assert made[::-1] == list(cut_views(topics[::-1], ["instructed"], per_topic=1, seed=3))
    assert not list(cut_views(topics, ["reversed"], per_topic=2))


def test_kinds_that_are_none_are_refused_before_a_topic_is_read() -> None:
    with pytest.raises(SettingError, match="no kind of views 'promoted'"):
        cut_views([], ["promoted"])
    with pytest.raises(SettingError, match="0 views each"):
        cut_views([], ["plain"], each=0)


def _dual(name: str) -> Topic:
    good, out, bad = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE
    return Topic(
        name,
        f"query of {name}",
        (Doc("p", f"good {name}"), Doc("n", f"other {name}")),
        (
            View("", {"p": good, "n": bad}),
            View("keep", {"p": good, "n": out}, {"method": "m", "lever": "l"}),
            View("swap", {"p": out, "n": good}, {"method": "m", "lever": "l"}),
        ),
    )


def test_a_cut_that_leaves_nothing_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    from obverse.files import write_topics
    from obverse.stages import run_stage, some_left

    view = View("", {"a": Label.POSITIVE})
    topics = tmp_path / "topics.jsonl"
    write_topics(topics, [Topic("t", "q", (Doc("a", "A."),), (view,))])
    with pytest.raises(InputError, match=r"no topic is left \(1 has no reversed view\)"):
        run_stage(
            "cut",
            lambda came, drops: some_left(cut_views(came, ["reversed"], drops=drops), drops, "-"),
            topics,
            tmp_path / "out.jsonl",
        )
    assert not (tmp_path / "out.jsonl").exists()
