"""BM25 over a large corpus: Tantivy's index on disk finds the candidates, our formula ranks them.

Tantivy fixes its own k1 and b and rounds document lengths, so that its order is close to ours, not the same. Twice as
many documents as are asked for, and 100 more, are taken and scored as :class:`obverse.mine.bm25.BM25Index` scores them,
from the counts of their words, which lie beside the index.
Tantivy: https://github.com/quickwit-oss/tantivy.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from obverse.errors import MissingExtra
from obverse.mine.bm25 import Formula, Hits
from obverse.mine.kept import Kept, docs_digest, whole
from obverse.mine.ranking import best
from obverse.mine.tokens import Tokeniser
from obverse.mine.word_counts import WordCounts, WordCountsWriter
from obverse.records import Doc
from obverse.search import tie_places

_FIELD, _NUMBER = "words", "number"
_HEAP = 200_000_000
_WIDER, _MORE = 2, 100


class TantivyIndex:
    """A corpus that answers queries by BM25 from an index on disk.

    Args:
        docs: The documents; a hit names one by its number here.
        tokeniser: Makes words of texts.
        k1: How soon repeated words stop counting.
        b: How much long documents are held back, in [0, 1].
        kept: Where the index is kept between runs, by content.

    Raises:
        MissingExtra: If Tantivy is not installed.
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
        self._tantivy = require_tantivy()
        self._docs, self._words = docs, tokeniser or Tokeniser()
        self._ties = tie_places([doc.doc_id for doc in docs])
        self._kept = kept or Kept(None)  # its folder goes when it does
        settings = f"tantivy-2/{self._tantivy.__version__}/{self._words.name}/{docs_digest(docs)}"
        key = hashlib.sha256(settings.encode()).hexdigest()
        folder = self._kept.folder_of("tantivy", key, self._build)
        with whole(folder):
            index = self._tantivy.Index.open(str(folder))
            self._schema, self._searcher = index.schema, index.searcher()
            self._counts = WordCounts(folder)
        mean = float(self._counts.lengths.mean()) if docs else 0.0
        self._formula = Formula(len(docs), mean, k1, b)

    def _build(self, folder: Path) -> None:
        schema = self._tantivy.SchemaBuilder()
        schema.add_text_field(_FIELD, tokenizer_name="whitespace", index_option="freq")
        schema.add_unsigned_field(_NUMBER, fast=True)
        index = self._tantivy.Index(schema.build(), path=str(folder))
        # One thread and the order of ties: of equals Tantivy finds those first that were added first.
        writer = index.writer(_HEAP, 1)
        with WordCountsWriter(folder) as counts:
            for number in np.argsort(self._ties).tolist():
                words = self._words_of(self._docs[number])
                counts.add(words)
                made = self._tantivy.Document()
                made.add_text(_FIELD, " ".join(words))
                made.add_unsigned(_NUMBER, number)
                writer.add_document(made)
        writer.commit()
        writer.wait_merging_threads()

    def _words_of(self, doc: Doc) -> list[str]:
        return self._words(f"{doc.title} {doc.text}")

    def search(self, query: str, depth: int) -> Hits:
        """Returns the ``depth`` best documents with a score above 0."""
        asked = Counter(self._words(query))
        if not asked:
            return []
        nearest = self._searcher.search(
            self._query(asked), limit=_WIDER * depth + _MORE, count=False
        )
        if not nearest.hits:
            return []
        places = [place for _, place in nearest.hits]
        numbers = np.array(self._searcher.fast_field_values(_NUMBER, places), dtype=np.int64)
        known, holders = self._known(asked)
        rows = self._ties[numbers]  # words were counted in that order
        counts = self._counts.of(list(known), rows)
        found = self._formula.scores(known, counts, self._counts.lengths[rows], holders)
        scores = found.astype(np.float32)
        ranked = best(scores, depth, rows, floor=0.0)
        return list(zip(numbers[ranked].tolist(), scores[ranked].tolist(), strict=True))

    def _query(self, asked: Counter[str]) -> Any:
        """Returns a query of terms: no parser sees the words."""
        query, occur = self._tantivy.Query, self._tantivy.Occur
        terms = [
            (
                occur.Should,
                query.boost_query(query.term_query(self._schema, _FIELD, word, "freq"), times),
            )
            for word, times in sorted(asked.items())
        ]
        return query.boolean_query(terms)

    def search_all(self, queries: Sequence[str], depth: int) -> Iterator[Hits]:
        """Yields the hits of each query."""
        for query in queries:
            yield self.search(query, depth)

    def scores(self, query: str, docs: Sequence[Doc]) -> list[float]:
        """Returns the scores of documents that need not be in the corpus, by the corpus's statistics."""
        known, holders = self._known(Counter(self._words(query)))
        return self._formula.scores_of(known, [self._words_of(doc) for doc in docs], holders)

    def _known(self, asked: Counter[str]) -> tuple[Counter[str], dict[str, int]]:
        """Returns the words that the corpus has, and how many documents hold each."""
        holders = {word: self._searcher.doc_freq(_FIELD, word) for word in asked}
        return Counter({word: times for word, times in asked.items() if holders[word]}), holders


def require_tantivy() -> Any:
    """Returns the module, or raises :class:`MissingExtra`."""
    try:
        import tantivy
    except ImportError:
        raise MissingExtra("tantivy", "tantivy", "--index tantivy") from None
    return tantivy
