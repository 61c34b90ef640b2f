"""Can rules stand in for a language model? Checkable views against the teacher's, on the same topics and on others.

It takes up an open question of Zeng et al. (2026), *Dual-View Training for Instruction-Following Information
Retrieval*, https://arxiv.org/abs/2604.18845.
"""

from __future__ import annotations

from dataclasses import replace

from obverse.benchmarks.benchmark import Benchmark
from obverse.benchmarks.topics import benchmark_of_topics
from obverse.recipes.dual_view import FULL, SMALL
from obverse.recipes.recipe import Arm, Pair, Recipe
from obverse.recipes.sides import drawn, kept, plain, turned, with_sides
from obverse.recipes.source import Source
from obverse.records import Topic
from obverse.stages import Drops
from obverse.synthesis.checkable import checkable_views

TIMES = 3
"""How many times as many topics the larger set out of the corpus has: rules cost nothing."""


def ruled(source: Source) -> list[Topic]:
    """Returns the two-sided topics with checkable views instead of the teacher's, where there are any."""
    bare = [topic.with_views([v for v in topic.views if v.is_plain]) for topic in source.two_sided]
    return [topic for topic in checkable_views()(bare, Drops()) if len(topic.instructed_views) == 2]


def _common(source: Source) -> list[Topic]:
    names = {topic.topic_id for topic in ruled(source)}
    return [topic for topic in source.two_sided if topic.topic_id in names]


def teacher(source: Source, seed: int) -> list[Topic]:
    """Returns the teacher's two views of each topic."""
    return with_sides(_common(source), kept, turned)


def rules(source: Source, seed: int) -> list[Topic]:
    """Returns two checkable views of the same topics."""
    return [topic.with_views(topic.instructed_views) for topic in ruled(source)]


def half_and_half(source: Source, seed: int) -> list[Topic]:
    """Returns the teacher's views of half of the topics, checkable ones of the other half."""
    by_teacher = teacher(source, seed)
    chosen = drawn(by_teacher, len(by_teacher) // 2, seed, "half")
    names = {topic.topic_id for topic in chosen}
    return chosen + [topic for topic in rules(source, seed) if topic.topic_id not in names]


def from_corpus(source: Source, seed: int) -> list[Topic]:
    """Returns as many topics made by rules out of the corpus alone: no query, no judgement, no model."""
    topics = source.checkable_topics(TIMES * len(source.two_sided))
    return _instructed(drawn(topics, len(_common(source)), seed, "corpus"))


def from_corpus_more(source: Source, seed: int) -> list[Topic]:
    """Returns several times as many of them."""
    return _instructed(source.checkable_topics(TIMES * len(source.two_sided)))


def both(source: Source, seed: int) -> list[Topic]:
    """Returns the teacher's views of every topic, and as many topics out of the corpus."""
    return teacher(source, seed) + from_corpus(source, seed)


def _instructed(topics: list[Topic]) -> list[Topic]:
    return [topic.with_views(topic.instructed_views) for topic in topics]


def plain_rows(source: Source, seed: int) -> list[Topic]:
    """Returns the plain views of the same topics."""
    return with_sides(_common(source), plain)


def held_out_by_rules(source: Source) -> Benchmark:
    """Returns the benchmark's topics with checkable instructions in the place of the teacher's."""
    topics = []
    for topic in source.held_out:
        view = topic.plain_view
        if view is not None:
            docs = tuple(source.corpus[doc_id] for doc_id in view.labels)
            topics.append(replace(topic, docs=docs, views=(view,)))
    made = [
        topic for topic in checkable_views()(topics, Drops()) if len(topic.instructed_views) == 2
    ]
    return benchmark_of_topics(made, source.corpus, name="checkable-held-out")


_WORSE = {"p_mrr": -1, "flip_rate": -1}
RECIPE = Recipe(
    name="checkable",
    says="Can rules stand in for a language model as the source of instructions?",
    full=36_306,
    full_says="triples before cleaning",
    two_sided=False,
    arms=(
        Arm("teacher", "the teacher's dual views", teacher),
        Arm("rules", "checkable dual views of the same topics", rules),
        Arm("half and half", "half of the topics each", half_and_half),
        Arm("rules, corpus", "as many topics out of the corpus alone", from_corpus),
        Arm("rules, corpus x3", "several times as many of them", from_corpus_more),
        Arm("teacher and rules", "the teacher's, and as many out of the corpus", both),
        Arm("plain", "the topics without instructions", plain_rows, steps_of="teacher"),
    ),
    pairs=(
        Pair("rules", "base", matched=False, expected={"p_mrr": 1}, says="rules teach obeying"),
        Pair("rules", "plain", matched=False, expected={"p_mrr": 1}, says="more than plain rows"),
        Pair("rules", "teacher", expected=_WORSE, says="a teacher's views do more"),
        Pair("half and half", "teacher", expected=_WORSE, says="half of them is less"),
        Pair("rules, corpus", "teacher", expected=_WORSE, says="so without queries, too"),
        Pair(
            "rules, corpus x3",
            "rules, corpus",
            matched=False,
            expected={"p_mrr": 1},
            says="more rules help",
        ),
        Pair(
            "teacher and rules",
            "teacher",
            matched=False,
            expected={"p_mrr": 1},
            says="rules help beside a teacher",
        ),
    ),
    settings=SMALL,
    full_settings=FULL | {"batch_rows": 64},
    benchmarks=("instructir", "followir", "infosearch:length", "infosearch:keyword", "mair:IFEval"),
    reasons=("both papers leave the question open",),
    limits=(
        "The held-out topics by rules ask for what the rules of the training ask for: words, lengths, years, headings.",
        "The teacher-written held-out topics are the teacher's home: rules are measured away from theirs.",
    ),
    more=(held_out_by_rules,),
)
