"""The histogram of similarity gains."""

from __future__ import annotations

import math
from collections.abc import Sequence

from obverse.report.axes import Plot, number, ticks, x_axis, y_axis
from obverse.report.markup import Markup, element
from obverse.report.page_data import Gains

_BINS = 22


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
