"""Reading as a stage on files: topics out, the set-aside rows beside them, and a summary."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from obverse.errors import InputError
from obverse.files import digests_of, topic_tables, write_json_lines, write_tables, write_topics
from obverse.log import say
from obverse.read import on_disk, read, refuse_strange, topics_of
from obverse.read.corpus import read_corpus_rows
from obverse.read.faults import Findings
from obverse.read.formats import guess
from obverse.read.gathering import Gathering
from obverse.read.rows import column_map
from obverse.read.tables import gathered_tables
from obverse.stages import Counts, finish_stage, refuse_own_input

T = TypeVar("T")


def read_file(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str] = "-",
    *,
    format: str | None = None,
    map: str = "",
    **options: Any,
) -> Findings:
    """Reads a source into a topics file and returns what was found.

    Args:
        source: A file, a folder, or ``-``.
        out: A topics file (.jsonl, .gz, .zst, .parquet), or ``-`` for standard output.
        format: The format's name; guessed if left out.
        map: Columns by name, ``query=q,clicked=pos``.
        **options: What the format's reader takes.
    """
    refuse_own_input(out, source)
    findings, left = Findings(file=os.fspath(source)), Counts()
    if _is_corpus(source, format, map):
        return _read_documents(source, out, map, options)
    columns = column_map(map)
    with ThreadPoolExecutor(1) as aside:
        digests: list[Future[dict[str, str]]] = []

        def once_read() -> None:
            digests.append(aside.submit(digests_of, _files(source)))

        if os.fspath(out).endswith(".parquet"):
            aside.submit(_load_arrow)  # while the source is read
            tables = _tables(source, format, findings, columns, options, left, once_read)
            write_tables(out, tables)
        else:
            topics = read(source, format, findings=findings, columns=columns, **options)
            write_topics(out, left.watch(_spoken(topics, findings)))
            once_read()
        known = digests[0].result()
    for line in findings.summary():
        say(line)
    came = f"{findings.rows:,} rows"
    parameters = {"source": os.fspath(source), "format": format, "map": map, **options}
    finish_stage(
        "read",
        out,
        came,
        left,
        findings.drops,
        digests=known,
        parameters=parameters | {"faults": dict(findings.counts)} | findings.facts,
    )
    return findings


def _tables(
    source: str | os.PathLike[str],
    format: str | None,
    findings: Findings,
    columns: dict[str, str],
    options: dict[str, Any],
    left: Counts,
    once_read: Callable[[], None],
) -> Iterator[Any]:
    """Yields the topics of a source as Arrow tables.

    Args:
        once_read: Called when the source was read and a second processor has time.
    """
    with on_disk(source, findings) as path:
        topics = topics_of(path, format, findings, columns, options)
        once_read()
        if isinstance(topics, Gathering) and topics.documents.is_unicode:
            parts = _spoken(topics.parts(), findings)
            yield from gathered_tables(topics, parts, left)
        else:
            yield from topic_tables(left.watch(_spoken(iter(topics), findings)))


def _is_corpus(source: str | os.PathLike[str], format: str | None, map: str) -> bool:
    if format is not None or os.fspath(source) == "-":
        return format == "corpus"
    return guess(source, column_map(map))[0] == "corpus"


def _read_documents(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    map: str,
    options: dict[str, Any],
) -> Findings:
    """Writes a table of documents as ``corpus.jsonl`` has them."""
    refuse_strange(options, "corpus", read_corpus_rows)
    findings = Findings(file=os.fspath(source))
    docs = read_corpus_rows(source, findings, columns=column_map(map), **options)
    rows = ({"_id": doc.doc_id, "title": doc.title, "text": doc.text} for doc in docs)
    count = write_json_lines(out, rows)
    for line in findings.summary():
        say(line)
    finish_stage(
        "read",
        out,
        f"{findings.rows:,} rows",
        f"{count:,} documents",
        findings.drops,
        inputs=_files(source),
        parameters={"source": os.fspath(source), "format": "corpus", "map": map, **options},
    )
    return findings


def _spoken(found: Iterator[T], findings: Findings) -> Iterator[T]:
    """Says guesses and rules before the long part begins, and the rest at the end."""
    one = None
    for one in found:
        _say_all(findings.said)
        yield one
    _say_all(findings.said)
    if one is None:
        reasons = ", ".join(f"{n:,} {why}" for why, n in findings.drops.by_reason.most_common())
        raise InputError(
            f"no row can be used ({reasons or 'there is none'})",
            where=findings.place,
            fix="obverse check names every fault by line",
        )


def _say_all(lines: list[str]) -> None:
    while lines:
        say(lines.pop(0))


def _load_arrow() -> None:
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401


def _files(source: str | os.PathLike[str]) -> list[str]:
    path = Path(source)
    if path.is_dir():
        return sorted(str(file) for file in path.rglob("*") if file.is_file())[:100]
    return [os.fspath(source)]
