"""What keeps plain retrieval while instructions are learnt: a front of instruction gain against plain loss."""

from __future__ import annotations

from typing import Any

from obverse.recipes.dual_view import FULL, SMALL
from obverse.recipes.recipe import Arm, Pair, Recipe
from obverse.recipes.sides import kept, plain, turned, with_sides
from obverse.recipes.source import Source
from obverse.records import Topic


def dual_and_plain(source: Source, seed: int) -> list[Topic]:
    """Returns every two-sided topic with all three views; ``plain_share`` decides which plain ones come along."""
    return with_sides(source.two_sided, plain, kept, turned)


def dual(source: Source, seed: int) -> list[Topic]:
    """Returns every two-sided topic with its instructed views alone."""
    return with_sides(source.two_sided, kept, turned)


def _with_plain(name: str, says: str, **settings: Any) -> Arm:
    return Arm(name, says, dual_and_plain, settings)


WHOLE = {"freeze_docs": False, "pool_negatives": 300, "negatives": 3, "learning_rate": 5e-5}
REFERENCE = "plain 1"

RECIPE = Recipe(
    name="retention",
    says="What keeps plain retrieval while instructions are learnt?",
    full=36_306,
    full_says="triples before cleaning",
    two_sided=False,
    matched_by="instructed views",
    development=70,
    arms=(
        Arm("plain 0", "instructed views alone", dual),
        _with_plain("plain 0.5", "half of the topics bring their plain view", plain_share=0.5),
        _with_plain(REFERENCE, "every topic brings its plain view"),
        _with_plain("plain first", "plain views in the first half alone", plain_share="1:0"),
        _with_plain("plain last", "plain views in the last half alone", plain_share="0:1"),
        _with_plain("keep-close 3", "plain queries held near the base", keep_close=3.0),
        _with_plain("keep-close 10", "held nearer", keep_close=10.0),
        _with_plain("rate / 4", "a quarter of the learning rate", learning_rate=1.5e-5),
        _with_plain("rate x 3", "three times the learning rate", learning_rate=1.8e-4),
        Arm("average 0.5", "instructed alone, then halfway back", dual, {"average": 0.5}),
        _with_plain(
            "demo", "keep-close 10 and a margin", keep_close=10.0, margin_weight=10.0, margin=0.15
        ),
        _with_plain("whole encoder", "documents are trained too", **WHOLE),
    ),
    pairs=(
        Pair(
            REFERENCE,
            "plain 0",
            expected={"guard_ndcg@10": 1, "p_mrr": -1},
            says="plain rows hold plain retrieval and cost p-MRR",
        ),
        Pair(
            "keep-close 10",
            REFERENCE,
            expected={"guard_ndcg@10": 1},
            says="keep-close holds plain retrieval",
        ),
        Pair("average 0.5", "plain 0", expected={"guard_ndcg@10": 1}, says="so does averaging"),
        Pair("rate x 3", REFERENCE, expected={"p_mrr": 1}, says="a higher rate obeys more"),
        Pair(
            "rate / 4",
            REFERENCE,
            expected={"p_mrr": -1, "guard_ndcg@10": 1},
            says="a lower one obeys less and holds more",
        ),
        Pair("demo", REFERENCE, expected={"p_mrr": 1}, says="the demo's settings obey more"),
    ),
    settings=SMALL,
    full_settings=FULL | {"batch_rows": 64},
    benchmarks=("beir",),
    reasons=("neither paper reports plain-retrieval sets",),
    limits=(
        "Plain rows come from the collection that the guard searches: it can rise above the base. Another collection "
        "(--on beir=FOLDER) tells forgetting from learning.",
    ),
)
