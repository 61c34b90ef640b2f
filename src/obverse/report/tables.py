"""A table of scores, models by measures, as Markdown and as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from obverse.report.columns import Column, column_for
from obverse.report.page_data import Difference, ModelScores

Differences = Mapping[str, Mapping[str, Difference]]
"""Differences from the first model, by model name and measure key."""

_MARK_NOTE = "* differs from {first} beyond chance (paired bootstrap over topics, 95%)."
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\N{MINUS SIGN}": "$-$",
    "\N{EN DASH}": "--",
}
_TEX_SPECIAL = re.compile("|".join(map(re.escape, _TEX)))


def markdown_table(
    models: Sequence[ModelScores],
    measures: Sequence[str] | None = None,
    *,
    intervals: bool = True,
    differences: Differences | None = None,
    headings: Mapping[str, str] | None = None,
) -> str:
    """Returns the table of scores as Markdown, aligned so that it also reads well as plain text.

    Args:
        models: The rows.
        measures: Keys of the columns; by default every key that a model has, in order of appearance.
        intervals: Whether values come with their 95% intervals.
        differences: Marks with ``*`` what differs from the first model beyond chance, and says so below.
        headings: What a column is called where it is not the demo's measure of that key.
    """
    columns = _columns(models, measures, headings or {})
    rows = [["model", *(_heading(column) for column in columns)]]
    rows += [
        [_in_markdown(model.name), *_values(model, columns, intervals, differences or {})]
        for model in models
    ]
    widths = [max(3, *(len(row[place]) for row in rows)) for place in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(_padded(cell, width, place) for place, (cell, width) in row) + " |"
        for row in (list(enumerate(zip(cells, widths, strict=True))) for cells in rows)
    ]
    rule = "|" + "|".join(
        "-" * (width + 2) if not place else "-" * (width + 1) + ":"
        for place, width in enumerate(widths)
    )
    note = _note(models, differences)
    return (
        "\n".join([lines[0], rule + "|", *lines[1:], *(["", _in_markdown(note)] if note else [])])
        + "\n"
    )


def latex_table(
    models: Sequence[ModelScores],
    measures: Sequence[str] | None = None,
    *,
    intervals: bool = True,
    differences: Differences | None = None,
    headings: Mapping[str, str] | None = None,
) -> str:
    """Returns the table of scores as a LaTeX tabular (package booktabs); arguments as for Markdown."""
    columns = _columns(models, measures, headings or {})
    lines = [
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        " & ".join(["model", *(_in_latex(_heading(column)) for column in columns)]) + r" \\",
        r"\midrule",
        *(
            " & ".join(
                map(_in_latex, [model.name, *_values(model, columns, intervals, differences or {})])
            )
            + r" \\"
            for model in models
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    note = _note(models, differences)
    return "\n".join([*lines, *([r"\par\smallskip " + _in_latex(note)] if note else [])]) + "\n"


def _columns(
    models: Sequence[ModelScores], measures: Sequence[str] | None, headings: Mapping[str, str]
) -> list[Column]:
    keys = measures if measures is not None else [key for model in models for key in model.scores]
    columns = [column_for(key) for key in dict.fromkeys(keys)]
    return [replace(each, heading=headings.get(each.key, each.heading)) for each in columns]


def _heading(column: Column) -> str:
    return f"{column.heading} x100" if column.scale == 100 else column.heading


def _values(
    model: ModelScores, columns: Sequence[Column], intervals: bool, differences: Differences
) -> list[str]:
    cells = []
    for column in columns:
        score = model.scores.get(column.key)
        shown = column.score(score) if intervals else column.number(score.value if score else None)
        found = differences.get(model.name, {}).get(column.key)
        cells.append(f"{shown} *" if found is not None and found.beyond_chance else shown)
    return cells


def _note(models: Sequence[ModelScores], differences: Differences | None) -> str:
    if not differences or not models:
        return ""
    return _MARK_NOTE.format(first=models[0].name)


def _padded(cell: str, width: int, place: int) -> str:
    return cell.rjust(width) if place else cell.ljust(width)


def _in_markdown(cell: str) -> str:
    return re.sub(r"([\\|*`<]|\b_|_\b)", r"\\\1", " ".join(cell.split()))


def _in_latex(cell: str) -> str:
    return _TEX_SPECIAL.sub(lambda found: _TEX[found[0]], " ".join(cell.split()))
