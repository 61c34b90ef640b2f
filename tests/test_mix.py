"""Sets have the exact size asked for, whatever the order of what they are drawn from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obverse.errors import InputError, SettingError
from obverse.mix import largest_remainder, mix
from obverse.records import Doc, Label, Topic, View


def _topics(name: str, count: int, method: str | None = None) -> list[Topic]:
    return [
        Topic(
            f"{name}-{n}",
            f"query {n}",
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
