"""The best of many scores under the one tie rule: score, then document id, both descending."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def best(
    scores: NDArray[np.float32], depth: int, ties: NDArray[np.int64], floor: float = -np.inf
) -> NDArray[np.int64]:
    """Returns the numbers of the ``depth`` best documents above ``floor``, the best first.

    Args:
        scores: ``[n]``.
        ties: From :func:`obverse.search.tie_places`.
    """
    least = floor
    if depth < len(scores):
        place = len(scores) - depth
        least = max(np.partition(scores, place)[place], floor)
    found = np.flatnonzero((scores >= least) & (scores > floor))
    ranked = found[np.lexsort((ties[found], -scores[found]))]
    return ranked[:depth]
