"""Records to and from files: JSON Lines (plain, .gz, .zst) for people, Parquet for scale.

Reading recognises compression by the first bytes, not by the suffix. Writing is whole or not at all: a file under
its final name is complete.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import orjson

from obverse.errors import InputError, MissingExtra
from obverse.records import Doc, Topic, topic_from_json, topic_to_json

BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 20
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_BZIP2, _XZ, _ZIP = b"BZh", b"\xfd7zXZ\x00", b"PK\x03\x04"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@contextlib.contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Opens a file for reading, decompressed by its first bytes; ``-`` is standard input.

    Raises:
        InputError: If the file is missing, a folder, or its archive is cut off or damaged.
    """
    name = os.fspath(path)
    try:
        raw: IO[bytes] = sys.stdin.buffer if name == "-" else open(name, "rb")  # noqa: SIM115
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
            raise InputError("is a zip archive", where=name, fix="Unpack it and name a file of it")
        try:
            yield stream
        except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
            raise InputError(
                f"the archive is cut off or damaged ({error})",
                where=name,
                fix="Fetch or write the file again",
            ) from None
        except Exception as error:
            # bz2 raises a bare OSError, and zstandard may not be installed to name its error.
            if type(error).__name__ == "ZstdError" or head.startswith(_BZIP2):
                raise InputError(
                    f"the archive is cut off or damaged ({error})",
                    where=name,
                    fix="Fetch or write the file again",
                ) from None
            raise


