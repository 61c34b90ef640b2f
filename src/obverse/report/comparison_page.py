"""A comparison of models as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from obverse.compare import Comparison, ToLookAt, distance_to_paper, to_look_at
from obverse.report.compared import (
    NOTE,
    by_benchmark,
    columns_of,
    differences_of,
    how_measured,
    plots_of,
    scores_of,
)
from obverse.report.comparison import test_cells
from obverse.report.markup import Content, Markup, element
from obverse.report.trade_plot import trade_plot
from obverse.results import Result

_TEST_HEAD = (
    "Model",
    "Measure",
    "Difference",
    "95% interval",
    "p",
    "p (Holm)",
    "Wins",
    "Losses",
    "n",
)


def comparison_html(comparison: Comparison) -> str:
    """Returns one page without scripts or requests: plots, tables, tests, topics to look at."""
    style = files("obverse.report").joinpath("page.css").read_text(encoding="utf-8")
    title = (
        f"{len(comparison.models)} models compared"
        if len(comparison.models) > 1
        else "One model measured"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    )
    sections: list[Content] = [element("h1", title), _deck(comparison)]
    if comparison.beware:
        lines = (element("li", f"{line}.") for line in comparison.beware)
        sections.append(element("section", element("h2", "Beware"), element("ul", lines)))
    if drawn := _plots(comparison):
        sections.append(element("section", element("h2", "Obeying against plain retrieval"), drawn))
    for name, rows in by_benchmark(comparison).items():
        sections.append(_benchmark(comparison, name, rows))
    sections += [_topics(to_look_at(comparison)), _papers(comparison)]
    body = element("body", element("main", sections))
    return "<!doctype html>\n" + element("html", head, body, lang="en")


def _deck(comparison: Comparison) -> Markup:
    first, *others = comparison.models
    words = f"{', '.join(others)} held against {first}. " if others else ""
    if comparison.tests:
        words += NOTE.format(count=len(comparison.tests), first=first)
    else:
        words += "Values with 95 % bootstrap intervals over topics."
    return element("p", words, class_="notice")


def _plots(comparison: Comparison) -> Markup | None:
    drawn = [
        element("figure", svg, element("figcaption", name))
        for name, (models, against) in plots_of(comparison).items()
        if len(models) > 1 and (svg := trade_plot(models, against=against, arrow=False))
    ]
    return element("div", drawn, class_="pair") if drawn else None


def _benchmark(comparison: Comparison, name: str, rows: Sequence[Result]) -> Markup:
    tests = [test for test in comparison.tests if test["benchmark"] == name]
    how = element("ul", (element("li", line) for line in how_measured(rows)), class_="how")
    return element(
        "section",
        element("h2", name),
        _wide(_scores(comparison, name, rows)),
        _wide(_table(_TEST_HEAD, [test_cells(test) for test in tests], words=2)) if tests else None,
        how,
    )


def _scores(comparison: Comparison, name: str, rows: Sequence[Result]) -> Markup:
    columns, differences = columns_of(rows), differences_of(comparison, name)
    head: list[Content] = [element("th", "Model", scope="col")]
    for column in columns:
        times = "\u00a0\N{MULTIPLICATION SIGN}\u00a0100" if column.scale == 100 else ""
        head.append(element("th", column.heading + times, class_="number", scope="col"))
    body = []
    for model in scores_of(rows):
        cells: list[Content] = [element("th", model.name, scope="row")]
        for column in columns:
            score = model.scores.get(column.key)
            found = differences.get(model.name, {}).get(column.key)
            mark = " *" if found is not None and found.beyond_chance else ""
            cells.append(
                element(
                    "td",
                    element(
                        "span", column.number(score.value if score else None) + mark, class_="value"
                    ),
                    element("span", column.interval(score.low, score.high), class_="interval")
                    if score
                    else None,
                    element("span", f"n = {score.n:,}", class_="interval")
                    if score and score.n is not None
                    else None,
                    class_="number",
                )
            )
        body.append(element("tr", cells))
    return element(
        "table", element("thead", element("tr", head)), element("tbody", body), class_="compared"
    )


def _topics(found: Sequence[ToLookAt]) -> Markup | None:
    if not found:
        return None
    rows: list[Sequence[Content]] = []
    for each in found:
        tops = [
            element("span", element("b", name), f" {top}", class_="top")
            for name, top in each.tops.items()
        ]
        rows.append(
            [f"{each.benchmark}, {each.model}", each.topic, f"{each.by:+.3f} {each.measure}", tops]
        )
    lead = (
        "For each model, by its first measure, the topics that it wins and loses by the most, with the first documents "
        "of each query (numbered by view where a topic has several)."
    )
    table = _table(("Benchmark, model", "Topic", "Difference", "On top"), rows, words=4)
    return element(
        "section",
        element("h2", "Topics to look at"),
        element("p", lead, class_="lead"),
        _wide(table),
    )


def _papers(comparison: Comparison) -> Markup | None:
    if not (found := distance_to_paper(comparison.results)):
        return None
    rows = [
        [
            f"{row['model']}, {row['benchmark']}",
            row["measure"],
            row["published"],
            f"{row['value x 100']:.2f}",
            f"{row['published x 100']:.2f}",
            f"{row['distance']:+.2f}",
        ]
        for row in found
    ]
    reasons = {
        f"{row['model']}, {row['benchmark']}: {'; '.join(row['reasons'])}": None for row in found
    }
    head = ("Model, benchmark", "Measure", "Published for", "Value", "Published", "Distance")
    return element(
        "section",
        element("h2", "Distance to published values, \N{MULTIPLICATION SIGN} 100"),
        _wide(_table(head, rows, words=3)),
        element("p", "Known reasons to differ:", class_="lead"),
        element("ul", (element("li", line) for line in reasons), class_="how"),
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[Content]], *, words: int) -> Markup:
    """A table whose first columns hold words and whose others hold numbers, set to the right."""

    def kind(place: int) -> str | None:
        return None if place < words else "number"

    top = (element("th", cell, scope="col", class_=kind(n)) for n, cell in enumerate(head))
    body = (
        element("tr", (element("td", cell, class_=kind(n)) for n, cell in enumerate(row)))
        for row in rows
    )
    return element(
        "table", element("thead", element("tr", top)), element("tbody", body), class_="compared"
    )


def _wide(table: Markup) -> Markup:
    """A table that scrolls by itself where the window is narrower."""
    return element("div", table, class_="wide", tabindex="0")
