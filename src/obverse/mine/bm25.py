"""BM25 over a corpus: bm25s underneath, our words, our tie rule.

After Robertson and Zaragoza (2009), The Probabilistic Relevance Framework: BM25 and Beyond,
https://doi.org/10.1561/1500000019; the ``lucene`` variant of Kamphuis et al. (2020). The index is that of Lù
(2024), BM25S, https://arxiv.org/abs/2407.03618.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.errors import MissingExtra
from obverse.mine.kept import Kept, docs_digest, save_to
from obverse.mine.ranking import best
from obverse.mine.tokens import Tokeniser
from obverse.records import Doc
from obverse.search import tie_places

Hits = list[tuple[int, float]]
"""``(document number, score)``, the best first."""


@dataclass(frozen=True, slots=True)
class Formula:
    """BM25 by a corpus's statistics.

    Attributes:
        size: Documents in the corpus.
        mean_length: Their mean length in words.
        k1: How soon repeated words stop counting.
        b: How much long documents are held back.
    """

    size: int
    mean_length: float
    k1: float
    b: float

    def scores(
        self,
        asked: Counter[str],
        counts: NDArray[np.float64],
        lengths: NDArray[Any],
        holders: Mapping[str, int],
    ) -> NDArray[np.float64]:
        """Returns the scores of documents, ``[n]``.

        Args:
            asked: The words of the query.
            counts: How often each of them, in this order, stands in each document, ``[n, words]``.
            lengths: Words of each document, ``[n]``.
            holders: How many documents of the corpus hold a word.
        """
        total = np.zeros(len(lengths))
        long = 1 - self.b + self.b * lengths / max(self.mean_length, 1e-9)
        for (word, times), often in zip(asked.items(), counts.T, strict=True):
            rarity = math.log(1 + (self.size - holders[word] + 0.5) / (holders[word] + 0.5))
            part = np.zeros(len(lengths))
            np.divide(times * rarity * often, often + self.k1 * long, out=part, where=often > 0)
            total += part
        return total

    def scores_of(
        self, asked: Counter[str], docs: Sequence[Sequence[str]], holders: Mapping[str, int]
    ) -> list[float]:
        """Returns the scores of documents of these words."""
        counts = np.zeros((len(docs), len(asked)))
        for row, words in zip(counts, map(Counter, docs), strict=True):
            row[:] = [words[word] for word in asked]
        lengths = np.array(list(map(len, docs)), dtype=np.int32)
        found: list[float] = self.scores(asked, counts, lengths, holders).tolist()
        return found


_PARTS = ("weights", "numbers", "starts", "lengths", "words")


class BM25Index:
    """A corpus that answers queries by BM25.

    Args:
        docs: The documents; a hit names one by its number here.
        tokeniser: Makes words of texts.
        k1: How soon repeated words stop counting.
        b: How much long documents are held back, in [0, 1].
        kept: Where the index is kept between runs, by content.
    """

    def __init__(
        self,
        docs: Sequence[Doc],
        tokeniser: Tokeniser | None = None,
        *,
        k1: float = 0.9,
        b: float = 0.4,
        kept: Kept | None = None,
    ) -> None:
        self._words = tokeniser or Tokeniser()
        self._k1, self._b = k1, b
        self._ties = tie_places([doc.doc_id for doc in docs])
        self._size = len(docs)
        parts = self._load(docs, kept) if kept is not None else self._build(docs)
        self._weights, self._numbers, self._starts, lengths, words = (
            parts[name] for name in _PARTS
        )
        self._vocabulary = {
            word: number for number, word in enumerate(words.tobytes().decode().split("\n"))
        }
        mean = float(lengths.mean()) if self._size else 0.0
        self._formula = Formula(self._size, mean, k1, b)

    def _load(self, docs: Sequence[Doc], kept: Kept) -> dict[str, NDArray[Any]]:
        settings = f"bm25-1/{self._words.name}/{self._k1}/{self._b}/{docs_digest(docs)}"
        key = hashlib.sha256(settings.encode()).hexdigest()
        built: dict[str, NDArray[Any]] = {}

        def make(name: str, path: Path) -> None:
            if not built:
                built.update(self._build(docs))
            save_to(built[name])(path)

        def part(name: str) -> NDArray[Any]:
            return kept.array(f"bm25-{name}", key, lambda path: make(name, path))

        return {name: part(name) for name in _PARTS}

    def _build(self, docs: Sequence[Doc]) -> dict[str, NDArray[Any]]:
        vocabulary: dict[str, int] = {}
        tokens = self._numbered(docs, vocabulary)
        lengths = np.fromiter((len(found) for found in tokens), dtype=np.int32, count=len(tokens))
        words = np.frombuffer("\n".join(vocabulary).encode(), dtype=np.uint8)
        if not vocabulary:
            empty = np.empty(0, dtype=np.int32)
            return dict(zip(_PARTS, (empty, empty, empty, lengths, words), strict=True))
        index = _bm25s().BM25(k1=self._k1, b=self._b, method="lucene", backend="numpy")
        index.index((tokens, vocabulary), show_progress=False, create_empty_token=False)
        found = index.scores
        made = (found["data"], found["indices"], found["indptr"], lengths, words)
        return dict(zip(_PARTS, made, strict=True))

    def _numbered(self, docs: Sequence[Doc], vocabulary: dict[str, int]) -> list[NDArray[np.int32]]:
        return [
            np.fromiter(
                (
                    vocabulary.setdefault(word, len(vocabulary))
                    for word in self._words(f"{doc.title} {doc.text}")
                ),
                dtype=np.int32,
            )
            for doc in docs
        ]

    def search(self, query: str, depth: int) -> Hits:
        """Returns the ``depth`` best documents with a score above 0."""
        words = Counter(word for word in self._words(query) if word in self._vocabulary)
        if not words or not self._size:
            return []
        scores = np.zeros(self._size, dtype=np.float32)
        for word, times in sorted(words.items()):
            token = self._vocabulary[word]
            part = slice(self._starts[token], self._starts[token + 1])
            # A document stands only once in a word's list, so that adding by index is safe.
            scores[self._numbers[part]] += self._weights[part] * np.float32(times)
        ranked = best(scores, depth, self._ties, floor=0.0)
        return [(int(number), float(scores[number])) for number in ranked]

    def search_all(self, queries: Sequence[str], depth: int) -> Iterator[Hits]:
        """Yields the hits of each query."""
        for query in queries:
            yield self.search(query, depth)

    def scores(self, query: str, docs: Sequence[Doc]) -> list[float]:
        """Returns the scores of documents that need not be in the corpus, by the corpus's statistics."""
        asked = Counter(word for word in self._words(query) if word in self._vocabulary)
        holders = {word: self._holders(word) for word in asked}
        words = [self._words(f"{doc.title} {doc.text}") for doc in docs]
        return self._formula.scores_of(asked, words, holders)

    def _holders(self, word: str) -> int:
        token = self._vocabulary[word]
        return int(self._starts[token + 1] - self._starts[token])


def _bm25s() -> Any:
    try:
        import bm25s
    except ImportError:
        raise MissingExtra("bm25s", "mine", "mining with BM25") from None
    return bm25s