class _ZstdFrames(io.RawIOBase):
    """Reads zstd frames one after the other and tells a cut one from an ended one, which the library does not."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source, self._new = source, _zstd().ZstdDecompressor().decompressobj
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


def _zstd() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("zstandard", "zst", "reading or writing .zst") from None
    return zstandard


@dataclass(slots=True)
class LineFacts:
    """What :func:`read_lines` took away: how often, and in which line first."""

    marks: int = 0
    crlf: int = 0
    blank: int = 0
    first_mark: int | None = None
    first_crlf: int | None = None
    first_blank: int | None = None

    def mark(self, number: int) -> None:
        self.marks += 1
        self.first_mark = self.first_mark or number

    def returned(self, number: int) -> None:
        self.crlf += 1
        self.first_crlf = self.first_crlf or number

    def skipped(self, number: int) -> None:
        self.blank += 1
        self.first_blank = self.first_blank or number


def read_lines(
    path: str | os.PathLike[str], facts: LineFacts | None = None, *, blank: bool = False
) -> Iterator[tuple[int, bytes]]:
    """Yields ``(line number, line)`` without byte-order marks, line ends and blank lines.

    Lines end at LF alone (a CR before it is dropped): U+2028 and its kin are text. A byte-order mark at the start
    of a later line, as joined files have it, goes too.

    Args:
        facts: Counts what was taken away.
        blank: Yield blank lines as well, uncounted: a quoted CSV field may hold some.

    Raises:
        InputError: If the file is missing, damaged, or UTF-16 or UTF-32.
    """
    facts = LineFacts() if facts is None else facts
    number = 0
    with open_bytes(path) as stream:
        for lines, odd in _blocks(stream):
            for raw in lines:
                number += 1
                line = _cleaned(raw, number, facts, path) if odd else raw
                if (not line or line.isspace()) and not blank:
                    facts.skipped(number)
                else:
                    yield number, line


def _blocks(stream: IO[bytes]) -> Iterator[tuple[list[bytes], bool]]:
    """Yields the lines of blocks, and whether a block holds a CR or what may be a byte-order mark."""
    rest, odd = b"", True  # the first line may begin with a mark
    end = b""
    while block := stream.read(_BLOCK):
        end = end or (b"\r" if b"\r" in block and b"\n" not in block else b"\n")
        odd = odd or b"\r" in block or BOM in block
        lines = (rest + block).split(end)
        rest = lines.pop()
        if lines:
            yield lines, odd or lines[0].endswith(b"\r") or lines[0].startswith(BOM)
            odd = False
    if rest:
        yield [rest], True


def _cleaned(line: bytes, number: int, facts: LineFacts, path: str | os.PathLike[str]) -> bytes:
    if line.endswith(b"\r"):
        line = line.rstrip(b"\r")
        facts.returned(number)
    if line.startswith(BOM):
        line = line.removeprefix(BOM)
        facts.mark(number)
    elif number == 1 and line.startswith(_WIDE_MARKS):
        raise InputError(
            "is UTF-16 or UTF-32 text",
            where=os.fspath(path),
            fix="Save it as UTF-8: iconv -f UTF-16 -t UTF-8",
        )
    return line


def read_json_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, Any]]:
    """Yields ``(line number, value)`` for each line of a JSON Lines file.

    Raises:
        InputError: With file and line, if a line is no JSON.
    """
    for number, line in read_lines(path):
        try:
            yield number, parse_json(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f"is no JSON ({error.msg} at column {error.colno})",
                where=f"{os.fspath(path)}:{number}",
                fix="Write one JSON value on each line",
            ) from None


def parse_json(line: bytes) -> Any:
    """Returns the JSON value of a line; escaped lone surrogates, which some tools write, are read too.

    Raises:
        json.JSONDecodeError: If the line is no JSON. NaN and Infinity are none.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        if b"\\ud" not in line.lower():
            raise
        return json.loads(line.decode("utf-8", "surrogatepass"), parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    raise json.JSONDecodeError(f"{name} is no JSON value", name, 0)


def read_json(path: str | os.PathLike[str]) -> Any:
    """Returns the one JSON value of a file.

    Raises:
        InputError: With file and line, if it is no JSON.
    """
    with open_bytes(path) as stream:
        data = stream.read()
    try:
        return orjson.loads(data.removeprefix(BOM))
    except orjson.JSONDecodeError as error:
        raise InputError(
            f"is no JSON ({error.msg} at column {error.colno})",
            where=f"{os.fspath(path)}:{error.lineno}",
            fix="Write one JSON value",
        ) from None


def read_topics(path: str | os.PathLike[str]) -> Iterator[Topic]:
    """Yields the topics of a JSON Lines or Parquet file, in order, streaming.

    Raises:
        InputError: With file and line, for the first row that is no topic, a topic_id that stands twice, or a file
            without topics.
    """
    name = os.fspath(path)
    seen: dict[str, int] = {}
    for number, row in topic_rows(path):
        try:
            topic = topic_from_json(row)
            if topic.topic_id in seen:
                raise InputError(
                    f"topic_id {topic.topic_id!r} stands already in line {seen[topic.topic_id]}",
                    where="topic_id",
                    fix="Give every topic an id of its own",
                )
        except InputError as error:
            raise error.at(f"{name}:{number}") from None
        seen[topic.topic_id] = number
        yield topic
    if not seen:
        raise InputError("holds no topic", where=name, fix="Write one topic on each line")


def topic_rows(
    path: str | os.PathLike[str], facts: LineFacts | None = None
) -> Iterator[tuple[int, Any]]:
    """Yields ``(line, row)`` of a topics file, JSON Lines or Parquet by its first bytes, unchecked.

    Raises:
        InputError: With file and line, if a row is no JSON or labels a document twice.
    """
    name = os.fspath(path)
    if name != "-":
        with open_bytes(path) as stream:
            if stream.read(4) == b"PAR1":
                yield from _read_parquet(name)
                return
    yield from _read_topic_lines(name, facts)


def _read_topic_lines(name: str, facts: LineFacts | None) -> Iterator[tuple[int, Any]]:
    for number, line in read_lines(name, facts):
        try:
            row = parse_json(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f"is no JSON ({error.msg} at column {error.colno})",
                where=f"{name}:{number}",
                fix="Write one topic as a JSON object on each line",
            ) from None
        if may_repeat_keys(line, row):
            _refuse_double_keys(line, f"{name}:{number}")
        yield number, row


def may_repeat_keys(line: bytes, value: Any) -> bool:
    """Whether a line of JSON may hold a key that stands twice in one object: parsers keep the last and say nothing.

    True also for some lines that hold none; a closer look costs a second parse.
    """
    return key_count(value) != line.count(b'":') - line.count(b'\\":')


def key_count(value: Any) -> int:
    """Returns how many keys the objects in a JSON value have, all together."""
    count, open_values = 0, [value]
    while open_values:  # no recursion: depth is the writer's choice
        found = open_values.pop()
        if type(found) is dict:
            count += len(found)
            open_values.extend(item for item in found.values() if type(item) in _NESTING)
        elif type(found) is list:
            open_values.extend(item for item in found if type(item) in _NESTING)
    return count


_NESTING = (dict, list)


def repeated_key(line: bytes) -> str | None:
    """Returns the first key that stands twice in one object of a line of JSON, or None."""
    found: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in items]
        if len(set(keys)) < len(keys):
            found.append(next(key for key in keys if keys.count(key) > 1))

    json.loads(line, object_pairs_hook=pairs)
    return found[0] if found else None


