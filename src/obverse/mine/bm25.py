"""BM25 over a corpus: bm25s underneath, our words, our tie rule.

After Robertson and Zaragoza (2009), The Probabilistic Relevance Framework: BM25 and Beyond,
https://doi.org/10.1561/1500000019; the ``lucene`` variant of Kamphuis et al. (2020). The index is that of Lù
(2024), BM25S, https://arxiv.org/abs/2407.03618.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.errors import MissingExtra
from obverse.mine.ranking import best, tie_order
from obverse.mine.tokens import Tokeniser
from obverse.records import Doc

Hits = list[tuple[int, float]]
"""``(document number, score)``, the best first."""


class BM25Index:
    """A corpus that answers queries by BM25.

    Args:
        docs: The documents; a hit names one by its number here.
        tokeniser: Makes words of texts.
        k1: How soon repeated words stop counting.
        b: How much long documents are held back, in [0, 1].
    """

    def __init__(
        self,
        docs: Sequence[Doc],
        tokeniser: Tokeniser | None = None,
        *,
        k1: float = 0.9,
        b: float = 0.4,
    ) -> None:
        self._words = tokeniser or Tokeniser()
        self._ties = tie_order([doc.doc_id for doc in docs])
        self._vocabulary: dict[str, int] = {}
        self._size = len(docs)
        self._index = _bm25s().BM25(k1=k1, b=b, method="lucene", backend="numpy")
        words = self._ids(docs)
        if self._vocabulary:
            self._index.index(
                (words, self._vocabulary), show_progress=False, create_empty_token=False
            )

    def _ids(self, docs: Sequence[Doc]) -> list[NDArray[np.int32]]:
        number = self._vocabulary
        return [
            np.fromiter(
                (
                    number.setdefault(word, len(number))
                    for word in self._words(f"{doc.title} {doc.text}")
                ),
                dtype=np.int32,
            )
            for doc in docs
        ]

    def search(self, query: str, depth: int) -> Hits:
        """Returns the ``depth`` best documents with a score above 0."""
        words = Counter(word for word in self._words(query) if word in self._vocabulary)
        if not words:
            return []
        scores = np.zeros(self._size, dtype=np.float32)
        weights, numbers, starts = (
            self._index.scores[key] for key in ("data", "indices", "indptr")
        )
        for word, times in sorted(words.items()):
            token = self._vocabulary[word]
            part = slice(starts[token], starts[token + 1])
            scores[numbers[part]] += weights[part] * np.float32(
                times
            )  # a document stands here once
        ranked = best(scores, depth, self._ties, floor=0.0)
        return [(int(number), float(scores[number])) for number in ranked]

    def search_all(self, queries: Sequence[str], depth: int) -> Iterator[Hits]:
        """Yields the hits of each query."""
        for query in queries:
            yield self.search(query, depth)


def _bm25s() -> Any:
    try:
        import bm25s
    except ImportError:
        raise MissingExtra("bm25s", "mine", "mining with BM25") from None
    return bm25s
