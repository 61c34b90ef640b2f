"""MAIR: any of its 126 tasks; IFEval and InstructIR first."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from obverse.benchmarks.benchmark import Benchmark, Search
from obverse.benchmarks.tables import FolderTables, Row, tables_of, text_of, whole_grade
from obverse.benchmarks.whole import refuse_half_present
from obverse.errors import InputError
from obverse.measures.measured import Measured
from obverse.measures.ndcg import ndcg
from obverse.records import Ask, Doc, Run

PUBLISHED = {
    name: {"dual-view gte 305M": {"ndcg@10 x 100": value, "source": "arXiv 2604.18845"}}
    for name, value in (("IFEval", 34.08), ("InstructIR", 90.74))
}
"""Published values by task."""


def mair(
    place: str | os.PathLike[str], *, subset: str = "IFEval", partial: bool = False
) -> Benchmark:
    """Returns a task of MAIR: nDCG@10, over all splits of the task, each query counting once.

    Each split's queries search its own documents; 100 are kept. A split is a pair of tables ``queries`` and ``docs``,
    or ``X_queries`` and ``X_docs``; queries are ``{qid, instruction, query, labels: [{id, score}]}``, documents
    ``{id, doc}``. The authors let queries without results drop out of the mean; here they count as 0 and are named.

    After Sun et al. (2024), *MAIR: A Massive Benchmark for Evaluating Instructed Retrieval*,
    https://arxiv.org/abs/2410.10127.

    Args:
        place: A folder with the task's tables.
        subset: The task's name.
        partial: Whether half-present data are computed on.
    """
    tables = tables_of(place)
    docs: dict[str, Doc] = {}
    searches, qrels, gone = [], {}, []
    for split in _splits(place):
        own = {}
        for row in tables.rows(f"{split}docs"):
            doc_id = split + text_of(row, "id", "_id", where=tables.where)
            own[doc_id] = Doc(doc_id, text_of(row, "doc", "text", where=tables.where))
        asks = []
        for row in tables.rows(f"{split}queries"):
            ask, grades = _judged(row, split, tables.where)
            asks.append(ask)
            qrels[ask.query_id] = grades
            gone += [(ask.query_id, doc_id) for doc_id in grades if doc_id not in own]
        docs |= own
        searches.append(Search(f"{split}corpus", tuple(asks), tuple(own), depth=100))
    faults = refuse_half_present(
        {
            "judged documents that are not among the documents": gone,
            "queries without an instruction": [
                a.query_id for search in searches for a in search.asks if not a.instruction
            ],
        },
        tables.where,
        partial=partial,
    )

    def score(runs: Mapping[str, Run], seed: int) -> dict[str, Measured]:
        everything = {q: scores for run in runs.values() for q, scores in run.items()}
        found = {"ndcg@10": ndcg(everything, qrels, 10, seed=seed)}
        for search in searches if len(searches) > 1 else ():
            part = {ask.query_id: qrels[ask.query_id] for ask in search.asks}
            each = ndcg(runs[search.name], part, 10, seed=seed)
            found[f"ndcg@10 {search.name.removesuffix('_corpus')}"] = replace(each, notes={})
        return found

    about: dict[str, Any] = {
        "kind": "mair",
        "candidates": "each split's own documents are searched, 100 kept",
        "licence": "by task; see https://huggingface.co/MAIR-Bench",
        "citation": "Sun et al. (2024), arXiv 2410.10127",
        "published": PUBLISHED.get(subset, {}),
        "ties": "trec",
        **faults,
    }
    joinings = {"paper": "{instruction}{query}", "mteb": "{query} {instruction}"}
    return Benchmark(f"mair:{subset}", docs, tuple(searches), score, joinings, about)


def _judged(row: Row, split: str, where: str) -> tuple[Ask, dict[str, int]]:
    query_id = split + text_of(row, "qid", "_id", "id", where=where)
    labels = row.get("labels")
    if not isinstance(labels, list):
        raise InputError(
            f"query {query_id!r} has no list of labels", where=where, fix='Write [{"id", "score"}]'
        )
    ask = Ask(query_id, text_of(row, "query", "text", where=where), row.get("instruction") or "")
    grades = {}
    for label in labels:
        grade = whole_grade(label.get("score")) if isinstance(label, dict) else None
        if grade is None or not isinstance(label.get("id"), str | int):
            raise InputError(
                f"query {query_id!r} has the label {label!r}, which is none",
                where=where,
                fix='Write {"id": "d1", "score": 1}',
            )
        grades[split + str(label["id"])] = grade
    return ask, grades


def _splits(place: str | os.PathLike[str]) -> list[str]:
    """The prefixes of a folder's pairs of tables: ``""``, or ``X_`` for each X."""
    if os.fspath(place).startswith("hub:"):
        return [""]
    home = Path(place)
    names = {p.name.split(".")[0] for p in home.iterdir()} if home.is_dir() else set()
    found = sorted(n.removesuffix("queries") for n in names if n.endswith("queries"))
    if not found:
        raise InputError(
            "holds no queries", where=os.fspath(place), fix="Put queries.jsonl and docs.jsonl there"
        )
    return [split for split in found if FolderTables(os.fspath(place)).has(f"{split}docs")] or found
