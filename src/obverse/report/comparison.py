"""A comparison of models as Markdown, LaTeX and one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from obverse.compare import Comparison, distance_to_paper, wins_and_losses
from obverse.report.columns import column_for
from obverse.report.markup import Content, Markup, element
from obverse.report.page_data import Difference, ModelScores, Score
from obverse.report.tables import latex_table, markdown_table
from obverse.report.trade_plot import trade_plot
from obverse.results import Result

NOTE = (
    "Values with 95 % bootstrap intervals over topics. p: paired randomisation test over topics, corrected for all "
    "{count} tests of this comparison (Holm). * differs from {first}: corrected p below 0.05."
)


def comparison_markdown(comparison: Comparison) -> str:
    """Returns the tables, the tests, the distances to published values and what to beware of."""
    parts = []
    for name, rows in _by_benchmark(comparison).items():
        table = markdown_table(_scores(rows), differences=_differences(comparison, name))
        parts.append(f"## {name}\n\n{table.partition(chr(10) * 2)[0]}\n\n{_how(rows)}\n")
    if comparison.tests:
        note = NOTE.format(count=len(comparison.tests), first=comparison.models[0])
        parts.append("## Tests\n\n" + _test_table(comparison) + f"\n{note}\n")
    if lines := _to_look_at(comparison):
        parts.append("## Topics to look at\n\n" + "\n".join(f"- {line}" for line in lines) + "\n")
    if lines := _distances(comparison):
        parts.append(
            "## Distance to published values\n\n" + "\n".join(f"- {x}" for x in lines) + "\n"
        )
    if comparison.beware:
        parts.append("## Beware\n\n" + "\n".join(f"- {line}" for line in comparison.beware) + "\n")
    return "\n".join(parts)


def comparison_latex(comparison: Comparison) -> str:
    """Returns one tabular (booktabs) a benchmark."""
    parts = []
    for name, rows in _by_benchmark(comparison).items():
        table = latex_table(_scores(rows), differences=_differences(comparison, name))
        parts.append(f"% {name}\n{table}")
    return "\n".join(parts)


def comparison_html(comparison: Comparison) -> str:
    """Returns one page without scripts or requests: plots, tables, tests, topics to look at."""
    style = files("obverse.report").joinpath("page.css").read_text(encoding="utf-8")
    title = "Models compared"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    )
    sections: list[Content] = [element("h1", title)]
    sections += [element("p", f"Beware: {line}.") for line in comparison.beware]
    for name, rows in _by_benchmark(comparison).items():
        sections.append(
            element(
                "section",
                element("h2", name),
                trade_plot(_scores(rows)),
                _html_table(rows),
                element("p", _how(rows), class_="faint"),
            )
        )
    sections.append(_html_tests(comparison))
    for heading, lines in (
        ("Topics to look at", _to_look_at(comparison)),
        ("Distance to published values", _distances(comparison)),
    ):
        if lines:
            items = (element("li", line) for line in lines)
            sections.append(element("section", element("h2", heading), element("ul", items)))
    body = element("body", element("main", sections))
    return "<!doctype html>\n" + element("html", head, body, lang="en")


def _html_table(rows: Sequence[Result]) -> Markup:
    keys = list(dict.fromkeys(key for row in rows for key in row.rows))
    head = element(
        "tr", element("th", "Model"), (element("th", column_for(k).heading) for k in keys)
    )
    scores = _scores(rows)
    body = (
        element(
            "tr",
            element("th", model.name, scope="row"),
            (
                element("td", column_for(k).score(model.scores.get(k)), class_="number")
                for k in keys
            ),
        )
        for model in scores
    )
    return element("table", element("thead", head), element("tbody", body), class_="scores")


def _html_tests(comparison: Comparison) -> Markup | None:
    if not comparison.tests:
        return None
    names = (
        "benchmark",
        "measure",
        "model",
        "difference",
        "interval",
        "p",
        "p (Holm)",
        "wins",
        "losses",
        "n",
    )
    head = element("tr", (element("th", name) for name in names))
    body = (
        element("tr", (element("td", cell) for cell in _test_cells(t))) for t in comparison.tests
    )
    note = NOTE.format(count=len(comparison.tests), first=comparison.models[0])
    table = element("table", element("thead", head), element("tbody", body), class_="scores")
    return element("section", element("h2", "Tests"), table, element("p", note, class_="faint"))


def _test_table(comparison: Comparison) -> str:
    head = (
        "| benchmark | measure | model | difference | interval | p | p (Holm) | wins | losses | n |"
    )
    lines = [head, "|---|---|---|---:|---|---:|---:|---:|---:|---:|"]
    lines += ["| " + " | ".join(_test_cells(test)) + " |" for test in comparison.tests]
    return "\n".join(lines) + "\n"


def _test_cells(test: Mapping[str, Any]) -> list[str]:
    mark = " *" if test["p_holm"] < 0.05 else ""
    return [
        test["benchmark"],
        test["measure"],
        test["model"],
        f"{test['difference']:+.4f}{mark}",
        f"[{test['low']:+.4f}, {test['high']:+.4f}]",
        f"{test['p']:.4f}",
        f"{test['p_holm']:.4f}",
        str(test["wins"]),
        str(test["losses"]),
        str(test["n"]),
    ]


def _by_benchmark(comparison: Comparison) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in comparison.results:
        found.setdefault(result.benchmark, []).append(result)
    return found


def _scores(rows: Sequence[Result]) -> list[ModelScores]:
    return [
        ModelScores(
            row.model,
            {
                key: Score(v.get("value"), v.get("low"), v.get("high"), v.get("n"), v.get("reason"))
                for key, v in row.rows.items()
            },
        )
        for row in rows
    ]


def _differences(comparison: Comparison, benchmark: str) -> dict[str, dict[str, Difference]]:
    found: dict[str, dict[str, Difference]] = {}
    for test in comparison.tests:
        if test["benchmark"] == benchmark:
            found.setdefault(test["model"], {})[test["measure"]] = Difference(
                test["difference"], test["low"], test["high"], test["p_holm"]
            )
    return found


def _how(rows: Sequence[Result]) -> str:
    about = rows[0].about
    keys = ("joining", "scope", "guard", "candidates", "ties", "partial")
    said = [f"{key}: {about[key]}" for key in keys if about.get(key)]
    sizes = ", ".join(f"{key} n={row.get('n')}" for key, row in rows[0].rows.items())
    limits = ", ".join(f"{r.model} {r.about.get('max_tokens')} tokens" for r in rows)
    return "; ".join([*said, sizes, limits]) + "."


def _to_look_at(comparison: Comparison) -> list[str]:
    """For every model's first measure: the topics that it wins and loses by the most, with what stands on top."""
    lines = []
    first = comparison.models[0]
    for base in (r for r in comparison.results if r.model == first):
        for other in comparison.results:
            if other.benchmark != base.benchmark or other.model == first or not base.per_topic:
                continue
            measure = next(iter(base.per_topic))
            wins, losses = wins_and_losses(
                base.per_topic[measure], other.per_topic.get(measure, {})
            )
            for word, rows in (("wins", wins), ("loses", losses)):
                for topic, by in rows:
                    tops = "; ".join(
                        f"{name}: {top}"
                        for name, result in ((first, base), (other.model, other))
                        if (top := result.tops.get(topic))
                    )
                    shown = f" ({tops})" if tops else ""
                    lines.append(f"{other.model} {word} {topic} by {by:+.3f} {measure}{shown}")
    return lines


def _distances(comparison: Comparison) -> list[str]:
    return [
        f"{row['model']} on {row['benchmark']}, {row['measure']} x 100: {row['value x 100']:.2f}; {row['published']}: "
        f"{row['published x 100']:.2f} ({row['distance']:+.2f}). Known reasons to differ: {'; '.join(row['reasons'])}."
        for row in distance_to_paper(comparison.results)
    ]
