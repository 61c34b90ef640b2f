"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from obverse.errors import InputError
from obverse.files.opening import zstd


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Opens a file for writing that appears under its name only when the block ends without an error.

    Compresses by suffix (.gz, .zst); ``-`` is standard output. Parent folders are made.
    """
    target = Path(path)
    if os.fspath(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if target.is_dir():
        raise InputError("is a folder", where=os.fspath(path), fix="Name a file with --out")
    made = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".part"
        )
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}",
            where=os.fspath(path),
            fix="Choose another place with --out",
        ) from None
    try:
        with os.fdopen(handle, "wb") as raw:
            if target.suffix == ".gz":
                # No name and no time in the header: the same records give the same bytes.
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as stream:
                    yield stream  # type: ignore[misc]
            elif target.suffix == ".zst":
                with (
                    zstd()
                    .ZstdCompressor(write_checksum=True)
                    .stream_writer(raw, closefd=False) as stream
                ):
                    yield stream
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        for folder in made:
            with contextlib.suppress(OSError):  # others may have written there
                folder.rmdir()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
