"""Data in: every format to topics, each fault by file and line."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.files import standard_input
from obverse.log import say
from obverse.read.faults import Findings
from obverse.read.formats import FORMATS, NAMES, guess
from obverse.records import Topic


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    findings: Findings | None = None,
    columns: Mapping[str, str] | None = None,
    **options: Any,
) -> Iterator[Topic]:
    """Yields the topics of a file or folder in any known format.

    Args:
        path: A file, a folder, or ``-`` for standard input.
        format: A name of :data:`obverse.read.formats.FORMATS`; by default guessed, and the guess is said.
        findings: Collects faults, counts and set-aside rows; by default they are summed up on stderr at the end.
        columns: The file's columns under obverse's names: ``{"query": "q", "clicked": "pos"}``.
        **options: What the format's reader takes: ``split`` of a BEIR folder, ``rule`` of a click log.

    Raises:
        InputError: With file and line, if the source cannot be read.
        SettingError: If the format or an option is unknown.
    """
    seen = Findings(file=os.fspath(path)) if findings is None else findings
    with on_disk(path, seen) as source:
        yield from topics_of(source, format, seen, columns, options)
    if findings is None:
        for line in seen.summary():
            say(line)


def topics_of(
    path: str | os.PathLike[str],
    format: str | None,
    seen: Findings,
    columns: Mapping[str, str] | None,
    options: dict[str, Any],
) -> Iterable[Topic]:
    """Returns the topics of a file or folder that can be read twice, as :func:`read` yields them.

    Most readers give a :class:`obverse.read.gathering.Gathering`, which has the topics in columns too.
    """
    if format is None:
        format, why = guess(path, dict(columns or {}))
        seen.said.append(said_guess(path, format, why, seen))
    if format in ("corpus", "qrels"):
        what = "documents" if format == "corpus" else "judgements"
        raise SettingError(
            f"holds {what}, not topics",
            where=os.fspath(path),
            fix="Read the folder that it belongs to, or mine from documents with --corpus",
        )
    reader = reader_named(format)
    if columns:
        options = {**options, "columns": columns}
    refuse_strange(options, format, reader)
    topics: Iterable[Topic] = reader(path, seen, **options)
    return topics


def refuse_strange(options: Mapping[str, Any], format: str, reader: Callable[..., Any]) -> None:
    """Raises what a format's reader does not take.

    Raises:
        SettingError: With what it takes.
    """
    known = inspect.signature(reader).parameters
    for name in options:
        if name not in known:
            raise SettingError(
                f"the format {format} takes no {name}",
                fix=f"It takes {', '.join(list(known)[2:]) or 'no options'}",
            )


def said_guess(path: str | os.PathLike[str], format: str, why: str, findings: Findings) -> str:
    """Returns the line that states a guess."""
    name = "-" if os.fspath(path) == findings.spooled else os.fspath(path)
    return f"{name}: read as {format} (guessed: {why}); --format overrides"


@contextlib.contextmanager
def on_disk(path: str | os.PathLike[str], findings: Findings) -> Iterator[str | os.PathLike[str]]:
    """Gives a path that can be read twice: standard input is copied to a temporary file."""
    if os.fspath(path) != "-":
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="obverse-") as copy:
        with standard_input() as stream:
            shutil.copyfileobj(stream, copy)
        copy.flush()
        findings.spooled = copy.name
        try:
            yield copy.name
        except InputError as error:
            where = (error.where or "-").replace(copy.name, "-")
            raise InputError(error.what, where=where, fix=error.fix, code=error.code) from None


def reader_named(format: str) -> Any:
    """Returns the reader of a format, or of ``module:function``.

    Raises:
        SettingError: If there is none of that name.
    """
    target = FORMATS.get(format, format)
    module, colon, name = target.partition(":")
    if not colon:
        raise SettingError(f"unknown format {format!r}", fix=f"Use one of {', '.join(NAMES)}")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SettingError(f"no reader {format!r} ({error})", fix="Write module:function") from None


__all__ = ["FORMATS", "Findings", "read", "reader_named", "topics_of"]
