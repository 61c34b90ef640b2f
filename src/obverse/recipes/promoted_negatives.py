"""Promoted negatives: the whole pipeline, other ways of making as many rows, and what each step is good for.

After *Natural Hard-Negative Mining from Positives for Instruction-Following Retrieval*. The two baselines are those
that the paper compares with: Weller et al. (2024), *Promptriever*, https://arxiv.org/abs/2409.11136, and Zhuang et
al. (2025), *Towards Better Instruction Following Retrieval Models*, https://arxiv.org/abs/2505.21439. Their own calls
are not among the recorded replies; what stands for them is said at each arm.
"""

from __future__ import annotations

from collections.abc import Sequence

from obverse.identity import text_uid
from obverse.mine.bm25 import BM25Index
from obverse.recipes.dual_view import FULL, SMALL
from obverse.recipes.recipe import Arm, Pair, Published, Recipe
from obverse.recipes.sides import drawn, kept, plain, relabelled, turned, with_sides
from obverse.recipes.source import Source
from obverse.records import Doc, Label, Topic, View


def passing(source: Source) -> list[Topic]:
    """Returns the topics whose promoting instruction moves the frozen encoder the right way, a multiple of three."""
    return _threefold([topic for topic in source.two_sided if _check(topic, "similarity_gain") > 0])


