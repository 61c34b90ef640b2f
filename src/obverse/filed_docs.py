"""Documents whose texts stay in their file: a corpus may be larger than memory."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import overload

from obverse.errors import InputError
from obverse.records import Doc

HELD = 200_000_000
"""Files of more bytes than this stay on disk; smaller ones are read whole."""

Parse = Callable[[bytes, str], Doc]
"""Makes a document of a line; the place is named in errors."""

_BOM = b"\xef\xbb\xbf"


class FiledDocs(Mapping[str, Doc]):
    """The documents of a file of lines by id; in memory are their ids and where each line lies.

    The file is read through once at the start, so that a wrong line is found before anything is computed. Where an id
    stands twice, the last line counts, as in a corpus that is read whole.

    Args:
        path: The file, not compressed.
        parse: Makes a document of a line.
    """

    def __init__(self, path: str | os.PathLike[str], parse: Parse) -> None:
        self._path, self._parse = os.fspath(path), parse
        self._row: dict[str, int] = {}
        starts, sizes = array("q"), array("q")
        place = 0
        with open(path, "rb") as stream:
            for number, raw in enumerate(stream, start=1):
                line = _text_of(raw)
                if line.strip():
                    self._row[parse(line, f"{self._path}:{number}").doc_id] = len(starts)
                    starts.append(place)
                    sizes.append(len(raw))
                place += len(raw)
        self._starts, self._sizes = starts, sizes
        self._stream = open(path, "rb")  # noqa: SIM115 - open for as long as the documents are

    def __getitem__(self, doc_id: str) -> Doc:
        row = self._row[doc_id]
        raw = os.pread(self._stream.fileno(), self._sizes[row], self._starts[row])
        doc = self._parse(_text_of(raw), f"{self._path}, {doc_id}")
        if doc.doc_id != doc_id:
            raise InputError(
                f"has changed since it was opened: {doc.doc_id!r} stands where {doc_id!r} stood",
                where=self._path,
                fix="Start again, and leave the file alone meanwhile",
            )
        return doc

    def __iter__(self) -> Iterator[str]:
        return iter(self._row)

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._row

    def __del__(self) -> None:
        if hasattr(self, "_stream"):
            self._stream.close()


class ChosenDocs(Sequence[Doc]):
    """Some documents of a corpus in order, looked up when they are needed.

    Attributes:
        ids: Their ids.
        by_id: The corpus.
    """

    def __init__(self, ids: Sequence[str], by_id: Mapping[str, Doc]) -> None:
        self.ids, self.by_id = ids, by_id

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> Doc: ...

    @overload
    def __getitem__(self, place: slice) -> ChosenDocs: ...

    def __getitem__(self, place: int | slice) -> Doc | ChosenDocs:
        if isinstance(place, slice):
            return ChosenDocs(self.ids[place], self.by_id)
        return self.by_id[self.ids[place]]

    def __iter__(self) -> Iterator[Doc]:
        return (self.by_id[doc_id] for doc_id in self.ids)


def ids_of(docs: Sequence[Doc]) -> list[str]:
    """Returns the ids of documents, without reading the texts of those that lie in a file."""
    return list(docs.ids) if isinstance(docs, ChosenDocs) else [doc.doc_id for doc in docs]


def by_id_of(docs: Sequence[Doc]) -> Mapping[str, Doc]:
    """Returns documents by id, without reading the texts of those that lie in a file."""
    return docs.by_id if isinstance(docs, ChosenDocs) else {doc.doc_id: doc for doc in docs}


def stays_on_disk(path: Path) -> bool:
    """Whether a file is so large that its texts are left where they are."""
    return path.stat().st_size > HELD


def _text_of(raw: bytes) -> bytes:
    return raw.removeprefix(_BOM).rstrip(b"\r\n")
