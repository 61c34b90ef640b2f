"""Plain SVG plots: a linear scale, round ticks, a frame, and points with interval bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from obverse.report.columns import MINUS
from obverse.report.markup import Content, Markup, element


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear scale from values to places in the drawing."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing area with margins for the labels, in units of the drawing."""

    width: float = 420
    height: float = 300
    left: float = 44
    right: float = 14
    top: float = 14
    bottom: float = 42

    def x(self, low: float, high: float) -> Scale:
        return Scale(low, high, self.left, self.width - self.right)

    def y(self, low: float, high: float) -> Scale:
        return Scale(low, high, self.height - self.bottom, self.top)

    def drawn(self, title: str, *parts: Content) -> Markup:
        """Returns the plot as one SVG image that a screen reader reads out as its title."""
        return element(
            "svg",
            element("title", title),
            *parts,
            class_="plot",
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            role="img",
            aria_label=title,
        )


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Returns round numbers from ``low`` to ``high``, about so many: steps of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10((high - low) / about))
    steps = [power * factor for factor in (1, 2, 5, 10)]
    step = min(steps, key=lambda one: abs((high - low) / one - about))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def around(values: Sequence[float], share: float = 0.08) -> tuple[float, float]:
    """Returns a range that holds the values with some air on both sides; never an empty one."""
    low, high = min(values), max(values)
    air = (high - low) * share or max(abs(high) * share, 1e-3)
    return low - air, high + air


def number(value: float) -> str:
    """Returns a number, short and with a true minus sign."""
    return f"{value:g}".replace("-", MINUS)


def labels(values: Sequence[float]) -> list[str]:
    """Returns the numbers of an axis, all with as many decimals as the finest needs."""
    decimals = max((len(f"{value:g}".partition(".")[2]) for value in values), default=0)
    if any("e" in f"{value:g}" for value in values):
        return [number(value) for value in values]
    return [f"{value:,.{decimals}f}".replace("-", MINUS) for value in values]


def x_axis(plot: Plot, scale: Scale, label: str, shown: Sequence[float]) -> Markup:
    """Returns the line, ticks and label below the plot."""
    line = plot.height - plot.bottom
    marks = [
        element("path", d=f"M{scale(v):.1f} {line:g}v4", class_="axis")
        + element("text", words, x=scale(v), y=line + 17, text_anchor="middle")
        for v, words in zip(shown, labels(shown), strict=True)
    ]
    middle = (plot.left + plot.width - plot.right) / 2
    return element(
        "g",
        element("path", d=f"M{plot.left:g} {line:g}H{plot.width - plot.right:g}", class_="axis"),
        map(Markup, marks),
        element("text", label, x=middle, y=plot.height - 6, text_anchor="middle", class_="name"),
    )


def y_axis(plot: Plot, scale: Scale, label: str, shown: Sequence[float]) -> Markup:
    """Returns hairlines across the plot with their numbers, and the label that stands above them."""
    marks = [
        element(
            "path",
            d=f"M{plot.left:g} {scale(v):.1f}H{plot.width - plot.right:g}",
            class_="grid",
        )
        + element("text", words, x=plot.left - 7, y=scale(v) + 4, text_anchor="end")
        for v, words in zip(shown, labels(shown), strict=True)
    ]
    name = element("text", label, x=0, y=12, class_="name")
    return element("g", map(Markup, marks), name)
