"""Any data set of ir_datasets by name, ``ir_datasets:beir/scifact/train``; needs the package ir_datasets.

After MacAvaney et al. (2021), Simplified Data Wrangling with ir_datasets, https://arxiv.org/abs/2103.02280.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from obverse.errors import InputError, MissingExtra
from obverse.read.faults import Findings
from obverse.read.folder_parts import Parts
from obverse.read.passages import Passage
from obverse.records import Topic

PREFIX = "ir_datasets:"
_TEXTS = ("text", "body", "abstract", "contents")


def read_ir_dataset(
    path: str | os.PathLike[str], findings: Findings, *, instructions: str = ""
) -> Iterator[Topic]:
    """Yields one topic for each judged query of a data set.

    Args:
        path: The data set's name, with or without the prefix ``ir_datasets:``.
        instructions: A field of its queries to use as the instruction, such as ``narrative``.

    Raises:
        MissingExtra: If ir_datasets is not installed.
        InputError: If there is no such data set, it cannot be fetched, or it has no queries, judgements or documents.
    """
    name = os.fspath(path).removeprefix(PREFIX)
    dataset = _load(name)
    findings.file = name
    for what in ("queries", "qrels", "docs"):
        if not getattr(dataset, f"has_{what}")():
            raise InputError(f"has no {what}", where=name, fix="Name a data set that has all three")
    try:
        yield from _topics(dataset, name, findings, instructions)
    except (RuntimeError, OSError) as error:  # what a failed download raises
        reason = str(error.args[0] if error.args else error).splitlines()[0][:200]
        raise InputError(
            f"cannot be fetched ({reason})",
            where=name,
            fix="Fetch it where the network can be reached, or put its files into IR_DATASETS_HOME",
        ) from None


def _topics(dataset: Any, name: str, findings: Findings, instructions: str) -> Iterator[Topic]:
    parts = Parts(findings, "ir_datasets", judged_in=name)
    parts.judgements = [
        (line, row.query_id, row.doc_id, int(row.relevance))
        for line, row in enumerate(dataset.qrels_iter(), start=1)
    ]
    for query in dataset.queries_iter():
        text = next(
            (getattr(query, f) for f in ("text", "title", "query") if hasattr(query, f)), ""
        )
        instruction = getattr(query, instructions, "") if instructions else ""
        parts.queries[query.query_id] = (text, instruction or "")
    yield from parts.topics(_documents(dataset, sorted(parts.wanted)))


def _documents(dataset: Any, wanted: list[str]) -> Iterator[tuple[int, Passage]]:
    found = dataset.docs_store().get_many(wanted)
    for line, doc_id in enumerate(wanted, start=1):
        doc = found.get(doc_id)
        if doc is None:
            continue
        text = next((getattr(doc, name) for name in _TEXTS if getattr(doc, name, None)), None)
        text = doc.default_text() if text is None else text
        yield line, (doc_id, getattr(doc, "title", "") or "", text)


def _load(name: str) -> Any:
    try:
        import ir_datasets
    except ImportError:
        raise MissingExtra("ir_datasets", "ir-datasets", "reading ir_datasets") from None
    try:
        return ir_datasets.load(name)
    except KeyError:
        raise InputError(
            "ir_datasets has no data set of this name",
            where=name,
            fix="See https://ir-datasets.com",
        ) from None
