"""Document vectors: every distinct input string is encoded once, and kept for the next search."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from obverse.log import progress
from obverse.models import Encoder, Vectors
from obverse.records import Doc


class CorpusVectors:
    """The document vectors of one encoder, kept by input string.

    Give the same object to several evaluations of one model and the corpus is encoded once.
    """

    def __init__(self, encoder: Encoder, *, at_once: int = 512) -> None:
        self.encoder, self.at_once = encoder, at_once
        self._row: dict[bytes, int] = {}
        self._parts: list[Vectors] = []

    def of(self, docs: Sequence[Doc]) -> Vectors:
        """Returns the vectors of documents; those not yet known are encoded, with a progress bar.

        Returns:
            float32 ``[n, d]``, unit length: n documents, d width.
        """
        keys = [_key(self.encoder.template.doc(doc)) for doc in docs]
        new = {key: doc for key, doc in zip(keys, docs, strict=True) if key not in self._row}
        # Long documents first: a batch holds texts of like length, and memory is asked for at its highest at once.
        ordered = sorted(new.items(), key=lambda item: -len(item[1].text))
        chunks = [ordered[at : at + self.at_once] for at in range(0, len(ordered), self.at_once)]
        for chunk in progress(chunks, f"{self.encoder.name}: encoding {len(ordered):,} documents"):
            vectors = self.encoder.docs([doc for _, doc in chunk])
            self._row |= {key: len(self._row) + n for n, (key, _) in enumerate(chunk)}
            self._parts.append(vectors)
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        if not self._parts:
            return np.empty((0, 0), dtype=np.float32)
        known: Vectors = self._parts[0][[self._row[key] for key in keys]]
        return known


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
