"""MS MARCO as it is distributed, https://microsoft.github.io/msmarco/: TSV files without headers.

A folder with ``collection.tsv`` (pid, text), ``queries*.tsv`` (qid, text), and ``qrels*.tsv`` or
``qidpidtriples*.tsv`` (qid, positive pid, negative pid); or one file of text triples (query, positive, negative).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from obverse.read.delimited import delimited_rows
from obverse.read.faults import Findings
from obverse.read.folder_parts import Parts
from obverse.read.gathering import Gathering
from obverse.read.judgements import NEGATIVE, POSITIVE
from obverse.read.labelled import add_labelled
from obverse.read.passages import Passage
from obverse.read.qrels import Judgement, qrels_rows
from obverse.read.query_rows import start_row
from obverse.read.trec import one_file
from obverse.records import Topic


def read_msmarco(path: str | os.PathLike[str], findings: Findings) -> Iterator[Topic]:
    """Yields the topics of an MS MARCO folder, or of a file of text triples.

    Raises:
        InputError: If a file is missing or a line has the wrong number of fields.
    """
    if not Path(path).is_dir():
        yield from _text_triples(path, findings)
        return
    folder = Path(path)
    parts = Parts(findings, "msmarco")
    triples = sorted(folder.glob("qidpidtriples*"))
    if triples:
        parts.judgements = list(_id_triples(triples[0], findings))
    else:
        parts.judgements = list(qrels_rows(one_file(folder, "qrels"), findings))
    parts.judged_in = findings.file
    asked = {judgement[1] for judgement in parts.judgements}
    for line, row in _table(one_file(folder, "queries"), ["id", "text"], findings):
        if row["id"] in asked:
            if not row["text"].strip():
                findings.note("blank_query", line, "text", f"query {row['id']!r}")
            parts.queries[row["id"]] = (row["text"], "")
    yield from parts.topics(_collection(folder, findings))


def _table(
    path: str | os.PathLike[str], header: list[str], findings: Findings
) -> Iterator[tuple[int, dict[str, str]]]:
    findings.file = os.fspath(path)
    yield from delimited_rows(path, findings, quoting="none", header=header)
    findings.close_lines()


def _collection(folder: Path, findings: Findings) -> Iterator[tuple[int, Passage]]:
    for line, row in _table(one_file(folder, "collection"), ["id", "text"], findings):
        if row["text"].strip():
            yield line, (row["id"], "", row["text"])
        else:
            findings.note("blank_text", line, "text", f"passage {row['id']!r} is blank")


def _id_triples(path: Path, findings: Findings) -> Iterator[Judgement]:
    """Yields each judgement once, although positives stand again in every triple."""
    seen: set[tuple[str, str, int]] = set()
    for line, row in _table(path, ["query", "positive", "negative"], findings):
        for doc_id, grade in ((row["positive"], 1), (row["negative"], 0)):
            key = (row["query"], doc_id, grade)
            if key not in seen:
                seen.add(key)
                yield line, row["query"], doc_id, grade


def _text_triples(path: str | os.PathLike[str], findings: Findings) -> Iterator[Topic]:
    gathering = Gathering(findings, "msmarco")
    fields = [("positive", POSITIVE), ("negative", NEGATIVE)]
    header = ["query", "positive", "negative"]
    for line, row in _table(path, header, findings):
        topic = start_row(gathering, line, row)
        if topic is not None:
            add_labelled(gathering, topic, gathering.view(topic, ""), line, row, fields)
    yield from gathering