def _threefold(topics: Sequence[Topic]) -> list[Topic]:
    return drawn(topics, max(3, len(topics) // 3 * 3), 0, "threefold")


def _check(topic: Topic, name: str) -> float:
    view = turned(topic)
    assert view is not None  # two-sided topics have one
    return float(view.checks.get(name, 0.0))


def promoted(source: Source, seed: int) -> list[Topic]:
    """Returns the rows of the full pipeline: the promoted document right, the old positive its hardest negative."""
    return with_sides(passing(source), turned)


def plain_triplets(source: Source, seed: int) -> list[Topic]:
    """Returns the same claims as plain rows."""
    return with_sides(passing(source), plain)


def promptriever_style(source: Source, seed: int) -> list[Topic]:
    """Returns rows with a fixed positive: only the view in which the original positive stays right.

    The instruction negative is the natural document that the instruction rules out, where Promptriever writes some.
    """
    return with_sides(passing(source), kept)


def inf_ir_style(source: Source, seed: int) -> list[Topic]:
    """Returns three rows for every third claim: instruction, opposite instruction, and a poisoned query.

    The opposite view's instruction is the poisoned one. The poisoned query is the most similar other claim, with the
    first instruction and that claim's own positive; whether that meets the instruction is not known, as nothing was
    written for it. The first claim's positive is its negative.
    """
    topics = passing(source)
    chosen = drawn(topics, max(1, len(topics) // 3), seed, "inf-ir")
    nearest = _nearest(topics)
    rows = with_sides(chosen, kept, turned)
    return rows + [_poisoned_query(topic, nearest[topic.topic_id]) for topic in chosen]


def _nearest(topics: Sequence[Topic]) -> dict[str, Topic]:
    """Returns for each topic another one: the most similar query by BM25 with another answer."""
    index = BM25Index([Doc(topic.topic_id, topic.query) for topic in topics])
    found = {}
    for topic in topics:
        near = (topics[number] for number, _ in index.search(topic.query, 30))
        others = [other for other in near if _is_other(topic, other)]
        found[topic.topic_id] = (others or [t for t in topics if _is_other(topic, t)] or [topic])[0]
    return found


def _is_other(topic: Topic, other: Topic) -> bool:
    docs = {text_uid(f"{doc.title} {doc.text}") for doc in topic.docs}
    answers = {text_uid(f"{d.title} {d.text}") for d in map(other.doc, _answers(other))}
    return text_uid(topic.query) != text_uid(other.query) and not docs & answers


def _answers(topic: Topic) -> list[str]:
    view = plain(topic)
    return view.positives if view is not None else []


def _poisoned_query(topic: Topic, other: Topic) -> Topic:
    first = kept(topic)
    assert first is not None  # two-sided topics have one
    labels = dict.fromkeys(_answers(other), Label.POSITIVE)
    docs = {doc.doc_id: doc for doc in other.docs if doc.doc_id in labels}
    for doc_id in _answers(topic):
        docs.setdefault(doc_id, topic.doc(doc_id))
        labels.setdefault(doc_id, Label.NEGATIVE)
    origin = {"method": "inf_ir", "side": "poisoned query", "lever": "opposite"}
    return Topic(
        f"{topic.topic_id}-poisoned-query",
        other.query,
        tuple(docs.values()),
        (View(first.instruction, labels, origin),),
    )


def uncleaned(source: Source, seed: int) -> list[Topic]:
    """Returns the rows with everything that cleaning takes away as negatives again.

    False negatives and candidates that meet the instruction too are negatives. Which candidate is promoted stays the
    teacher's choice, which is cleaning too: the paper's ablation goes further.
    """

    def dirty(view: View) -> View:
        return relabelled(view, lambda _, x: Label.NEGATIVE if x == Label.IGNORE else x)

    return [topic.with_views(map(dirty, topic.views)) for topic in promoted(source, seed)]


def old_positive_unused(source: Source, seed: int) -> list[Topic]:
    """Returns the rows in which the original positive is no negative: it takes no part."""

    def without(view: View) -> View:
        return relabelled(view, lambda _, x: Label.IGNORE if x == Label.INSTRUCTION_NEGATIVE else x)

    return [topic.with_views(map(without, topic.views)) for topic in promoted(source, seed)]


def unfiltered(source: Source, seed: int) -> list[Topic]:
    """Returns as many rows drawn from all promoted ones, whatever their similarity gain."""
    return with_sides(drawn(source.two_sided, len(passing(source)), seed, "unfiltered"), turned)


def flipped(source: Source, seed: int) -> list[Topic]:
    """Returns the rows whose order the instruction has turned in the frozen encoder already: fewer, and easy."""
    rows = [topic for topic in source.two_sided if _check(topic, "lead") > 0]
    return with_sides(rows or source.two_sided[:1], turned)


def other_filter(source: Source, seed: int) -> list[Topic]:
    """Returns as many rows as the full pipeline, those with a gain in another encoder first: the word vectors alone."""
    gains = source.other_gains
    rows = [topic for topic in source.two_sided if gains.get(topic.topic_id, 0.0) > 0]
    size = min(len(passing(source)), len(rows)) or 1
    return with_sides(drawn(rows or source.two_sided, size, seed, "other-filter"), turned)


_STRONGER = {"p_mrr": 1, "flip_rate": 1, "robustness@10": 1}
_WEAKER = dict.fromkeys(_STRONGER, -1)
_FULL_PIPELINE = "promoted"

RECIPE = Recipe(
    name="promoted-negatives",
    says="What promoting natural negatives brings, against as many rows of other kinds, and what each step is for.",
    full=36_306,
    full_says="triples before cleaning (the paper's source)",
    two_sided=False,
    arms=(
        Arm(_FULL_PIPELINE, "the full pipeline: cleaned, promoted, gains above 0", promoted),
        Arm("plain", "the same claims as plain triplets", plain_triplets),
        Arm("promptriever-style", "the view that keeps the positive", promptriever_style),
        Arm("inf-ir-style", "instruction, opposite, poisoned query", inf_ir_style),
        Arm("no cleaning", "what cleaning takes away are negatives again", uncleaned),
        Arm("old positive unused", "the original positive is no negative", old_positive_unused),
        Arm("no filter", "drawn whatever the similarity gain", unfiltered),
        Arm("flip demanded", "only rows that are turned already", flipped, steps_of=_FULL_PIPELINE),
        Arm("other encoder's filter", "gains of another encoder", other_filter),
    ),
    pairs=(
        Pair(
            _FULL_PIPELINE,
            "base",
            matched=False,
            expected=_STRONGER | {"guard_ndcg@10": 1},
            says="promoted rows teach obeying, and plain retrieval is not sacrificed",
        ),
        Pair(_FULL_PIPELINE, "plain", expected=_STRONGER, says="promoted rows beat plain triplets"),
        Pair(
            _FULL_PIPELINE,
            "promptriever-style",
            expected=_STRONGER,
            says="promoted rows beat rows with a fixed positive",
        ),
        Pair(
            _FULL_PIPELINE,
            "inf-ir-style",
            expected=_STRONGER,
            says="promoted rows beat poisoned instructions and queries",
        ),
        Pair(
            "no cleaning", _FULL_PIPELINE, expected=_WEAKER, says="without cleaning little is left"
        ),
        Pair(
            "old positive unused",
            _FULL_PIPELINE,
            expected=_WEAKER,
            says="the old positive matters as a negative",
        ),
        Pair(
            "no filter",
            _FULL_PIPELINE,
            expected={"p_mrr": -1},
            says="without the gain filter p-MRR falls",
        ),
        Pair(
            "flip demanded",
            _FULL_PIPELINE,
            matched=False,
            expected={"p_mrr": -1},
            says="demanding a flip keeps the easy rows and costs p-MRR",
        ),
        Pair(
            "other encoder's filter",
            _FULL_PIPELINE,
            matched=False,
            expected={"p_mrr": -1},
            says="the filter belongs to the encoder that is trained",
        ),
    ),
    settings=SMALL,
    full_settings=FULL | {"batch_rows": 64},
    benchmarks=("instructir", "followir", "msmarco"),
    published=(
        Published("Qwen3-Embedding-0.6B", "base", "instructir", "robustness@10", 49.29),
        Published("Qwen3-Embedding-0.6B", _FULL_PIPELINE, "instructir", "robustness@10", 67.06),
        Published(
            "Qwen3-Embedding-0.6B", "promptriever-style", "instructir", "robustness@10", 51.84
        ),
        Published("Qwen3-Embedding-0.6B", "inf-ir-style", "instructir", "robustness@10", 31.51),
        Published(
            "Qwen3-Embedding-0.6B", "old positive unused", "instructir", "robustness@10", 60.40
        ),
    ),
    reasons=(
        "scale: the paper keeps 6,716 rows of 36,306 triples; the packaged claims give about 270",
        "encoder: 0.6B parameters there",
        "data: MS MARCO and GPT-5.1 there; scientific claims and another teacher here",
        "baselines: Promptriever's and InF-IR's own replies are not recorded; one-sided and opposite views of the same "
        "natural documents stand for them, without written documents",
        "measure: Robustness@10 over about eight instructions a query there, over two here",
    ),
    limits=(
        "Only one side is trained in the full pipeline (the promoting one), and both are measured.",
        "'no cleaning' is milder than the paper's: the teacher's choice of the promoted document is part of cleaning.",
        "The gain filter drops about one row in six, and few rows have anything that cleaning takes away (the ledger "
        "says how many): effects of these steps are small by construction here.",
    ),
)
