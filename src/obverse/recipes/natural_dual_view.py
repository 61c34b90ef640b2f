"""Natural dual views: two instructions on real documents, against either side alone at equal size."""

from __future__ import annotations

from obverse.recipes.dual_view import FULL, SMALL
from obverse.recipes.recipe import Arm, Pair, Recipe
from obverse.recipes.sides import drawn, kept, plain, turned, with_sides
from obverse.recipes.source import Source
from obverse.records import Topic


def even(source: Source) -> list[Topic]:
    """Returns the two-sided topics, an even number of them."""
    return drawn(source.two_sided, max(2, len(source.two_sided) // 2 * 2), 0, "even")


def keeping(source: Source, seed: int) -> list[Topic]:
    """Returns one row a topic: the instruction that keeps the positive."""
    return with_sides(even(source), kept)


def promoting(source: Source, seed: int) -> list[Topic]:
    """Returns one row a topic: the instruction that promotes a negative."""
    return with_sides(even(source), turned)


def mixed(source: Source, seed: int) -> list[Topic]:
    """Returns one row a topic: half of the topics with one side, half with the other."""
    topics = even(source)
    first = {topic.topic_id for topic in drawn(topics, len(topics) // 2, seed, "mixed")}
    return [
        row
        for topic in topics
        for row in with_sides([topic], kept if topic.topic_id in first else turned)
    ]


def two_sided(source: Source, seed: int) -> list[Topic]:
    """Returns both rows of half of the topics."""
    topics = even(source)
    return with_sides(drawn(topics, len(topics) // 2, seed, "two-sided"), kept, turned)


def both_appended(source: Source, seed: int) -> list[Topic]:
    """Returns both rows of all topics."""
    return with_sides(even(source), kept, turned)


def with_plain(source: Source, seed: int) -> list[Topic]:
    """Returns both rows and the plain one of all topics."""
    return with_sides(even(source), plain, kept, turned)


_BETTER = {"p_mrr": 1, "flip_rate": 1}
RECIPE = Recipe(
    name="natural-dual-view",
    says="Both sides of a natural pair, against one side alone at equal size, and what plain rows beside them do.",
    full=36_306,
    full_says="triples before cleaning",
    two_sided=False,
    arms=(
        Arm("keep", "the side that keeps the positive", keeping),
        Arm("promote", "the side that promotes a negative", promoting),
        Arm("one side each", "half the topics one side, half the other", mixed),
        Arm("both, replaced", "both sides of half of the topics", two_sided),
        Arm("both, appended", "both sides of all topics", both_appended),
        Arm("both and plain", "the plain view beside them", with_plain),
    ),
    pairs=(
        Pair("both, replaced", "keep", expected=_BETTER, says="both sides beat the keeping side"),
        Pair(
            "both, replaced", "promote", expected=_BETTER, says="both sides beat the promoting side"
        ),
        Pair(
            "both, replaced",
            "one side each",
            expected=_BETTER,
            says="two sides of one topic beat sides spread over twice the topics",
        ),
        Pair(
            "both, appended",
            "both, replaced",
            matched=False,
            expected=_BETTER,
            says="more topics help",
        ),
        Pair(
            "both and plain",
            "both, appended",
            matched=False,
            expected={"p_mrr": -1, "guard_ndcg@10": 1},
            says="plain rows dilute instructions and hold plain retrieval",
        ),
    ),
    settings=SMALL,
    full_settings=FULL | {"batch_rows": 64},
    benchmarks=("instructir", "followir", "msmarco"),
    reasons=("nothing was published on natural dual views",),
    limits=("Training and held-out topics are claims of one collection with one teacher.",),
)
