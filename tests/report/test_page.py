from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from obverse.report.page import page
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
from obverse.report.topics import telling_example

HOSTILE = "<script>alert('&\"')</script> `</style>` \ud800\x00 " + "x" * 300


class Tags(HTMLParser):
    """Notes every element and checks that they close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def count(self, tag: str, class_: str | None = None) -> int:
        return sum(
            name == tag and (class_ is None or class_ in (attrs.get("class") or "").split())
            for name, attrs in self.seen
        )


def test_all_parts_are_there_and_the_markup_closes(page_data: PageData) -> None:
    tags = Tags(page(page_data))
    assert tags.open == []
    sections = [attrs["id"] for tag, attrs in tags.seen if tag == "section" and "id" in attrs]
    assert sections == ["measures", "trade", "training", "pipeline", "topics", "making"]
    assert tags.count("svg", "plot") == 3
    assert tags.count("details", "topic") == 2
    # the example and four instructed views, each with base and trained, and the plain view of one topic
    assert tags.count("div", "column") == 2 * (2 + 4 + 1)
    words = "".join(tags.words)
    for shown in (
        "27.9",
        "[21.9, 33.9]",
        "+19.9",
        "0.57",
        "p\u00a0<\u00a00.001",
        "125",
        "4 min 41 s",
    ):
        assert shown in words


def test_nothing_is_asked_of_the_network_and_no_script_runs(page_data: PageData) -> None:
    text = page(page_data)
    tags = Tags(text)
    assert not {"script", "link", "img", "iframe", "object", "base"} & {tag for tag, _ in tags.seen}
    assert not re.search(r"url\(|@import|https?:", text)
    for _, attrs in tags.seen:
        assert not any(name.startswith("on") for name in attrs)
        assert (attrs.get("href") or "#").startswith("#")


def test_the_same_data_give_the_same_page(page_data: PageData) -> None:
    assert page(page_data) == page(page_data)


def test_every_word_from_outside_is_escaped() -> None:
    models = [ModelScores(HOSTILE, {HOSTILE: Score(0.1)}), ModelScores("b", {"p_mrr": Score(0.5)})]
    rows = [Ranked(1, HOSTILE, HOSTILE, HOSTILE, 0.5)]
    data = PageData(
        models=models,
        stages=[StageLine(HOSTILE, HOSTILE, HOSTILE, {HOSTILE: 1}, 1.0, HOSTILE)],
        topics=[TopicPanel(HOSTILE, [ViewPanel(HOSTILE, {HOSTILE: rows}, {HOSTILE: True})] * 2)],
        facts={HOSTILE: HOSTILE},
        command=HOSTILE,
        notes=[HOSTILE],
        attribution=[HOSTILE],
        measure_notes={"p_mrr": HOSTILE},
        title=HOSTILE,
        remark=HOSTILE,
    )
    text = page(data)
    text.encode("utf-8")
    tags = Tags(text)
    assert tags.open == []
    assert tags.count("script") == 0
    assert text.count("</style>") == 1
    assert "\x00" not in text


@pytest.mark.parametrize(
    "data",
    [
        PageData(models=[]),
        PageData(models=[ModelScores("only", {})]),
        PageData(models=[ModelScores("only", {"flip_rate": Score(None, reason="no topic")})]),
        PageData(
            models=[
                ModelScores("a", {"p_mrr": Score(float("nan")), "guard_ndcg@10": Score(0.5)}),
                ModelScores("b", {"p_mrr": Score(-0.4, -0.9, 0.1), "guard_ndcg@10": Score(0.5)}),
            ],
            loss=[LossPoint(5, float("nan")), LossPoint(5, 1.0)],
            gains=Gains([]),
            stages=[StageLine("", 0, 0)],
            topics=[TopicPanel("q", [ViewPanel("", {"a": [], "b": []})]), TopicPanel("q", [])],
        ),
    ],
)  # fmt: skip
def test_a_page_with_little_to_show_still_stands(data: PageData) -> None:
    text = page(data)
    assert Tags(text).open == []
    assert "nan" not in re.sub(r"<style>.*</style>", "", text, flags=re.S)


def test_what_is_missing_leaves_no_empty_section(page_data: PageData) -> None:
    text = page(replace(page_data, loss=(), gains=None, stages=(), topics=()))
    for name in ("training", "pipeline", "topics"):
        assert f'id="{name}"' not in text


def test_the_title_says_only_what_is_proven(page_data: PageData) -> None:
    def titled(**differences: Difference) -> str:
        found = re.search("<h1>(.*?)</h1>", page(replace(page_data, differences=differences)))
        assert found is not None
        return found[1]

    assert (
        titled(p_mrr=Difference(0.2, 0.1, 0.3, 0.0)) == "A search model learns to obey instructions"
    )
    assert "no effect is proven" in titled(p_mrr=Difference(0.2, -0.1, 0.5, 0.2))
    assert "less than before" in titled(p_mrr=Difference(-0.2, -0.3, -0.1, 0.0))
    mixed = titled(p_mrr=Difference(0.2, 0.1, 0.3), flip_rate=Difference(-0.2, -0.3, -0.1))
    assert "learns" not in mixed


def test_a_loss_of_plain_search_is_said_at_the_top(page_data: PageData) -> None:
    worse = {**page_data.differences, "guard_ndcg@10": Difference(-0.05, -0.07, -0.03, 0.0)}
    assert "but ordinary search got worse" in page(replace(page_data, differences=worse))
    assert "no sure change" in page(page_data)


def test_the_example_is_a_topic_that_the_training_turned(page_data: PageData) -> None:
    assert telling_example(page_data.topics, ["base", "trained"]) == 1
    assert "failures among them" in page(page_data)
    assert "failures among them" not in page(replace(page_data, topics=page_data.topics[1:] * 2))


def test_documents_beyond_the_first_five_tell_where_they_went(page_data: PageData) -> None:
    text = page(page_data)
    assert '<li class="ruled beyond">' in text  # the ruled-out document, sixth, below the line
    assert "<small>from 6</small>" in text  # zinc came in from the sixth place
    assert "<small>to 6</small>" not in text or "<small>to 7</small>" in text


def test_one_model_has_one_column(page_data: PageData) -> None:
    tags = Tags(page(replace(page_data, models=page_data.models[:1], differences={})))
    assert tags.count("svg", "lines") == 0
    assert tags.count("div", "alone") > 0
