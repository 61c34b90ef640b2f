"""The page's table of measures: value and interval for each model, the difference, and a drawing of both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from obverse.report.axes import number
from obverse.report.columns import COLUMNS, NO_VALUE, Column, column_for
from obverse.report.markup import Content, Markup, element
from obverse.report.page_data import Difference, ModelScores, PageData, Score

_WIDTH, _EDGE = 200, 8


def score_table(data: PageData) -> Markup:
    """Returns the table of measures; a row for each, in the order in which they are explained."""
    keys = [key for key in COLUMNS if any(key in model.scores for model in data.models)]
    keys += [key for m in data.models for key in m.scores if key not in COLUMNS]
    columns = [column_for(key) for key in dict.fromkeys(keys)]
    low = _lowest(data.models, columns)
    compared = bool(data.differences)
    head = element(
        "tr",
        element("th", "Measure", scope="col", role="columnheader"),
        (
            element("th", model.name, class_="number", scope="col", role="columnheader")
            for model in data.models
        ),
        (
            element("th", "Difference", class_="number", scope="col", role="columnheader"),
            element("th", "Beyond chance?", scope="col", role="columnheader"),
        )
        if compared
        else None,
        element("th", _ruler(low), class_="drawn", scope="col", role="columnheader"),
        role="row",
    )
    rows = (_row(column, data, low, compared) for column in columns)
    return element(
        "table",
        element("thead", head, role="rowgroup"),
        element("tbody", rows, role="rowgroup"),
        class_="scores stacked pairwise"
        if compared and len(data.models) == 2
        else "scores stacked",
        role="table",
    )


def _row(column: Column, data: PageData, low: float, compared: bool) -> Markup:
    remark = data.measure_notes.get(column.key)
    name = element(
        "th",
        element(
            "span",
            column.heading,
            element("span", " \N{MULTIPLICATION SIGN}\u2009100", class_="faint")
            if column.scale == 100
            else None,
            class_="measure",
        ),
        element("span", column.meaning, f" {remark}" if remark else None, class_="meaning"),
        scope="row",
        role="rowheader",
    )
    return element(
        "tr",
        name,
        (_value(column, model) for model in data.models),
        _comparison(column, data.differences.get(column.key)) if compared else None,
        element("td", _drawing(column, data.models, low), class_="drawn", role="cell"),
        role="row",
    )


def _value(column: Column, model: ModelScores) -> Markup:
    score = model.scores.get(column.key)
    if score is None or score.value is None:
        why = score.reason if score is not None else "not measured"
        content: Content = element("span", NO_VALUE, title=why)
    else:
        content = (
            element("span", column.number(score.value), class_="value"),
            element("span", column.interval(score.low, score.high), class_="interval"),
        )
    return element("td", content, class_="number", data_label=model.name, role="cell")


def _comparison(column: Column, found: Difference | None) -> tuple[Markup, Markup]:
    if found is None:
        blank = element("td", NO_VALUE, class_="number", data_label="Difference", role="cell")
        return blank, element("td", NO_VALUE, data_label="Beyond chance?", role="cell")
    difference = element(
        "td",
        element("span", column.number(found.difference, sign=True), class_="value"),
        element("span", column.interval(found.low, found.high, sign=True), class_="interval"),
        class_="number",
        data_label="Difference",
        role="cell",
    )
    return difference, element(
        "td",
        element("span", "yes" if found.beyond_chance else "no", class_="value"),
        element("span", p_value(found.p), class_="interval"),
        class_="chance",
        data_label="Beyond chance?",
        role="cell",
    )


def p_value(p: float | None) -> str:
    """Returns the p-value as text; nothing where there is none."""
    if p is None or not math.isfinite(p):
        return ""
    return "p\u00a0<\u00a00.001" if p < 0.001 else f"p\u00a0=\u00a0{p:.{3 if p < 0.0995 else 2}f}"


def _lowest(models: Sequence[ModelScores], columns: Sequence[Column]) -> float:
    """The left end of the shared scale: 0, or a round number below the lowest end of an interval."""
    ends = [0.0]
    for model in models:
        for column in columns:
            ends += _finite(model.scores.get(column.key))
    return math.floor(min(ends) * 4) / 4


def _finite(score: Score | None) -> list[float]:
    if score is None:
        return []
    return [v for v in (score.low, score.value, score.high) if v is not None and math.isfinite(v)]


def _x(value: float, low: float) -> float:
    share = (min(max(value, low), 1.0) - low) / (1 - low)
    return _EDGE + share * (_WIDTH - 2 * _EDGE)


def _marks(low: float) -> list[float]:
    return [low, 0, 1] if low < 0 else [0, 0.5, 1]


def _ruler(low: float) -> Markup:
    return element(
        "svg",
        element("title", f"Scale from {number(100 * low)} to 100"),
        _scale_labels(low, 13),
        class_="strip",
        viewBox=f"0 0 {_WIDTH} 16",
        role="img",
    )


def _scale_labels(low: float, y: float, class_: str | None = None) -> list[Markup]:
    return [
        element("text", number(100 * v), x=_x(v, low), y=y, text_anchor="middle", class_=class_)
        for v in _marks(low)
    ]


def _drawing(column: Column, models: Sequence[ModelScores], low: float) -> Markup:
    """One line per model on a scale that all rows share: the interval as a bar, the value as a point on it."""
    height = 6 + 14 * len(models)
    parts: list[Content] = [
        element("path", d=f"M{_x(v, low):.1f} 0V{height}", class_="grid") for v in _marks(low)
    ]
    parts += _scale_labels(low, height + 11, "small-only")
    for place, model in enumerate(models):
        ends = _finite(model.scores.get(column.key))
        if not ends:
            continue
        score, y = model.scores[column.key], 10 + 14 * place
        first, last = place == 0, place == len(models) - 1
        parts.append(
            element(
                "g",
                element(
                    "path",
                    d=f"M{_x(min(ends), low):.1f} {y}H{_x(max(ends), low):.1f}",
                    class_="whisker",
                ),
                element("circle", cx=_x(score.value or 0, low), cy=y, r=4, class_="point"),
                class_="base" if first else "trained" if last else "between",
            )
        )
    title = f"{column.heading}: " + "; ".join(
        f"{model.name} {column.score(model.scores.get(column.key))}" for model in models
    )
    return element(
        "svg",
        element("title", title),
        parts,
        class_="strip",
        viewBox=f"0 0 {_WIDTH} {height}",
        role="img",
    )


def improved(differences: Mapping[str, Difference], *keys: str) -> bool:
    """Returns whether one of the measures rose beyond chance and none of them fell so."""
    found = [differences[key] for key in keys if key in differences]
    surely = [difference for difference in found if difference.beyond_chance]
    return bool(surely) and all(difference.difference > 0 for difference in surely)
