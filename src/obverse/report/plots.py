"""The page's three plots: obeying against plain search, the loss curve, the distribution of gains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from obverse.report.axes import Plot, Scale, around, number, ticks, x_axis, y_axis
from obverse.report.columns import COLUMNS, MINUS
from obverse.report.markup import Content, Markup, element
from obverse.report.page_data import Gains, LossPoint, ModelScores, Score

OBEYING, GUARD = "p_mrr", "guard_ndcg@10"
_LINE_POINTS = 240
_BINS = 36


def trade_plot(models: Sequence[ModelScores], margin: float | None = None) -> Markup | None:
    """Returns instruction following against plain retrieval: a point with interval bars for every model.

    Args:
        models: The base first, the trained model last; an arrow leads from the one to the other.
        margin: How much of plain retrieval may be lost; drawn as a line below the base.

    Returns:
        The SVG, or None where no model has both values.
    """
    points = [
        (model.name, model.scores[OBEYING], model.scores[GUARD])
        for model in models
        if _has(model, OBEYING) and _has(model, GUARD)
    ]
    if not points:
        return None
    plot = Plot(height=330, top=34, right=18)
    floor = [points[0][2].value - margin] if margin is not None and points[0][2].value else []
    x = plot.x(*around([100 * v for _, score, _ in points for v in _ends(score)], 0.1))
    y = plot.y(*around([100 * v for v in floor + [e for p in points for e in _ends(p[2])]], 0.12))
    parts: list[Content] = [
        y_axis(
            plot, y, "Plain search, nDCG@10 \N{MULTIPLICATION SIGN} 100", ticks(y.low, y.high, 7)
        ),
        x_axis(
            plot,
            x,
            "Obeying instructions, symmetric p-MRR \N{MULTIPLICATION SIGN} 100",
            ticks(x.low, x.high),
        ),
    ]
    if floor and margin is not None:
        parts.append(_floor(plot, y(100 * floor[0]), margin))
    if len(points) > 1:
        parts.append(_arrow(_place(points[0], x, y), _place(points[-1], x, y)))
    parts += [_point(point, x, y, place, len(points), plot) for place, point in enumerate(points)]
    title = "Obeying instructions against plain search: " + "; ".join(
        f"{name} p-MRR {COLUMNS[OBEYING].score(a)}, plain nDCG@10 {COLUMNS[GUARD].score(b)}"
        for name, a, b in points
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
    words = f"{number(100 * margin)} point{'' if margin == 0.01 else 's'} below the base"
    right = plot.width - plot.right
    return element(
        "g",
        element("path", d=f"M{plot.left:g} {at:.1f}H{right:g}", class_="floor"),
        element("text", words, x=plot.left + 2, y=at + 14, class_="aside"),
    )


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> Markup | None:
    """An arrow that bends upwards, so that it does not lie on the interval bars."""
    (x0, y0), (x1, y1) = start, end
    length = math.hypot(x1 - x0, y1 - y0)
    if length < 40:
        return None
    bend_x, bend_y = (x0 + x1) / 2, (y0 + y1) / 2 - min(0.42 * length, 64)
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


def _point(
    point: tuple[str, Score, Score], x: Scale, y: Scale, place: int, count: int, plot: Plot
) -> Markup:
    name, across, up = point
    left, top = _place(point, x, y)
    kind = "base" if place == 0 else "trained" if place == count - 1 else "between"
    bars = ""
    if across.low is not None and across.high is not None:
        bars += f"M{x(100 * across.low):.1f} {top:.1f}H{x(100 * across.high):.1f}"
    if up.low is not None and up.high is not None:
        bars += f"M{left:.1f} {y(100 * up.low):.1f}V{y(100 * up.high):.1f}"
    room = (left - plot.left, plot.width - plot.right - left)
    to_right = room[1] > 60 and (place > 0 or room[0] < 60)
    return element(
        "g",
        element("path", d=bars, class_="whisker") if bars else None,
        element("circle", cx=left, cy=top, r=5.5, class_="point"),
        element(
            "text",
            name if len(name) < 25 else name[:23] + "…",
            x=left + (10 if to_right else -10),
            y=top - 10,
            text_anchor="start" if to_right else "end",
            class_="direct",
        ),
        class_=kind,
    )


def loss_plot(log: Sequence[LossPoint]) -> Markup | None:
    """Returns the loss by step, as logged and smoothed, with the learning rate lightly behind it.

    Returns:
        The SVG, or None where fewer than two steps were logged.
    """
    points = [point for point in log if math.isfinite(point.loss)]
    if len(points) < 2 or points[0].step == points[-1].step:
        return None
    plot = Plot(height=270, top=34, right=46)
    x = plot.x(min(0, points[0].step), points[-1].step)
    bottom = min(0.0, *(point.loss for point in points))
    y = plot.y(bottom, around([bottom, max(point.loss for point in points)], 0.06)[1])
    smooth = _smoothed([point.loss for point in points])
    raw = [(x(point.step), y(point.loss)) for point in points]
    line = [(x(point.step), y(value)) for point, value in zip(points, smooth, strict=True)]
    title = (
        f"Training loss over {points[-1].step:,} steps, smoothed: "
        f"from {smooth[0]:.3g} to {smooth[-1]:.3g}"
    )
    return plot.drawn(
        title,
        y_axis(plot, y, "Loss", ticks(y.low, y.high)),
        x_axis(plot, x, "Training step", ticks(x.low, x.high)),
        _learning_rate(plot, points, x),
        element("path", d=_path(_thinned(raw)), class_="raw"),
        element("path", d=_path(_thinned(line)), class_="curve"),
        element("text", f"{smooth[-1]:.2f}", x=line[-1][0] + 6, y=line[-1][1] + 4, class_="direct"),
    )


def _learning_rate(plot: Plot, points: Sequence[LossPoint], x: Scale) -> Markup | None:
    rates = [(p.step, p.learning_rate) for p in points if p.learning_rate is not None]
    peak = max((rate for _, rate in rates), default=0.0)
    if not peak > 0:
        return None
    y = Scale(0, peak, plot.height - plot.bottom, plot.top + 8)
    line = _thinned([(x(step), y(rate)) for step, rate in rates])
    mantissa, _, power = f"{peak:.1e}".partition("e")
    words = f"learning rate, at most {mantissa.removesuffix('.0')}e{int(power)}".replace("-", MINUS)
    return element(
        "g",
        element("path", d=_path(line), class_="rate"),
        element(
            "text",
            words,
            x=plot.width - plot.right,
            y=12,
            text_anchor="end",
            class_="aside",
        ),
    )


def _smoothed(values: Sequence[float]) -> list[float]:
    """Means over a window that narrows towards the start, where the loss falls fast, but not towards the end."""
    sums = [0.0, *accumulate(values)]
    means = []
    for place in range(len(values)):
        half = min(len(values) // 12, place)
        start, end = place - half, min(place + half + 1, len(values))
        means.append((sums[end] - sums[start]) / (end - start))
    return means


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """A long log is drawn by the means of equal stretches: nobody sees more points than pixels."""
    size = math.ceil(len(points) / _LINE_POINTS)
    if size <= 1:
        return list(points)
    stretches = [points[start : start + size] for start in range(0, len(points), size)]
    return [
        (sum(a for a, _ in part) / len(part), sum(b for _, b in part) / len(part))
        for part in stretches
    ]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points)


def gain_plot(gains: Gains) -> Markup | None:
    """Returns the histogram of similarity gains, with the threshold and the counts on both sides of it.

    Returns:
        The SVG, or None where there are no gains.
    """
    values = [value for value in gains.values if math.isfinite(value)]
    if not values:
        return None
    plot = Plot(height=270, top=42)
    kept = sum(value > gains.threshold for value in values)
    edges, counts, first_kept = _binned(values, gains.threshold)
    x = plot.x(edges[0], edges[-1])
    y = plot.y(0, max(counts) * 1.15)
    bars = [
        element(
            "rect",
            element("title", f"{number(low)} to {number(high)}: {count:,}"),
            x=x(low) + 0.6,
            y=y(count),
            width=max(x(high) - x(low) - 1.2, 0.5),
            height=y(0) - y(count),
            class_="kept" if place >= first_kept else "dropped",
        )
        for place, (low, high, count) in enumerate(zip(edges, edges[1:], counts, strict=False))
        if count
    ]
    whole = [tick for tick in ticks(0, y.high, 4) if tick == int(tick)]
    at = x(gains.threshold)
    title = (
        f"Similarity gains of {len(values):,} promoted documents: {kept:,} above the threshold "
        f"{number(gains.threshold)} and kept, {len(values) - kept:,} not"
    )
    return plot.drawn(
        title,
        y_axis(plot, y, "Instructions", whole),
        x_axis(plot, x, "Similarity gained through the instruction", ticks(x.low, x.high)),
        bars,
        element("path", d=f"M{at:.1f} {plot.top - 10:g}V{y(0):.1f}", class_="threshold"),
        _side(f"{kept:,} kept", at + 7, "start", plot),
        _side(f"{len(values) - kept:,} dropped", at - 7, "end", plot),
    )


def _side(words: str, at: float, anchor: str, plot: Plot) -> Markup:
    room = at - plot.left if anchor == "end" else plot.width - plot.right - at
    if room < 62:  # not enough room beside the threshold: above the far end instead
        at, anchor = (plot.left, "start") if anchor == "end" else (plot.width - plot.right, "end")
    return element("text", words, x=at, y=plot.top - 1, text_anchor=anchor, class_="direct")


def _binned(values: Sequence[float], threshold: float) -> tuple[list[float], list[int], int]:
    """Returns the edges of equal bins, one of which is the threshold, their counts, and the first kept bin."""
    low, high = min(*values, threshold), max(*values, threshold)
    reach = (high - low) or 1e-6
    step = ticks(0, reach, _BINS)[1]
    below = max(1, math.ceil((threshold - low) / step + 1e-9))
    above = max(1, math.ceil((high - threshold) / step + 1e-9))
    counts = [0] * (below + above)
    for value in values:
        # A bin takes in its upper edge: what lies on the threshold is not above it.
        place = math.ceil((value - threshold) / step) - 1 + below
        first, last = (below, len(counts) - 1) if value > threshold else (0, below - 1)
        counts[min(max(place, first), last)] += 1
    edges = [round(threshold + (number - below) * step, 9) for number in range(len(counts) + 1)]
    return edges, counts, below
