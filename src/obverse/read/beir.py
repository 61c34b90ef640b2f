"""BEIR folders: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv`` or ``qrels.tsv``, plain or compressed.

A query may have an ``instruction`` beside its text; then its view has it.

After Thakur et al. (2021), BEIR, https://arxiv.org/abs/2104.08663.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from obverse.errors import InputError
from obverse.files import in_folder
from obverse.read.faults import Findings
from obverse.read.gathering import NEGATIVE, POSITIVE, Gathering
from obverse.read.passages import passages, string_id
from obverse.read.qrels import Judgement, qrels_rows
from obverse.read.query_rows import instruction_of
from obverse.read.rows import json_rows
from obverse.records import Topic

Ask = tuple[str, str]
"""``(query, instruction)``."""


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
    judgements = list(qrels_rows(qrels_file(folder, split), findings))
    qrels_name = findings.file
    queries = _queries(folder, {judgement[1] for judgement in judgements}, findings)
    gathering = Gathering(findings, "beir")
    gathering.origin = {"split": split} if (folder / "qrels").is_dir() else {}
    numbers = _documents(folder, {judgement[2] for judgement in judgements}, gathering)
    findings.file = qrels_name
    for judgement in judgements:
        _judge(gathering, judgement, queries, numbers)
    findings.rows = len({judgement[1] for judgement in judgements})
    yield from gathering.topics()
    findings.usable = min(findings.usable, findings.rows)


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


def _queries(folder: Path, wanted: set[str], findings: Findings) -> dict[str, Ask]:
    path = in_folder(folder, "queries.jsonl")
    findings.file = str(path)
    queries: dict[str, Ask] = {}
    for line, row in json_rows(path, findings):
        query_id = row.get("_id", row.get("query_id"))
        if type(query_id) is not str:
            query_id = string_id(query_id, "_id", line, findings)
        if query_id not in wanted:
            continue
        text = row.get("text", row.get("query"))
        if not isinstance(text, str) or not text.strip():
            findings.note("blank_query", line, "text", f"query {query_id!r} has no text")
            findings.set_aside(query_id, "blank query", line)
            text = ""
        queries[query_id] = (text, instruction_of(row, line, findings))
    findings.close_lines()
    return queries


def _documents(folder: Path, wanted: set[str], gathering: Gathering) -> dict[str, int]:
    path = in_folder(folder, "corpus.jsonl")
    findings = gathering.findings
    findings.file = str(path)
    numbers: dict[str, int] = {}
    for line, row in json_rows(path, findings):
        doc_id = row.get("_id", row.get("doc_id"))
        if type(doc_id) is not str:
            doc_id = string_id(doc_id, "_id", line, findings)
        if doc_id not in wanted:
            continue
        found, _ = passages({**row, "id": doc_id}, "document", line, findings)
        for passage, _ in found:
            number = gathering.documents.number(passage, line, "_id")
            numbers.setdefault(doc_id, number)
    findings.close_lines()
    return numbers


def _judge(
    gathering: Gathering, judgement: Judgement, queries: dict[str, Ask], numbers: dict[str, int]
) -> None:
    line, query_id, doc_id, grade = judgement
    findings = gathering.findings
    if query_id not in queries:
        findings.note("missing_query", line, "query-id", f"no query {query_id!r}")
        return
    query, instruction = queries[query_id]
    if not query:
        return
    topic = gathering.topic(query_id, query_id, query, line)
    number = numbers.get(doc_id)
    if number is None:
        findings.note("missing_document", line, "corpus-id", f"no document {doc_id!r}")
        gathering.because(topic, "judged documents are not in the corpus")
        return
    kind = POSITIVE if grade > 0 else NEGATIVE
    gathering.judge(gathering.view(topic, instruction), number, kind, line)
