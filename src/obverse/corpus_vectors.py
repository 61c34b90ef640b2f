"""Document vectors: every distinct input string is encoded once, and kept for the next search."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from obverse.errors import InputError
from obverse.files import read_json, whole_file, write_json
from obverse.log import progress
from obverse.model_digest import model_digest
from obverse.models import Encoder, Vectors
from obverse.records import Doc

_CHUNKS = 200  # an encoding is cut into about so many; a stopped one loses a chunk at most
_LARGEST = 4_096


class StoredVectors:
    """The vectors of some documents where they lie, in memory or in files; only the rows that are asked for are read.

    Attributes:
        order: int64 ``[n]``: the documents, by number, in the order in which their vectors are stored.
    """

    def __init__(
        self, parts: Sequence[Vectors | Path], starts: Sequence[int], rows: NDArray[np.int64]
    ) -> None:
        self._parts, self._starts, self._rows = parts, np.asarray(starts, dtype=np.int64), rows
        self._mapped = lru_cache(maxsize=64)(_mapped)  # an open file each
        on_disk = any(isinstance(part, Path) for part in parts)
        # Files are read from front to back; in memory the documents' own order costs nothing.
        self.order: NDArray[np.int64] = (
            np.argsort(rows, kind="stable") if on_disk else np.arange(len(rows))
        )

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, places: slice) -> Vectors:
        """Returns the vectors at these places of :attr:`order`: float32 ``[n, d]``."""
        return self.of(self.order[places])

    def of(self, numbers: Sequence[int] | NDArray[np.int64]) -> Vectors:
        """Returns the vectors of documents by number: float32 ``[n, d]``."""
        rows = self._rows[numbers]
        if not len(rows):
            return np.empty((0, 0), dtype=np.float32)
        owners = np.searchsorted(self._starts, rows, side="right") - 1
        first = int(owners[0])
        if (owners == first).all():
            return np.asarray(self._part(first)[rows - self._starts[first]])
        found = np.empty((len(rows), self._part(first).shape[1]), dtype=np.float32)
        for owner in np.unique(owners).tolist():
            own = owners == owner
            found[own] = self._part(owner)[rows[own] - self._starts[owner]]
        return found

    def _part(self, number: int) -> Vectors:
        part = self._parts[number]
        return self._mapped(part) if isinstance(part, Path) else part


class CorpusVectors:
    """The document vectors of one encoder, kept by input string.

    Give the same object to several evaluations of one model and the corpus is encoded once.
    """

    def __init__(self, encoder: Encoder, *, at_once: int = 512) -> None:
        self.encoder, self.at_once = encoder, at_once
        self._row: dict[bytes, int] = {}
        self._parts: list[Vectors | Path] = []
        self._starts: list[int] = []
        self._home: Path | None = None
        self._next = 0

    def keep_in(self, folder: str | os.PathLike[str]) -> None:
        """Keeps the vectors in a folder from now on and knows those that are there: a stopped encoding goes on.

        The vectors stay in their files, so that they may be larger than memory. Each chunk is a pair of files,
        ``000000.npy`` (float32 ``[n, d]``, to be memory-mapped) and ``000000.keys`` (16 bytes a row, the hash of the
        input string). A chunk counts only when both are whole.

        Raises:
            InputError: If the folder holds vectors of another model, of other weights, template or token limit, or a
                damaged chunk.
        """
        self._home = Path(folder)
        self._home.mkdir(parents=True, exist_ok=True)
        own = {
            "model": self.encoder.name,
            "weights": model_digest(self.encoder),
            "template": self.encoder.template.digest,
            "max_tokens": self.encoder.max_tokens,
        }
        about = self._home / "about.json"
        if about.is_file() and (there := read_json(about)) != own:
            raise InputError(
                f"holds vectors of {there}, not of {own}",
                where=str(folder),
                fix="Name another folder, or remove this one: vectors can be made again",
            )
        write_json(about, own)
        for file in sorted(self._home.glob("*.keys")):
            names, path = file.read_bytes(), file.with_suffix(".npy")
            keys = [names[at : at + 16] for at in range(0, len(names), 16)]
            _refuse_damaged(path, len(keys))
            self._add(keys, path)
            self._next = int(file.stem) + 1

    def _add(self, keys: Sequence[bytes], vectors: Vectors | Path) -> None:
        first = len(self._row)
        self._row |= {key: first + number for number, key in enumerate(keys)}
        self._parts.append(vectors)
        self._starts.append(first)

    def _write(self, keys: Sequence[bytes], vectors: Vectors) -> Path:
        assert self._home is not None
        path = self._home / f"{self._next:06}.npy"
        self._next += 1
        with whole_file(path) as stream:
            np.save(stream, vectors)
        with whole_file(path.with_suffix(".keys")) as stream:
            stream.write(b"".join(keys))
        return path

    def of(self, docs: Sequence[Doc]) -> Vectors:
        """Returns the vectors of documents, in memory; those not yet known are encoded, with a progress bar.

        Returns:
            float32 ``[n, d]``, unit length: n documents, d width.
        """
        return self.stored(docs).of(np.arange(len(docs)))

    def stored(self, docs: Sequence[Doc]) -> StoredVectors:
        """Returns the vectors of documents where they lie; those not yet known are encoded, with a progress bar."""
        keys, new, lengths = [], {}, {}
        for number, doc in enumerate(docs):
            keys.append(key := _key(self.encoder.template.doc(doc)))
            if key not in self._row and key not in new:
                new[key], lengths[key] = number, len(doc.text)
        self._encode(docs, new, lengths)
        rows = np.fromiter((self._row[key] for key in keys), dtype=np.int64, count=len(keys))
        return StoredVectors(self._parts, self._starts, rows)

    def _encode(
        self, docs: Sequence[Doc], new: Mapping[bytes, int], lengths: Mapping[bytes, int]
    ) -> None:
        """Encodes documents by number; their texts are looked up chunk by chunk, and may lie in a file."""
        # Long documents first: a batch holds texts of like length, and memory is asked for at its highest at once.
        ordered = sorted(new, key=lambda key: -lengths[key])
        size = max(self.at_once, min(_LARGEST, len(ordered) // _CHUNKS))
        chunks = [ordered[at : at + size] for at in range(0, len(ordered), size)]
        for names in progress(chunks, f"{self.encoder.name}: encoding {len(ordered):,} documents"):
            vectors = self.encoder.docs([docs[new[key]] for key in names])
            self._add(names, self._write(names, vectors) if self._home is not None else vectors)
        if self._home is None and len(self._parts) > 1:
            self._parts = [
                np.concatenate([part for part in self._parts if not isinstance(part, Path)])
            ]
            self._starts = [0]


def _mapped(path: Path) -> Vectors:
    found: Vectors = np.load(path, mmap_mode="r")
    return found


def _refuse_damaged(path: Path, keys: int) -> None:
    try:
        rows = len(np.load(path, mmap_mode="r"))
    except (OSError, ValueError):
        rows = -1
    if rows != keys:
        raise InputError(
            f"is damaged: {keys} vectors were expected",
            where=str(path),
            fix=f"Remove it and {path.with_suffix('.keys').name}; they are encoded again",
        )


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
