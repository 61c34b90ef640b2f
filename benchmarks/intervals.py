"""Means of repeated times with their intervals, as the speed benchmarks print them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160)
"""Student's t of 97.5 % for 1 to 13 degrees of freedom."""


def shown(values: Sequence[float]) -> str:
    """Returns ``mean [low, high]``, the 95 % t interval over repeats; the mean alone where there is one."""
    mean = fmean(values)
    if len(values) < 2:
        return f"{mean:.3f}"
    t = _T[min(len(values) - 1, len(_T)) - 1]
    half = t * stdev(values) / math.sqrt(len(values))
    return f"{mean:.3f} [{mean - half:.3f}, {mean + half:.3f}]"
