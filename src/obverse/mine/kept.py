"""Indexes and vectors kept between runs, by content: a changed document, model or setting makes another file."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.errors import InputError, SettingError
from obverse.records import Doc


class Kept:
    """A folder of arrays and indexes by content; None keeps nothing beyond the process.

    Args:
        folder: The folder, made when first needed.
    """

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        if folder is None or not os.fspath(folder):
            self.folder = Path(tempfile.mkdtemp(prefix="obverse-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        else:
            self.folder = Path(folder).expanduser()
        self.found: list[Path] = []

    def array(self, name: str, key: str, make: Callable[[Path], None]) -> NDArray[Any]:
        """Returns the array under a key, memory-mapped; makes it where it is not there yet.

        Args:
            make: Writes the array to a path as .npy.
        """
        path = self.folder / f"{name}-{key[:32]}.npy"
        if path.is_file():
            self.found.append(path)
        else:
            with self._writable():
                self.folder.mkdir(parents=True, exist_ok=True)
                handle, part = tempfile.mkstemp(dir=self.folder, suffix=".part")
                os.close(handle)
            try:
                make(Path(part))
                os.replace(part, path)
            except BaseException:
                Path(part).unlink(missing_ok=True)
                raise
        with whole(path):
            array: NDArray[Any] = np.load(path, mmap_mode="r")
        return array

    @contextlib.contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise SettingError(
                f"cannot be a cache: {error.strerror}",
                where=str(self.folder),
                fix="Give another folder with --cache",
            ) from None

    def folder_of(self, name: str, key: str, make: Callable[[Path], None]) -> Path:
        """Returns the folder under a key; makes it where it is not there yet.

        Args:
            make: Fills an empty folder.
        """
        path = self.folder / f"{name}-{key[:32]}"
        if path.is_dir():
            self.found.append(path)
            return path
        with self._writable():
            self.folder.mkdir(parents=True, exist_ok=True)
            part = Path(tempfile.mkdtemp(dir=self.folder, suffix=".part"))
        try:
            make(part)
            part.rename(path)
        except OSError:
            if not path.is_dir():  # where it is, another process was faster
                raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return path


@contextlib.contextmanager
def whole(path: Path) -> Iterator[None]:
    """Says in one line that what is kept cannot be used.

    Raises:
        InputError: Where opening it fails.
    """
    try:
        yield
    except (OSError, ValueError, EOFError):
        raise InputError(
            "is damaged or cannot be read", where=str(path), fix="Remove it: it will be made again"
        ) from None


def docs_digest(docs: Sequence[Doc]) -> str:
    """Returns a hash of the documents' ids, titles and texts, in their order."""
    state = hashlib.blake2b(digest_size=20)
    for doc in docs:
        state.update(f"{doc.doc_id}\0{doc.title}\0{doc.text}\0".encode("utf-8", "surrogatepass"))
    return state.hexdigest()


def save_to(array: NDArray[Any]) -> Callable[[Path], None]:
    """Returns a function that writes the array to a path."""

    def make(path: Path) -> None:
        with path.open("wb") as stream:
            np.save(stream, array)

    return make
