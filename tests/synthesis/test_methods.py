"""What the methods make of answers, good and bad."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from canned import drive, method_named, topic_of

from obverse.records import Doc, Label, Topic, View
from obverse.sampling import rng_for
from obverse.synthesis import METHODS
from obverse.synthesis.dialogue import Rejected, Skip

P, D, N, X = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE, Label.IGNORE
TOPIC = topic_of("Brand new bike.", "Used bike, 21 gears.", "Bike helmet.", "Another new bike.")


def classified(*verdicts: str, ideas: dict[int, str] | None = None, confirmed: bool = True) -> str:
    rows = [
        {"document": n, "verdict": v, "instruction": (ideas or {}).get(n, "")}
        for n, v in enumerate(verdicts, start=2)
    ]
    return json.dumps({"positive_confirmed": confirmed, "documents": rows})


def pair(keep: Any = "Unused only.", promote: Any = "I buy second-hand.", **also: list[int]) -> str:
    return json.dumps(
        {
            "keep_instruction": keep,
            "promote_instruction": promote,
            "also_satisfy_keep": also.get("keep", []),
            "also_satisfy_promote": also.get("promote", []),
        }
    )


def test_every_name_of_the_table_is_a_method() -> None:
    for name in METHODS:
        assert method_named(name).__name__ == name
        assert method_named(name).__doc__


def test_natural_dual_view_labels() -> None:
    replies = {"classify": classified("convertible", "other", "false_negative"), "instruct": pair()}
    made = drive("natural_dual_view", TOPIC, replies)
    assert [list(view.labels.values()) for view in made.views] == [
        [P, N, N, X],
        [P, D, N, X],
        [D, P, N, N],
    ]
    assert [view.origin["side"] for view in made.views[1:]] == ["keep", "promote"]


def test_others_that_satisfy_are_never_negatives() -> None:
    replies = {
        "classify": classified("convertible", "other", "false_negative"),
        "instruct": json.dumps(
            {**json.loads(pair()), "also_satisfy_keep": [3], "also_satisfy_promote": [3, 4]}
        ),
    }
    made = drive("natural_dual_view", TOPIC, replies)
    assert list(made.views[1].labels.values()) == [P, D, X, X]
    assert list(made.views[2].labels.values()) == [D, P, X, X]


def test_promoted_negative_ignores_false_negatives_and_other_convertibles() -> None:
    replies = {
        "classify": classified(
            "convertible", "convertible", "false_negative", ideas={2: "Used only."}
        ),
        "promote": '{"instruction": "I buy second-hand.", "also_satisfy": [3]}',
    }
    made = drive("promoted_negative", TOPIC, replies)
    assert [list(view.labels.values()) for view in made.views] == [[P, N, N, X], [D, P, X, N]]


def test_a_second_method_keeps_the_numbers_and_the_labels() -> None:
    replies = {
        "classify": classified("convertible", "other", "false_negative"),
        "promote": '{"instruction": "Nothing unused.", "also_satisfy": []}',
        "instruct": pair(),
    }
    once = drive("natural_dual_view", TOPIC, replies)
    after = drive("natural_dual_view", drive("promoted_negative", TOPIC, replies), replies)
    assert [v.labels for v in after.views if v.origin.get("method") != "promoted_negative"] == [
        v.labels for v in once.views
    ]


def test_the_positive_can_stand_anywhere() -> None:
    docs = (Doc("x", "Used bike."), Doc("a", "New bike."), Doc("y", "Helmet."))
    topic = Topic("t", "bike", docs, (View("", {"x": N, "a": P, "y": N}),))
    replies = {
        "classify": json.dumps(
            {
                "positive_confirmed": True,
                "documents": [
                    {"document": 1, "verdict": "convertible"},
                    {"document": 3, "verdict": "other"},
                ],
            }
        ),
        "instruct": pair(),
    }
    made = drive("natural_dual_view", topic, replies)
    assert dict(made.views[1].labels) == {"x": D, "a": P, "y": N}
    assert dict(made.views[2].labels) == {"x": P, "a": D, "y": N}


def test_other_positives_are_ignored_under_instructions() -> None:
    topic = TOPIC.with_views([View("", {"a": P, "b": N, "c": N, "d": P})])
    replies = {
        "classify": json.dumps(
            {
                "positive_confirmed": True,
                "documents": [
                    {"document": 2, "verdict": "convertible"},
                    {"document": 3, "verdict": "other"},
                ],
            }
        ),
        "instruct": pair(),
    }
    made = drive("natural_dual_view", topic, replies)
    assert [list(view.labels.values()) for view in made.views] == [
        [P, N, N, P],
        [P, D, N, X],
        [D, P, N, X],
    ]


@pytest.mark.parametrize("method", ["promoted_negative", "natural_dual_view", "dual_view"])
@pytest.mark.parametrize(
    ("topic", "classify", "reason"),
    [
        (topic_of("Only one."), "", "no own negative"),
        (topic_of("Same text.", " same  TEXT."), "", "no own negative"),
        (topic_of(" ", "Other."), "", "no positive with a text"),
        (
            replace(TOPIC, views=(View("", dict.fromkeys("abcd", N) | {"a": P}),)),
            "none",
            "no convertible negative",
        ),
        (TOPIC, "unconfirmed", "the positive does not answer the query"),
    ],
)
def test_skips(method: str, topic: Topic, classify: str, reason: str) -> None:
    replies = {
        "classify": classified(
            "other", "other", "false_negative", confirmed=classify != "unconfirmed"
        )
    }
    with pytest.raises(Skip, match=reason):
        drive(method, topic, replies)


def test_declining_is_honoured() -> None:
    replies = {
        "classify": classified("convertible", "other", "other"),
        "instruct": pair(None, None),
        "promote": '{"instruction": null, "also_satisfy": []}',
        "reverse": '{"new_instruction": null}',
    }
    keep = View("New only.", {"a": P, "b": D, "c": N, "d": N})
    for method, topic in (
        ("natural_dual_view", TOPIC),
        ("promoted_negative", TOPIC),
        ("dual_view", TOPIC.with_views([*TOPIC.views, keep])),
    ):
        with pytest.raises(Rejected) as caught:
            drive(method, topic, replies)
        assert caught.value.code == "model-declined"


@pytest.mark.parametrize(
    ("replies", "code"),
    [
        ({"classify": classified("convertible", "other")}, "wrong-documents"),
        ({"classify": classified("convertible", "other", "other", "other")}, "wrong-documents"),
        ({"instruct": pair(keep=" None.")}, "model-declined"),
        ({"instruct": json.dumps({**json.loads(pair()), "lever": "colour"})}, "other-lever"),
        ({"instruct": pair(keep="Choose document 2.")}, "refers-to-passages"),
        ({"instruct": pair(keep="Used bike, 21 gears.")}, "copies-passage"),
        ({"instruct": pair(keep="I buy second-hand")}, "same-as-original"),
        (
            {"instruct": json.dumps({**json.loads(pair()), "also_satisfy_keep": [9]})},
            "wrong-documents",
        ),
        (
            {"instruct": json.dumps({**json.loads(pair()), "also_satisfy_promote": [1]})},
            "contradiction",
        ),
    ],
)
def test_wrong_answers_are_rejected(replies: dict[str, str], code: str) -> None:
    good = {"classify": classified("convertible", "other", "other"), "instruct": pair()}
    drive("natural_dual_view", TOPIC, good)
    with pytest.raises(Rejected) as caught:
        drive("natural_dual_view", TOPIC, good | replies)
    assert caught.value.code == code


def test_reversal_verifies_the_remaining_instruction_negatives() -> None:
    keep = View("New only.", {"a": P, "b": D, "c": D, "d": N})
    topic = TOPIC.with_views([*TOPIC.views, keep])
    promoted = _chosen(topic)
    other = "c" if promoted == "b" else "b"
    number = {"b": 2, "c": 3}
    reply = {"reverse": '{"new_instruction": "I buy second-hand."}'}
    (view,) = drive(
        "dual_view", topic, reply | {"verify": json.dumps({"satisfying": [number[promoted]]})}
    )
    assert dict(view.labels) == {"a": D, promoted: P, other: N, "d": N}
    both = json.dumps({"satisfying": [2, 3]})
    (view,) = drive("dual_view", topic, reply | {"verify": both})
    assert view.labels[other] == X
    for satisfying, code in (([1, number[promoted]], "not-reversed"), ([], "not-satisfied")):
        with pytest.raises(Rejected) as caught:
            drive("dual_view", topic, reply | {"verify": json.dumps({"satisfying": satisfying})})
        assert caught.value.code == code


def _chosen(topic: Topic) -> str:
    asked: list[Any] = []
    with pytest.raises(KeyError):
        drive("dual_view", topic, {}, asked)
    return "b" if "document 2 is on topic but ruled out" in asked[0].user else "c"


def test_reversal_of_a_finished_pair_is_skipped() -> None:
    keep = View("New only.", {"a": P, "b": D, "c": N, "d": N})
    back = View("Used only.", {"a": D, "b": P, "c": N, "d": N})
    with pytest.raises(Skip, match="has its reversal"):
        drive("dual_view", TOPIC.with_views([*TOPIC.views, keep, back]), {})
    bare = View("Any.", {"a": P, "b": N, "c": N, "d": N})
    with pytest.raises(Skip, match="no instruction negative"):
        drive("dual_view", TOPIC.with_views([*TOPIC.views, bare]), {})


def test_chance_depends_on_the_topic_alone() -> None:
    def question(seed: int) -> str:
        asked: list[Any] = []
        replies = {"classify": classified("convertible", "other", "other"), "instruct": pair()}
        drive("natural_dual_view", TOPIC, replies, asked, seed=seed)
        return str(asked[1].user)

    assert question(0) == question(0)
    assert len({question(seed) for seed in range(10)}) > 5


def test_levers_follow_the_quotas() -> None:
    from obverse.synthesis.levers import LEVERS, QUOTAS, draw_levers

    assert QUOTAS.keys() == LEVERS.keys() and sum(QUOTAS.values()) == pytest.approx(1)
    first = [draw_levers(rng_for(0, n))[0] for n in range(4_000)]
    for lever, share in QUOTAS.items():
        assert first.count(lever) / 4_000 == pytest.approx(share, abs=0.025)
    assert all(len(set(draw_levers(rng_for(1, n)))) == 3 for n in range(50))


def test_copies_of_the_positive_are_never_negatives() -> None:
    topic = topic_of("Brand new bike.", "Used bike, 21 gears.", " brand  NEW bike. ", " ")
    judged = json.dumps(
        {"positive_confirmed": True, "documents": [{"document": 2, "verdict": "convertible"}]}
    )
    replies = {
        "classify": judged,
        "instruct": pair(),
        "promote": '{"instruction": "I buy second-hand.", "also_satisfy": []}',
        "reverse": '{"new_instruction": "I buy second-hand."}',
    }
    made = drive("natural_dual_view", topic, replies)
    assert [list(view.labels.values()) for view in made.views] == [
        [P, N, X, X],
        [P, D, X, X],
        [D, P, X, X],
    ]
    made = drive("promoted_negative", topic, replies)
    assert [list(view.labels.values()) for view in made.views] == [[P, N, X, X], [D, P, X, X]]
    keep = View("New only.", {"a": P, "b": D, "c": N, "d": N})
    (view,) = drive("dual_view", topic.with_views([*topic.views, keep]), replies)
    assert list(view.labels.values()) == [D, P, X, X]
