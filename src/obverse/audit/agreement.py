"""Intervals and agreement: Wilson's interval of a share, Cohen's kappa of two people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

_Z95 = 1.959963984540054


def wilson(hits: int, n: int, z: float = _Z95) -> tuple[float, float]:
    """Returns the interval of a share, in [0, 1]; (0, 1) where n is 0.

    After Wilson (1927), *Probable Inference, the Law of Succession, and Statistical Inference*,
    https://doi.org/10.1080/01621459.1927.10502953.

    Args:
        hits: How many of n.
        n: The number of items.
        z: The normal quantile; by default of a 95 % interval.
    """
    if n == 0:
        return 0.0, 1.0
    share = hits / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Returns Cohen's kappa of two people's answers to the same questions, in [-1, 1]; None where it is undefined.

    After Cohen (1960), *A Coefficient of Agreement for Nominal Scales*,
    https://doi.org/10.1177/001316446002000104.
    """
    if not pairs:
        return None
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    left, right = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(left[value] * right[value] for value in left) / (n * n)
    return None if math.isclose(chance, 1.0) else (observed - chance) / (1 - chance)
