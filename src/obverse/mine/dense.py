"""Dense mining: the encoder's own input function, exact search block by block, memory bounded by a flag."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from obverse.log import progress
from obverse.mine.faiss_index import FaissFlat, require_faiss
from obverse.mine.kept import Kept, docs_digest
from obverse.model_digest import model_digest
from obverse.records import Doc
from obverse.search import tie_places, top_docs

if TYPE_CHECKING:
    from obverse.models import Encoder, Vectors

_AT_ONCE = 512


class DenseIndex:
    """A corpus that answers queries by an encoder's similarity, exactly.

    Args:
        docs: The documents; a hit names one by its number here.
        encoder: Encodes both sides, with its own template.
        memory_mb: How much the search may hold at once, vectors of a block and their scores, in MB.
        kept: Where document vectors are kept between runs, by content.
        faiss: Search by FAISS, which holds all vectors in memory.
    """

    def __init__(
        self,
        docs: Sequence[Doc],
        encoder: Encoder,
        *,
        memory_mb: int = 1_000,
        kept: Kept | None = None,
        faiss: bool = False,
    ) -> None:
        if faiss:
            require_faiss()  # said before the documents are encoded
        self._docs, self._encoder, self._memory_mb = docs, encoder, memory_mb
        self._places = tie_places([doc.doc_id for doc in docs])
        key = "" if kept is None else self._key
        self._vectors = (kept or Kept(None)).array("vectors", key, self._encode)
        self._flat = FaissFlat(self._vectors, self._places, memory_mb) if faiss else None

    @property
    def _key(self) -> str:
        encoder = self._encoder
        parts = [model_digest(encoder), encoder.template.digest, str(encoder.max_tokens)]
        return hashlib.sha256("/".join([*parts, docs_digest(self._docs)]).encode()).hexdigest()

    def _encode(self, path: Path) -> None:
        """Writes the vectors to a memory-mapped file, so that they need not fit into memory."""
        width = int(self._encoder.docs([Doc("", "width")]).shape[1])
        out = np.lib.format.open_memmap(
            path, mode="w+", dtype=np.float32, shape=(len(self._docs), width)
        )
        order = sorted(range(len(self._docs)), key=lambda at: -len(self._docs[at].text))
        starts = range(0, len(order), _AT_ONCE)
        for start in progress(starts, f"{self._encoder.name}: {len(order):,} documents"):
            part = order[start : start + _AT_ONCE]
            out[part] = self._encoder.docs([self._docs[at] for at in part])
        out.flush()

    def search_all(self, queries: Sequence[str], depth: int) -> Iterator[list[tuple[int, float]]]:
        """Yields the hits of each query."""
        encoded = self._encoder.queries([(query, "") for query in queries])
        if self._flat is not None:
            for rows, values in self._flat.search(encoded, depth):
                yield list(zip(rows.tolist(), values.tolist(), strict=True))
            return
        width = encoded.shape[1]
        cells = self._memory_mb * 250_000  # float32 values in so many MB
        block = max(1, cells // (width + 2 * len(queries)))
        found, scores = top_docs(encoded, self._vectors, depth, places=self._places, block=block)
        for own, values in zip(found.tolist(), scores.tolist(), strict=True):
            yield list(zip(own, values, strict=True))

    def scores(self, query: str, docs: Sequence[Doc]) -> list[float]:
        """Returns the scores of documents that need not be in the corpus."""
        if not docs:
            return []
        asked: Vectors = self._encoder.queries([(query, "")])
        return [float(score) for score in self._encoder.docs(docs) @ asked[0]]
