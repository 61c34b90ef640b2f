"""A small, made-up but lifelike run to make pages of."""

from __future__ import annotations

import math

import pytest

from obverse.records import Label
from obverse.report.page_data import (
    Difference,
    Gains,
    LossPoint,
    ModelScores,
    PageData,
    Ranked,
    Score,
    StageLine,
    TopicPanel,
    ViewPanel,
)

TITLES = {
    "adult": "Vitamin D and the risk of respiratory infection in adults: a randomised trial",
    "child": "Vitamin D supplements and colds in schoolchildren",
    "mouse": "Vitamin D receptor knock-out mice clear influenza more slowly",
    "bone": "Vitamin D status and bone density after the menopause",
    "sun": "Sunlight, latitude and serum 25-hydroxyvitamin D",
    "zinc": "Zinc lozenges for the common cold",
    "flu": "Seasonal influenza vaccination in care homes",
}


def ranking(order: str, wanted: str, ruled: str) -> list[Ranked]:
    labels = {wanted: Label.POSITIVE, ruled: Label.INSTRUCTION_NEGATIVE}
    return [
        Ranked(rank, doc_id, TITLES[doc_id], labels.get(doc_id), 0.81 - 0.04 * rank)
        for rank, doc_id in enumerate(order.split(), 1)
    ]


def view(instruction: str, wanted: str, ruled: str, base: str, trained: str) -> ViewPanel:
    rankings = {
        "base": ranking(base, wanted, ruled),
        "trained": ranking(trained, wanted, ruled),
    }
    passed = {}
    for name, rows in rankings.items():
        place = {row.doc_id: row.rank for row in rows}
        passed[name] = place[wanted] < place[ruled]
    return ViewPanel(instruction, rankings, passed)


def vitamin_topic() -> TopicPanel:
    by_topic = "adult child mouse sun bone zinc flu"
    return TopicPanel(
        "Vitamin D protects against colds and influenza.",
        [
            view("", "adult", "flu", by_topic, by_topic),
            view("Trials in people only.", "adult", "mouse", by_topic, "adult child sun zinc bone flu mouse"),
            view("Nothing on people, please.", "mouse", "adult", by_topic, "mouse sun child bone zinc adult flu"),
        ],
        "t1",
    )  # fmt: skip


def zinc_topic() -> TopicPanel:
    order = "zinc adult child flu sun bone mouse"
    return TopicPanel(
        "Zinc shortens a cold.",
        [
            view("Only where children were treated.", "child", "zinc", order, order),
            view("In adults.", "zinc", "child", order, order),
        ],
        "t2",
    )


def scores(name: str, p_mrr: float, flip: float, guard: float) -> ModelScores:
    def score(value: float, reach: float, n: int = 76) -> Score:
        return Score(value, value - reach, value + reach, n)

    return ModelScores(
        name,
        {
            "p_mrr": score(p_mrr, 0.06),
            "flip_rate": score(flip, 0.1),
            "robustness@10": score(0.5 + flip / 5, 0.06),
            "ndcg@10": score(0.7 + flip / 9, 0.04),
            "plain_ndcg@10": score(0.691, 0.06),
            "guard_ndcg@10": score(guard, 0.045, 300),
        },
    )


def lifelike() -> PageData:
    return PageData(
        models=[scores("base", 0.279, 0.25, 0.621), scores("trained", 0.478, 0.566, 0.618)],
        differences={
            "p_mrr": Difference(0.199, 0.147, 0.251, 0.0),
            "flip_rate": Difference(0.316, 0.197, 0.434, 0.0005),
            "robustness@10": Difference(0.118, 0.064, 0.171, 0.004),
            "ndcg@10": Difference(0.068, 0.037, 0.1, 0.0),
            "plain_ndcg@10": Difference(0.004, -0.029, 0.038, 0.81),
            "guard_ndcg@10": Difference(-0.0035, -0.0109, 0.0041, 0.36),
        },
        loss=[
            LossPoint(step, 1.2 * math.exp(-step / 60) + 0.4 + 0.05 * math.sin(5 * step), 5e-5)
            for step in range(1, 90)
        ],
        gains=Gains([(n - 12) / 100 for n in range(40)]),
        stages=[
            StageLine("mine", "529 topics", "529 topics", {}, 6.2),
            StageLine("synthesize", 529, 404, {"no candidate is convertible": 125}, 2.7),
            StageLine("train", "404 topics, 1,212 views (808 instructed)", "88 steps", {}, 281.0),
        ],
        topics=[zinc_topic(), vitamin_topic()],
        facts={
            "Base model": "`all-MiniLM-L6-v2`",
            "Template": "`{query} {instruction}`",
            "Seed": "0",
        },
        command="obverse demo --out demo --seed 0",
        notes=["Topics are shown by their ids, none left out."],
        attribution=["Made up for the tests."],
        remark="This was the quick run.",
        guard_margin=0.01,
    )


@pytest.fixture
def page_data() -> PageData:
    return lifelike()
