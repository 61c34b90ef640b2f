"""Document vectors: every distinct input string is encoded once, and kept for the next search."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from obverse.errors import InputError
from obverse.files import read_json, whole_file, write_json
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
        self._home: Path | None = None

    def keep_in(self, folder: str | os.PathLike[str]) -> None:
        """Keeps the vectors in a folder from now on and reads those that are there: a stopped encoding goes on.

        Each chunk is a pair of files, ``0000.npy`` (float32 ``[n, d]``, to be memory-mapped) and ``0000.keys`` (16
        bytes a row, the hash of the input string). A chunk counts only when both are whole.

        Raises:
            InputError: If the folder holds vectors of another model, template or token limit.
        """
        self._home = Path(folder)
        self._home.mkdir(parents=True, exist_ok=True)
        own = {
            "model": self.encoder.name,
            "template": self.encoder.template.digest,
            "max_tokens": self.encoder.max_tokens,
        }
        about = self._home / "about.json"
        if about.is_file() and (there := read_json(about)) != own:
            raise InputError(
                f"holds vectors of {there}, not of {own}",
                where=str(folder),
                fix="Name another folder",
            )
        write_json(about, own)
        for keys in sorted(self._home.glob("*.keys")):
            names = keys.read_bytes()
            self._add(
                [names[at : at + 16] for at in range(0, len(names), 16)],
                np.load(keys.with_suffix(".npy")),
            )

    def _add(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        first = len(self._row)
        self._row |= {key: first + number for number, key in enumerate(keys)}
        self._parts.append(vectors)

    def _write(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        assert self._home is not None
        number = len(list(self._home.glob("*.keys")))
        with whole_file(self._home / f"{number:06}.npy") as stream:
            np.save(stream, vectors)
        with whole_file(self._home / f"{number:06}.keys") as stream:
            stream.write(b"".join(keys))

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
            names = [key for key, _ in chunk]
            if self._home is not None:
                self._write(names, vectors)
            self._add(names, vectors)
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        if not self._parts:
            return np.empty((0, 0), dtype=np.float32)
        known: Vectors = self._parts[0][[self._row[key] for key in keys]]
        return known


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
