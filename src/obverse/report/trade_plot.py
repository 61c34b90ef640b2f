"""The plot of instruction following against plain retrieval: what obeying costs, if it costs anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from obverse.report.axes import Plot, Scale, around, number, ticks, x_axis, y_axis
from obverse.report.columns import GUARD, OBEYING, Column
from obverse.report.markup import Content, Markup, element
from obverse.report.page_data import ModelScores, Score


@dataclass(frozen=True, slots=True)
class Against:
    """What is drawn against what: keys of the scores, and how each axis is called, times 100."""

    across: str = OBEYING
    across_name: str = "Obeying instructions, symmetric p-MRR"
    up: str = GUARD
    up_name: str = "Plain search, nDCG@10"


OBEYING_AGAINST_PLAIN = Against()
_HUNDRED = " \N{MULTIPLICATION SIGN} 100"


def trade_plot(
    models: Sequence[ModelScores],
    margin: float | None = None,
    *,
    against: Against = OBEYING_AGAINST_PLAIN,
    arrow: bool = True,
) -> Markup | None:
    """Returns instruction following against plain retrieval: a point with interval bars for every model.

    Args:
        models: The base first.
        margin: How much of plain retrieval may be lost; drawn as a line below the base.
        against: Which measures are drawn.
        arrow: Whether an arrow leads from the base to the last model, as from before training to after.

    Returns:
        The SVG, or None where no model has both values.
    """
    points = [
        (model.name, model.scores[against.across], model.scores[against.up])
        for model in models
        if _has(model, against.across) and _has(model, against.up)
    ]
    if not points:
        return None
    plot = Plot(height=330, top=34, right=18)
    floor = [points[0][2].value - margin] if margin is not None and points[0][2].value else []
    x = plot.x(*around([100 * v for _, score, _ in points for v in _ends(score)], 0.1))
    y = plot.y(*around([100 * v for v in floor + [e for p in points for e in _ends(p[2])]], 0.12))
    parts: list[Content] = [
        y_axis(plot, y, against.up_name + _HUNDRED, ticks(y.low, y.high, 7)),
        x_axis(plot, x, against.across_name + _HUNDRED, ticks(x.low, x.high)),
    ]
    if floor and margin is not None:
        parts.append(_floor(plot, y(100 * floor[0]), margin))
    if len(points) > 1 and arrow:
        parts.append(_arrow(_place(points[0], x, y), _place(points[-1], x, y)))
    for place, point in enumerate(points):
        last = arrow and place == len(points) - 1
        kind = "base" if place == 0 else "trained" if last else "between"
        parts.append(_point(point, x, y, kind))
    parts.append(_names(points, x, y, plot))
    shown = Column("", "", 100, 1)
    title = f"{against.across_name} against {against.up_name}, both x 100: " + "; ".join(
        f"{name} {shown.score(a)}, {shown.score(b)}" for name, a, b in points
    )
    return plot.drawn(title, parts)


def _has(model: ModelScores, key: str) -> bool:
    score = model.scores.get(key)
    return score is not None and score.value is not None and math.isfinite(score.value)


def _ends(score: Score) -> list[float]:
    return [v for v in (score.low, score.value, score.high) if v is not None and math.isfinite(v)]


def _place(point: tuple[str, Score, Score], x: Scale, y: Scale) -> tuple[float, float]:
    return x(100 * (point[1].value or 0)), y(100 * (point[2].value or 0))


def _floor(plot: Plot, at: float, margin: float) -> Markup:
    words = f"{number(100 * margin)} point{'' if margin == 0.01 else 's'} lower"
    right = plot.width - plot.right
    return element(
        "g",
        element("path", d=f"M{plot.left:g} {at:.1f}H{right:g}", class_="floor"),
        element("text", words, x=plot.left + 2, y=at + 14, class_="aside"),
    )


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> Markup | None:
    """An arrow that bends upwards where it would lie on the level bars, and is straight where it rises or falls."""
    (x0, y0), (x1, y1) = start, end
    length = math.hypot(x1 - x0, y1 - y0)
    if length < 40:
        return None
    level = max(0.0, 1 - 2 * abs(y1 - y0) / max(abs(x1 - x0), 1.0))
    bend_x, bend_y = (x0 + x1) / 2, (y0 + y1) / 2 - level * min(0.42 * length, 64)
    from_x, from_y = _towards((x0, y0), (bend_x, bend_y), 9)
    tip_x, tip_y = _towards((x1, y1), (bend_x, bend_y), 9)
    back_x, back_y = _towards((x1, y1), (bend_x, bend_y), 18)
    side_x, side_y = (tip_y - back_y) * 0.42, (back_x - tip_x) * 0.42
    head = (
        f"M{tip_x:.1f} {tip_y:.1f}L{back_x + side_x:.1f} {back_y + side_y:.1f}"
        f"L{back_x - side_x:.1f} {back_y - side_y:.1f}Z"
    )
    line = f"M{from_x:.1f} {from_y:.1f}Q{bend_x:.1f} {bend_y:.1f} {back_x:.1f} {back_y:.1f}"
    return element(
        "g", element("path", d=line, class_="arrow"), element("path", d=head, class_="arrowhead")
    )


def _towards(
    start: tuple[float, float], end: tuple[float, float], way: float
) -> tuple[float, float]:
    share = way / math.hypot(end[0] - start[0], end[1] - start[1])
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def _point(point: tuple[str, Score, Score], x: Scale, y: Scale, kind: str) -> Markup:
    _, across, up = point
    left, top = _place(point, x, y)
    bars = ""
    if across.low is not None and across.high is not None:
        bars += f"M{x(100 * across.low):.1f} {top:.1f}H{x(100 * across.high):.1f}"
    if up.low is not None and up.high is not None:
        bars += f"M{left:.1f} {y(100 * up.low):.1f}V{y(100 * up.high):.1f}"
    return element(
        "g",
        element("path", d=bars, class_="whisker") if bars else None,
        element("circle", cx=left, cy=top, r=5.5, class_="point"),
        class_=kind,
    )


def _names(
    points: Sequence[tuple[str, Score, Score]], x: Scale, y: Scale, plot: Plot
) -> list[Markup]:
    """Names above the upright bars, or below them where another name stands too near."""
    placed: list[tuple[float, float]] = []
    for point in points:
        left, _ = _place(point, x, y)
        above, below = (y(100 * end(_ends(point[2]))) for end in (max, min))
        near = any(abs(left - a) < 104 and abs(above - 8 - b) < 16 for a, b in placed)
        placed.append((left, below + 17 if near else above - 8))
    names = []
    for (name, _, _), (left, at) in zip(points, placed, strict=True):
        shown = name if len(name) < 25 else name[:23] + "…"
        half = 3.7 * len(shown)
        middle = min(max(left, plot.left + half), plot.width - half)
        names.append(element("text", shown, x=middle, y=at, text_anchor="middle", class_="direct"))
    return names
