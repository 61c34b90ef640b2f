"""Files opened for reading: what an archive is, its first bytes say."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from typing import IO, Any

from obverse.errors import InputError, MissingExtra

_BZIP2, _XZ, _ZIP = b"BZh", b"\xfd7zXZ\x00", b"PK\x03\x04"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ARCHIVES = (_GZIP, _ZSTD, _XZ[:4], _ZIP)


@contextlib.contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Opens a file for reading, decompressed by its first bytes; ``-`` is standard input.

    Raises:
        InputError: If the file is missing, a folder, or its archive is cut off or damaged.
    """
    name = os.fspath(path)
    try:
        raw: IO[bytes] = standard_input() if name == "-" else open(name, "rb")  # noqa: SIM115
    except FileNotFoundError:
        raise InputError("no such file", where=name, fix="Check the path") from None
    except IsADirectoryError:
        raise InputError("is a folder, not a file", where=name, fix="Name a file in it") from None
    except OSError as error:
        raise InputError(
            f"cannot be opened: {error.strerror}", where=name, fix="Check the path"
        ) from None
    with raw:
        buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)  # type: ignore[type-var]
        head = buffered.peek(4)[:4]
        stream: Any = buffered
        if head.startswith(_GZIP):
            stream = gzip.GzipFile(fileobj=buffered)
        elif head == _ZSTD:
            stream = io.BufferedReader(_ZstdFrames(buffered), buffer_size=1 << 17)
        elif head.startswith(_BZIP2):
            stream = bz2.BZ2File(buffered)
        elif head == _XZ[:4]:
            stream = lzma.LZMAFile(buffered)  # noqa: SIM115
        elif head == _ZIP:
            raise InputError(
                "is a zip archive",
                where=name,
                fix="Unpack it and name a file of it",
                code="cut_archive",
            )
        try:
            if stream is not buffered and stream.peek(4)[:4].startswith(_ARCHIVES):
                raise InputError(
                    "is an archive inside an archive",
                    where=name,
                    fix="Unpack it once",
                    code="cut_archive",
                )
            yield stream
        except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
            raise InputError(
                f"the archive is cut off or damaged ({error})",
                where=name,
                fix="Fetch or write the file again",
                code="cut_archive",
            ) from None
        except Exception as error:
            # bz2 raises a bare OSError, and zstandard may not be installed to name its error.
            if type(error).__name__ == "ZstdError" or head.startswith(_BZIP2):
                raise InputError(
                    f"the archive is cut off or damaged ({error})",
                    where=name,
                    fix="Fetch or write the file again",
                    code="cut_archive",
                ) from None
            raise


def standard_input() -> IO[bytes]:
    """Returns standard input, which can be read once.

    Raises:
        InputError: If it is closed.
    """
    if sys.stdin is None or sys.stdin.closed:
        raise InputError(
            "standard input is closed, or was read before",
            where="-",
            fix="Save it to a file and name that",
        )
    return sys.stdin.buffer


class _ZstdFrames(io.RawIOBase):
    """Reads zstd frames one after the other and tells a cut one from an ended one, which the library does not."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source, self._new = source, zstd().ZstdDecompressor().decompressobj
        self._frame = self._new()
        self._inside, self._ready, self._rest = False, b"", b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            piece = self._rest or self._source.read(1 << 17)
            if not piece:
                if self._inside:
                    raise EOFError("the last zstd frame has no end")
                return 0
            self._inside = True
            self._ready = self._frame.decompress(piece)
            self._rest = b""
            if self._frame.eof:
                self._rest = self._frame.unused_data
                self._frame, self._inside = self._new(), False
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def zstd() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("zstandard", None, "reading or writing .zst") from None
    return zstandard