def _refuse_double_keys(line: bytes, where: str) -> None:
    """A document with two labels would pass unseen."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            keys = [key for key, _ in items]
            twice = next(key for key in keys if keys.count(key) > 1)
            values = ", ".join(str(value) for key, value in items if key == twice)[:80]
            raise InputError(
                f"{twice!r} stands twice in one object ({values})",
                where=where,
                fix="Keep one of the two",
            )
        return found

    json.loads(line, object_pairs_hook=pairs)


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
                    _zstd()
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
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json_lines(path: str | os.PathLike[str], rows: Iterable[Any]) -> int:
    """Writes one JSON value a line and returns how many there were."""
    count = 0
    with whole_file(path) as stream:
        for row in rows:
            stream.write(to_json(row) + b"\n")
            count += 1
    return count


def to_json(value: Any, *, indent: bool = False) -> bytes:
    """Returns the value as UTF-8 JSON; lone surrogates, which UTF-8 cannot hold, are written escaped."""
    option = (
        orjson.OPT_NON_STR_KEYS
        | orjson.OPT_SERIALIZE_NUMPY
        | (orjson.OPT_INDENT_2 if indent else 0)
    )
    try:
        return orjson.dumps(value, option=option)
    except TypeError:
        return json.dumps(value, ensure_ascii=True, indent=2 if indent else None).encode()


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Writes one JSON value, indented, whole or not at all."""
    with whole_file(path) as stream:
        stream.write(to_json(value, indent=True) + b"\n")


def write_topics(path: str | os.PathLike[str], topics: Iterable[Topic]) -> int:
    """Writes topics as JSON Lines, or as Parquet where the name ends in .parquet; returns their number."""
    if os.fspath(path).endswith(".parquet"):
        return _write_parquet(path, topics)
    return write_json_lines(path, map(topic_to_json, topics))


