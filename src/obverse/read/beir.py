"""BEIR folders: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv`` or ``qrels.tsv``, plain or compressed.

A query may have an ``instruction`` beside its text; then its view has it. Corpus and queries may be TSV too.
After Thakur et al. (2021), BEIR, https://arxiv.org/abs/2104.08663.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from obverse.errors import InputError
from obverse.files import in_folder
from obverse.read.faults import Findings
from obverse.read.folder_parts import Parts
from obverse.read.passages import Passage, passages, string_id
from obverse.read.qrels import qrels_rows
from obverse.read.query_rows import instruction_of
from obverse.read.rows import rows
from obverse.records import Topic


def read_beir(
    path: str | os.PathLike[str], findings: Findings, *, split: str = "train"
) -> Iterator[Topic]:
    """Yields one topic for each judged query of a split: its judged documents, and a plain view.

    Grades above 0 are positive, the others negative.

    Args:
        path: The folder.
        split: Which file of ``qrels/``.

    Raises:
        InputError: If a file is missing or a row is broken.
    """
    folder = Path(path)
    parts = Parts(findings, "beir")
    parts.judgements = list(qrels_rows(qrels_file(folder, split), findings))
    parts.judged_in = findings.file
    asked = {judgement[1] for judgement in parts.judgements}
    parts.queries = read_queries(table_in(folder, "queries"), findings, asked)
    yield from parts.topics(documents_of(table_in(folder, "corpus"), findings))


def qrels_file(folder: Path, split: str) -> Path:
    """Returns the judgements of a split.

    Raises:
        InputError: If there are none, with the splits that there are.
    """
    if not (folder / "qrels").is_dir():
        return in_folder(folder, "qrels.tsv")
    home = folder / "qrels"
    names = sorted(
        file.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".tsv")
        for file in home.glob("*.tsv*")
    )
    if names and split not in names:
        raise InputError(
            f"has no judgements of the split {split!r}",
            where=str(folder),
            fix=f"Use --split {' or '.join(names)}",
        )
    return in_folder(home, f"{split}.tsv")


def table_in(folder: Path, stem: str) -> Path:
    """Returns ``<stem>.jsonl`` of a folder, or the same as TSV, CSV or Parquet.

    Raises:
        InputError: If there is none.
    """
    for suffix in ("tsv", "csv", "parquet"):
        if (folder / f"{stem}.{suffix}").is_file():
            return folder / f"{stem}.{suffix}"
    return in_folder(folder, f"{stem}.jsonl")


def read_queries(
    path: Path, findings: Findings, wanted: set[str] | None = None
) -> dict[str, tuple[str, str]]:
    """Returns query and instruction of the wanted queries (or all) by id; blank ones are set aside."""
    queries: dict[str, tuple[str, str]] = {}
    for line, row in rows(path, findings):
        query_id = row.get("_id", row.get("query_id", row.get("id")))
        if type(query_id) is not str:
            query_id = string_id(query_id, "_id", line, findings)
        if query_id is None or (wanted is not None and query_id not in wanted):
            continue
        text = row.get("text", row.get("query"))
        if not isinstance(text, str) or not text.strip():
            findings.note("blank_query", line, "text", f"query {query_id!r} has no text")
            findings.set_aside(query_id, "blank query", line)
            text = ""
        queries[query_id] = (text, instruction_of(row, line, findings))
    return queries


def documents_of(path: Path, findings: Findings) -> Iterator[tuple[int, Passage]]:
    """Yields the documents of a corpus with their lines; blank ones are noted and left out."""
    for line, row in rows(path, findings):
        if "_id" in row and "id" not in row:
            row["id"] = row["_id"]
        for passage, _ in passages(row, "document", line, findings)[0]:
            yield line, passage
