"""The exact search of :func:`obverse.search.top_docs` by FAISS with all vectors in memory.

Scores may differ in their last bits, and with them the order of documents that are equal up to rounding.

After Douze et al. (2024), The Faiss library, https://arxiv.org/abs/2401.08281; the flat index, which is exact.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from obverse.errors import MissingExtra, SettingError
from obverse.search import Rows, Vectors, check_finite

_AT_ONCE = 16_384


class FaissFlat:
    """Document vectors in a flat inner product index.

    Args:
        vectors: ``[n, d]`` float32, may be memory-mapped.
        places: ``[n]``, decides ties (:func:`obverse.search.tie_places`).
        memory_mb: What the vectors may take, in MB.

    Raises:
        MissingExtra: If FAISS is not installed.
        SettingError: If the vectors take more than ``memory_mb``.
        InputError: If a vector holds NaN or infinity.
    """

    def __init__(self, vectors: Vectors, places: Rows, memory_mb: int) -> None:
        faiss = require_faiss()
        needed = -(-vectors.nbytes // 1_000_000)
        if needed > memory_mb:
            raise SettingError(
                f"FAISS holds all {len(vectors):,} vectors, {needed:,} MB, and --memory-mb is {memory_mb:,}",
                fix=f"Give --memory-mb {needed} or more, or leave out --index faiss",
            )
        self._places = places
        self._index = faiss.IndexFlatIP(vectors.shape[1])
        for start in range(0, len(vectors), _AT_ONCE):
            part = np.ascontiguousarray(vectors[start : start + _AT_ONCE], dtype=np.float32)
            check_finite(part, "a document", first=start)
            self._index.add(part)

    def search(self, queries: Vectors, depth: int) -> Iterator[tuple[Rows, Vectors]]:
        """Yields rows and scores of the best documents of each query, best first."""
        check_finite(queries, "a query")
        size = len(self._places)
        asked = np.ascontiguousarray(queries, dtype=np.float32)
        scores, rows = self._index.search(asked, min(depth + 1, size))
        for query, own, values in zip(asked, rows, scores, strict=True):
            # FAISS leaves open which of several equals make the last places: ask until all of them are there.
            while len(own) < size and values[-1] >= values[depth - 1]:
                (values,), (own,) = self._index.search(query[None], min(2 * len(own), size))
            order = np.lexsort((self._places[own], -values))[:depth]
            yield own[order], values[order]


def require_faiss() -> Any:
    """Returns the module, or raises :class:`MissingExtra`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of SWIG's own types
            import faiss
    except ImportError:
        raise MissingExtra("faiss-cpu", "faiss", "--index faiss") from None
    return faiss
