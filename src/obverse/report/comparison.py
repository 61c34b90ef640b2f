"""A comparison of models as Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from obverse.compare import Comparison, distance_to_paper, to_look_at
from obverse.report.compared import (
    NOTE,
    by_benchmark,
    differences_of,
    headings_of,
    how_measured,
    scores_of,
)
from obverse.report.tables import latex_table, markdown_table

_HEAD = ("model", "measure", "difference", "interval", "p", "p (Holm)", "wins", "losses", "n")


def comparison_markdown(comparison: Comparison) -> str:
    """Returns the tables, the tests, the distances to published values and what to beware of."""
    parts = []
    if comparison.beware:
        parts.append("## Beware\n\n" + "\n".join(f"- {line}" for line in comparison.beware) + "\n")
    for name, rows in by_benchmark(comparison).items():
        table = markdown_table(
            scores_of(rows),
            differences=differences_of(comparison, name),
            headings=headings_of(rows),
        )
        how = "\n".join(f"- {line}" for line in how_measured(rows))
        parts.append(f"## {name}\n\n{table.partition(chr(10) * 2)[0].rstrip()}\n\n{how}\n")
        if tests := [test for test in comparison.tests if test["benchmark"] == name]:
            lines = [_row(_HEAD), "|---|---|---:|---|---:|---:|---:|---:|---:|"]
            lines += [_row(test_cells(test)) for test in tests]
            parts.append("\n".join(lines) + "\n")
    if comparison.tests:
        note = NOTE.format(count=len(comparison.tests), first=comparison.models[0])
        parts.append(note.replace("*", "\\*") + "\n")
    parts += _topics(comparison) + _papers(comparison)
    return "\n".join(parts)


def _topics(comparison: Comparison) -> list[str]:
    if not (found := to_look_at(comparison)):
        return []
    lines = [
        "## Topics to look at",
        "",
        "| benchmark, model | topic | difference | on top |",
        "|---|---|---:|---|",
    ]
    for each in found:
        tops = "<br>".join(f"{name}: {top}" for name, top in each.tops.items())
        cells = (
            f"{each.benchmark}, {each.model}",
            each.topic,
            f"{each.by:+.3f} {each.measure}",
            tops,
        )
        lines.append(_row(cells))
    return ["\n".join(lines) + "\n"]


def _papers(comparison: Comparison) -> list[str]:
    if not (found := distance_to_paper(comparison.results)):
        return []
    lines = [
        "## Distance to published values, x 100",
        "",
        "| model, benchmark | measure | value | published | by | distance |",
        "|---|---|---:|---:|---|---:|",
    ]
    reasons: dict[str, None] = {}
    for row in found:
        name = f"{row['model']}, {row['benchmark']}"
        cells = (f"{row['value x 100']:.2f}", f"{row['published x 100']:.2f}", row["published"])
        lines.append(_row((name, row["measure"], *cells, f"{row['distance']:+.2f}")))
        reasons[f"{name}: {'; '.join(row['reasons'])}"] = None
    return [
        "\n".join([*lines, "", "Known reasons to differ:", "", *(f"- {r}" for r in reasons)]) + "\n"
    ]


def _row(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def test_cells(test: Mapping[str, Any]) -> list[str]:
    """Returns one test as the cells of a table."""
    mark = " *" if test["p_holm"] < 0.05 else ""
    return [
        test["model"],
        test["measure"],
        f"{test['difference']:+.4f}{mark}",
        f"[{test['low']:+.4f}, {test['high']:+.4f}]",
        f"{test['p']:.4f}",
        f"{test['p_holm']:.4f}",
        str(test["wins"]),
        str(test["losses"]),
        str(test["n"]),
    ]


def comparison_latex(comparison: Comparison) -> str:
    """Returns one tabular (booktabs) a benchmark; how the numbers were made stands in comments."""
    parts = []
    for name, rows in by_benchmark(comparison).items():
        table = latex_table(
            scores_of(rows),
            differences=differences_of(comparison, name),
            headings=headings_of(rows),
        )
        how = "".join(f"%   {' '.join(line.split())}\n" for line in how_measured(rows))
        parts.append(f"% {' '.join(name.split())}\n{how}{table}")
    return "\n".join(parts)
