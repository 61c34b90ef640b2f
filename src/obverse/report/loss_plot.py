"""The plot of the training loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from obverse.report.axes import Plot, Scale, around, ticks, x_axis, y_axis
from obverse.report.columns import MINUS
from obverse.report.markup import Markup, element
from obverse.report.page_data import LossPoint

_LINE_POINTS = 240


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
