"""Tevatron rows, old and new, https://github.com/texttron/tevatron.

Old: ``query_id, query, positive_passages, negative_passages`` with whole passages. New: ``query_id, query_text,
positive_document_ids, negative_document_ids`` beside a corpus of ``docid, text``. Where some row has Promptriever's
``new_negatives``, they are read as there.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obverse.errors import SettingError
from obverse.files import in_folder
from obverse.read.faults import Findings
from obverse.read.flag_embedding import as_asked
from obverse.read.gathering import Gathering
from obverse.read.judgements import NEGATIVE, POSITIVE
from obverse.read.labelled import LabelledWork, add_labelled, labelled_rows, passage_fields
from obverse.read.passages import passages, string_id
from obverse.read.query_rows import instruction_of, start_row
from obverse.read.rows import rows

_IDS = (("positive_document_ids", POSITIVE), ("negative_document_ids", NEGATIVE))


def read_tevatron(
    path: str | os.PathLike[str],
    findings: Findings,
    *,
    columns: Mapping[str, str] | None = None,
    corpus: str | os.PathLike[str] | None = None,
    workers: int | None = None,
) -> Gathering:
    """Returns the topics of a Tevatron file.

    Args:
        path: A file, or a folder with ``train.jsonl`` and ``corpus.jsonl``.
        corpus: The documents of the new form; by default ``corpus.jsonl`` beside the file.
        workers: Processes that work ahead on a large JSON Lines file; by default as many as there are processors,
            up to 4. They change nothing but the time.

    Raises:
        SettingError: If the rows name documents and there is no corpus.
    """
    if Path(path).is_dir():
        path = in_folder(path, "train.jsonl")
    gathering = Gathering(findings, "tevatron")
    wanted = _Wanted()
    work = LabelledWork(["positive_passages", "new_negatives", "negative_passages"], as_asked)
    for line, row in labelled_rows(path, gathering, work, columns=columns, workers=workers):
        topic = start_row(gathering, line, row)
        if topic is None:
            continue
        instruction = instruction_of(row, line, findings)
        view = gathering.view(topic, instruction)
        if "positive_document_ids" in row:
            wanted.add(row, topic, view, line, findings)
        else:
            fields = passage_fields(instruction)
            add_labelled(gathering, topic, view, line, row, fields, bare=False)
    if wanted.numbers:
        source = findings.file
        wanted.resolve(_corpus(path, corpus), gathering)
        findings.file = source
    return gathering


class _Wanted:
    """Judgements that name documents, until the corpus has been read."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._docs, self._views, self._topics = array("i"), array("i"), array("i")
        self._kinds, self._lines = array("b"), array("i")

    def add(
        self, row: dict[str, Any], topic: int, view: int, line: int, findings: Findings
    ) -> None:
        for field, kind in _IDS:
            for name in _names(row.get(field), field, line, findings):
                if type(name) is not str:
                    name = string_id(name, field, line, findings)
                if name is None:
                    continue
                self._docs.append(self.numbers.setdefault(name, len(self.numbers)))
                self._views.append(view)
                self._topics.append(topic)
                self._kinds.append(kind)
                self._lines.append(line)

    def resolve(self, corpus: str | os.PathLike[str], gathering: Gathering) -> None:
        """Reads the wanted documents and adds the judgements; what is not there is noted."""
        findings = gathering.findings
        source = findings.file
        found: dict[int, int] = {}
        inspector, findings.inspector = findings.inspector, None
        for line, row in rows(corpus, findings):
            for passage, _ in passages(row, "document", line, findings)[0]:
                number = self.numbers.get(passage[0])
                if number is not None:
                    found.setdefault(number, gathering.documents.number(passage, line, "docid"))
        findings.inspector, findings.file = inspector, source
        names = list(self.numbers)
        for at, number in enumerate(self._docs):
            doc = found.get(number)
            if doc is None:
                findings.note(
                    "missing_document",
                    self._lines[at],
                    "positive_document_ids" if self._kinds[at] else "negative_document_ids",
                    f"no document {names[number]!r} in {os.fspath(corpus)}",
                )
                gathering.because(self._topics[at], "judged documents are not in the corpus")
            else:
                gathering.judgements.add(self._views[at], doc, self._kinds[at], self._lines[at])


def _names(value: Any, field: str, line: int, findings: Findings) -> list[Any]:
    """Returns the ids of a field; one alone is a list of one."""
    if value is None or isinstance(value, list):
        return value or []
    if isinstance(value, str):
        findings.note("string_for_list", line, field, f"{value!r:.40} read as one id")
    return [value]


def _corpus(
    path: str | os.PathLike[str], corpus: str | os.PathLike[str] | None
) -> str | os.PathLike[str]:
    if corpus is not None:
        return corpus
    home = Path(path).parent
    for name in ("corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst", "corpus.parquet"):
        if (home / name).is_file():
            return home / name
    raise SettingError(
        "the rows name documents by id, and there is no corpus beside the file",
        where=os.fspath(path),
        fix="Give it with --corpus",
    )
