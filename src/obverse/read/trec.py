"""TREC collections: a folder with topics, qrels and a corpus, and perhaps a run whose documents are candidates.

Topics are lines ``number<TAB>title`` or the old ``<top>`` blocks; qrels are ``topic 0 document grade``; a run is
``topic Q0 document rank score tag``. The corpus is a table of documents (JSON Lines, TSV, Parquet).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from obverse.errors import InputError
from obverse.files import open_bytes
from obverse.read.beir import documents_of
from obverse.read.faults import TO_UTF8, Findings
from obverse.read.folder_parts import Parts
from obverse.read.qrels import qrels_rows
from obverse.records import Topic
from obverse.trec import read_run

_TOP = re.compile(r"<top>(.*?)</top>", re.S | re.I)
_NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)", re.I)
_TITLE = re.compile(r"<title>\s*(?:Topic:)?\s*(.*?)\s*(?=<|$)", re.S | re.I)
_NARRATIVE = re.compile(r"<narr>\s*(?:Narrative:)?\s*(.*?)\s*(?=</?\w+>|$)", re.S | re.I)


def read_trec(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    run: str | os.PathLike[str] | None = None,
    take: int = 10,
    narratives: bool = False,
) -> Iterator[Topic]:
    """Yields one topic for each judged topic of a TREC folder.

    Args:
        path: A folder with ``topics*``, ``qrels*`` and ``corpus*`` (or ``docs*``, ``collection*``).
        run: A run whose best unjudged documents become negatives.
        take: How many of them a topic gets.
        narratives: Use each topic's narrative as its instruction.

    Raises:
        InputError: If a file is missing or a line is broken.
    """
    folder = Path(path)
    parts = Parts(findings, "trec")
    parts.judgements = list(qrels_rows(one_file(folder, "qrels"), findings))
    parts.judged_in = findings.file
    queries = read_trec_topics(one_file(folder, "topics", "queries"))
    parts.queries = {
        name: (title, narrative if narratives else "") for name, title, narrative in queries
    }
    if run is not None:
        _add_run(parts, run, take)
    yield from parts.topics(
        documents_of(one_file(folder, "corpus", "docs", "collection"), findings)
    )


def _add_run(parts: Parts, run: str | os.PathLike[str], take: int) -> None:
    judged = {(query_id, doc_id) for _, query_id, doc_id, _ in parts.judgements}
    asked = {query_id for query_id, _ in judged}
    for query_id, ranked in read_run(run).by_rank.items():
        if query_id not in asked:
            continue
        unjudged = [doc_id for _, doc_id in sorted(ranked) if (query_id, doc_id) not in judged]
        parts.judgements.extend((0, query_id, doc_id, 0) for doc_id in unjudged[:take])


def one_file(folder: Path, *stems: str) -> Path:
    """Returns the one file of a folder whose name begins with one of the stems.

    Raises:
        InputError: If there is none, or more than one.
    """
    if not folder.is_dir():
        raise InputError("no such folder", where=str(folder), fix="Check the path")
    found = sorted(
        file for file in folder.iterdir() if file.is_file() and file.name.startswith(stems)
    )
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        raise InputError(
            f"should hold one file {' or '.join(stem + '*' for stem in stems)}, there is {names}",
            where=str(folder),
            fix="Leave one of them there",
        )
    return found[0]


def read_trec_topics(path: str | os.PathLike[str]) -> list[tuple[str, str, str]]:
    """Returns number, title and narrative of TREC topics, from ``<top>`` blocks or tab-separated lines.

    Raises:
        InputError: With file and line, if a line has no tab or a block no number.
    """
    with open_bytes(path) as stream:
        raw = stream.read()
    try:
        text = raw.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        at = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            "is not UTF-8",
            where=f"{os.fspath(path)}:{at}",
            fix=TO_UTF8,
            code="not_utf8",
        ) from None
    if "<top>" in text.lower():
        return [_block(block, path) for block in _TOP.findall(text)]
    topics = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        name, tab, title = line.partition("\t")
        if not tab:
            raise InputError(
                "has no tab",
                where=f"{os.fspath(path)}:{number}",
                fix="Write number<TAB>title",
                code="ragged_row",
            )
        topics.append((name, title.strip(), ""))
    return topics


def _block(block: str, path: str | os.PathLike[str]) -> tuple[str, str, str]:
    number, title, narrative = (pattern.search(block) for pattern in (_NUMBER, _TITLE, _NARRATIVE))
    if number is None or title is None:
        raise InputError(
            "a <top> block has no <num> or no <title>",
            where=os.fspath(path),
            fix="Add it",
            code="ragged_row",
        )
    said = " ".join(narrative[1].split()) if narrative else ""
    return number[1], " ".join(title[1].split()), said
