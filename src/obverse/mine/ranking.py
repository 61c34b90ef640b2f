"""The best of many scores under the one tie rule: score, then document id, both descending."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def tie_order(doc_ids: Sequence[str]) -> NDArray[np.int64]:
    """Returns each document's place among all ids in descending order: of two equal scores the lower wins.

    Returns:
        int64 ``[n]``.
    """
    order = sorted(range(len(doc_ids)), key=doc_ids.__getitem__, reverse=True)
    places = np.empty(len(doc_ids), dtype=np.int64)
    places[order] = np.arange(len(doc_ids))
    return places


def best(
    scores: NDArray[np.float32], depth: int, ties: NDArray[np.int64], floor: float = -np.inf
) -> NDArray[np.int64]:
    """Returns the numbers of the ``depth`` best documents above ``floor``, the best first.

    Args:
        scores: ``[n]``.
        ties: From :func:`tie_order`.
    """
    least = floor
    if depth < len(scores):
        place = len(scores) - depth
        least = max(np.partition(scores, place)[place], floor)
    found = np.flatnonzero((scores >= least) & (scores > floor))
    ranked = found[np.lexsort((ties[found], -scores[found]))]
    return ranked[:depth]