def parquet() -> Any:
    """Returns pyarrow with its Parquet module.

    Raises:
        MissingExtra: If it is not installed.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "reading or writing Parquet") from None
    return pyarrow


def _parquet_schema(pa: Any) -> Any:
    doc = pa.struct([("doc_id", pa.string()), ("title", pa.string()), ("text", pa.string())])
    view = pa.struct(
        [
            ("instruction", pa.string()),
            ("labels", pa.map_(pa.string(), pa.string())),
            ("origin", pa.string()),
            ("checks", pa.string()),
        ]
    )
    return pa.schema(
        [
            ("topic_id", pa.string()),
            ("query", pa.string()),
            ("docs", pa.list_(doc)),
            ("views", pa.list_(view)),
        ]
    )


def _write_parquet(
    path: str | os.PathLike[str], topics: Iterable[Topic], rows_per_group: int = 5_000
) -> int:
    pa = parquet()
    schema, count = _parquet_schema(pa), 0
    # A large dictionary page stores a document that many topics share once for each group of rows.
    settings = {"compression": "zstd", "dictionary_pagesize_limit": 1 << 28}
    rest = iter(topics)
    with whole_file(path) as stream, pa.parquet.ParquetWriter(stream, schema, **settings) as writer:
        while batch := list(islice(rest, rows_per_group)):
            count += len(batch)
            writer.write_table(_arrow_table(pa, schema, batch))
    return count


def _arrow_table(pa: Any, schema: Any, topics: list[Topic]) -> Any:
    docs = [doc for topic in topics for doc in topic.docs]
    views = [view for topic in topics for view in topic.views]
    labels = [view.labels for view in views]
    doc_columns = [[d.doc_id for d in docs], [d.title for d in docs], [d.text for d in docs]]
    doc_type, view_type = (
        schema.field("docs").type.value_type,
        schema.field("views").type.value_type,
    )
    label_column = pa.MapArray.from_arrays(
        _offsets(labels),
        pa.array([doc_id for each in labels for doc_id in each], pa.string()),
        pa.array([str(label) for each in labels for label in each.values()], pa.string()),
    )
    view_columns = [
        pa.array([view.instruction for view in views], pa.string()),
        label_column,
        pa.array([to_json(view.origin).decode() for view in views], pa.string()),
        pa.array([to_json(view.checks).decode() for view in views], pa.string()),
    ]
    columns = [
        pa.array([topic.topic_id for topic in topics], pa.string()),
        pa.array([topic.query for topic in topics], pa.string()),
        pa.ListArray.from_arrays(
            _offsets([topic.docs for topic in topics]),
            pa.StructArray.from_arrays(
                [pa.array(column, pa.string()) for column in doc_columns], fields=list(doc_type)
            ),
        ),
        pa.ListArray.from_arrays(
            _offsets([topic.views for topic in topics]),
            pa.StructArray.from_arrays(view_columns, fields=list(view_type)),
        ),
    ]
    return pa.Table.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )


def _offsets(parts: Iterable[Sized]) -> list[int]:
    offsets = [0]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    return offsets


def _read_parquet(name: str) -> Iterator[tuple[int, Any]]:
    pa = parquet()
    if not Path(name).is_file():
        raise InputError("no such file", where=name, fix="Check the path")
    try:
        source = pa.parquet.ParquetFile(name)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"is no Parquet file ({error})", where=name, fix="Write the file again"
        ) from None
    number = 0
    for batch in source.iter_batches(batch_size=2_000):
        for row in batch.to_pylist():
            number += 1
            for view in row.get("views") or []:
                view["labels"] = dict(view["labels"])
                view["origin"], view["checks"] = (
                    orjson.loads(view["origin"]),
                    orjson.loads(view["checks"]),
                )
            yield number, row


def read_corpus(path: str | os.PathLike[str]) -> dict[str, Doc]:
    """Returns the documents of a ``corpus.jsonl`` by id, in file order; keys ``_id`` (or ``doc_id``), title, text.

    Raises:
        InputError: With file and line, if a row is no document or an id has two different texts.
    """
    docs: dict[str, Doc] = {}
    for number, row in read_json_lines(path):
        where = f"{os.fspath(path)}:{number}"
        doc_id = row.get("_id", row.get("doc_id")) if isinstance(row, dict) else None
        if not isinstance(doc_id, str) or not isinstance(row.get("text"), str):
            raise InputError(
                "is no document with the strings _id and text",
                where=where,
                fix='Write {"_id": "7", "text": "..."}',
            )
        doc = Doc(doc_id, row["text"], row.get("title") or "")
        if docs.setdefault(doc_id, doc) != doc:
            raise InputError(
                f"document {doc_id!r} has two different texts", where=where, fix="Keep one of them"
            )
    if not docs:
        raise InputError(
            "holds no document", where=os.fspath(path), fix="Write one document on each line"
        )
    return docs


def in_folder(folder: str | os.PathLike[str], stem: str) -> Path:
    """Returns the file ``stem`` of a folder, plain or compressed (``corpus.jsonl`` finds ``corpus.jsonl.gz``).

    Raises:
        InputError: If the folder or the file is missing.
    """
    home = Path(folder)
    if not home.is_dir():
        raise InputError("no such folder", where=str(home), fix="Check the path")
    for suffix in ("", ".gz", ".zst"):
        if (path := home / f"{stem}{suffix}").is_file():
            return path
    raise InputError(
        f"holds no {stem}", where=str(home), fix=f"Put {stem} (or {stem}.gz) into the folder"
    )


def digest(path: str | os.PathLike[str]) -> str:
    """Returns the SHA-256 of a file's bytes, in hex."""
    import hashlib

    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def made_file(
    out: str | os.PathLike[str],
    *,
    command: str,
    inputs: Iterable[str | os.PathLike[str]],
    **facts: Any,
) -> None:
    """Writes ``<out>.made.json``: command, parameters, input digests, version and counts."""
    from obverse import __version__

    digests = {os.fspath(path): digest(path) for path in inputs if os.path.isfile(path)}
    write_json(
        f"{os.fspath(out)}.made.json",
        {"command": command, "version": __version__, "inputs": digests, **facts},
    )


__all__ = [
    "BOM",
    "LineFacts",
    "digest",
    "in_folder",
    "made_file",
    "may_repeat_keys",
    "open_bytes",
    "parquet",
    "parse_json",
    "read_corpus",
    "read_json",
    "read_json_lines",
    "read_lines",
    "read_topics",
    "repeated_key",
    "to_json",
    "topic_rows",
    "whole_file",
    "write_json",
    "write_json_lines",
    "write_topics",
]
