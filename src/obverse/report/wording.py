"""Sentences of the page on the result: each says only what the numbers bear out."""

from __future__ import annotations

from collections.abc import Sequence

from obverse.report.columns import COLUMNS, FLIP, GUARD, OBEYING, column_for
from obverse.report.moves import TOP, shown_rows
from obverse.report.page_data import Difference, PageData, Score, TopicPanel, ViewPanel
from obverse.report.score_table import improved, p_value


def headline(data: PageData) -> str:
    """Returns the title: what happened, or that it is not proven."""
    if len(data.models) < 2:
        return "How well a search model obeys instructions"
    if improved(data.differences, OBEYING, FLIP):
        return "A search model learns to obey instructions"
    if any(d.beyond_chance and d.difference < 0 for d in _obeying(data)):
        return "A search model obeys instructions less than before"
    return "A search model was taught to obey instructions; no effect is proven"


def deck(data: PageData) -> str:
    """Returns two sentences: what the problem is, and what was found."""
    problem = (
        "A search model finds the topic but overlooks the condition beside it: “only in animals” and “nothing on "
        "animals” bring nearly the same list."
    )
    found = _found(data)
    return f"{problem} {found}" if found else problem


def _found(data: PageData) -> str:
    if not data.models:
        return ""
    base, trained = data.models[0].scores.get(FLIP), data.models[-1].scores.get(FLIP)
    if trained is None or trained.value is None:
        return ""
    over = f" of {trained.n:,} topics" if trained.n else " of the topics"
    if len(data.models) < 2 or base is None or base.value is None:
        return (
            f"This one puts the right document first under both of two opposite instructions in "
            f"{_percent(trained)}{over}."
        )
    difference = data.differences.get(FLIP)
    way = "up from" if trained.value > base.value else "down from"
    if trained.value == base.value:
        way = "as against"
    sure = "" if difference is None or difference.beyond_chance else ", which may be chance"
    return (
        f"Trained on real documents that are right under one instruction and wrong under its opposite, this one now "
        f"ranks them rightly under both in {_percent(trained)}{over} that it never saw, {way} "
        f"{_percent(base)} before training{sure}{_guard_clause(data)}."
    )


def _guard_clause(data: PageData) -> str:
    base, trained = data.models[0].scores.get(GUARD), data.models[-1].scores.get(GUARD)
    if base is None or trained is None or base.value is None or trained.value is None:
        return ""
    column = COLUMNS[GUARD]
    values = f"nDCG@10 {column.number(base.value)}, then {column.number(trained.value)}"
    difference = data.differences.get(GUARD)
    if difference is None:
        return f"; ordinary search: {values}"
    if not difference.beyond_chance:
        return f", while ordinary search shows no sure change ({values})"
    better = difference.difference > 0
    return f", {'and' if better else 'but'} ordinary search got {'better' if better else 'worse'} ({values})"


def example_caption(
    topics: Sequence[TopicPanel], views: Sequence[ViewPanel], models: Sequence[str]
) -> str:
    """Returns what the example's views show, and that the example was picked among the topics."""
    words = "The first five documents under each instruction"
    if len(models) > 1:
        words += f", “{models[0]}” on the left and “{models[-1]}” on the right; a line joins the places of a document"
    if any(len(shown_rows(view.rankings.get(name, ()))) > TOP for view in views for name in models):
        words += ". Below the dotted line: what the instruction asks for or rules out, farther down"
    words += ". The example was picked because it is clear"
    if len(topics) < 2:
        return words + "."
    instructed = [view for topic in topics for view in topic.views if view.instruction]
    failures = any(view.passed.get(models[-1]) is False for view in instructed)
    return f"{words}; {len(topics)} topics are shown further below{', failures among them' if failures else ''}."


def trade_reading(data: PageData) -> list[str]:
    """Returns how to read the plot of obeying against plain search, and what it says."""
    paragraphs = [
        "Teaching a model something new can cost it what it knew. To the right it obeys better, upwards it searches "
        "better without any instruction: training should lead to the right and not down. The bars are 95% intervals."
    ]
    said = [
        f"{words} by {column_for(key).number(found.difference, sign=True)} points "
        f"({', '.join(part for part in (_interval(data, key), p_value(found.p)) if part)})"
        for key, words in ((OBEYING, "Obeying changed"), (GUARD, "plain search"))
        if (found := data.differences.get(key)) is not None
    ]
    if said:
        paragraphs.append(", ".join(said) + ".")
    return paragraphs


def _interval(data: PageData, key: str) -> str:
    found = data.differences[key]
    return f"95% interval {column_for(key).interval(found.low, found.high, sign=True)}"


def _obeying(data: PageData) -> list[Difference]:
    return [data.differences[key] for key in (OBEYING, FLIP) if key in data.differences]


def _percent(score: Score) -> str:
    return f"{100 * (score.value or 0):.0f}%"
