"""ExcluIR: queries that exclude something, with the wanted and the excluded document of each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from obverse.benchmarks.benchmark import Benchmark, Search
from obverse.benchmarks.tables import Row, tables_of, text_of
from obverse.benchmarks.whole import refuse_half_present
from obverse.errors import InputError
from obverse.measures.excluir import excluir as measures_of
from obverse.measures.measured import Measured
from obverse.records import Ask, Doc, Run


def excluir(place: str | os.PathLike[str], *, partial: bool = False) -> Benchmark:
    """Returns ExcluIR: R@1, MRR@10, their differences from the excluded document, and the right rank.

    The whole corpus is searched. Table ``corpus``: texts, numbered from 0 where they have no id. Table ``queries``
    (or ``test``): ``ExcluQ`` and ``index`` as released, or ``RQ_rewrite`` and ``corpus_sub_index`` as its README says;
    the pair is [excluded, wanted].

    After Zhang et al. (2024), *ExcluIR: Exclusionary Neural Information Retrieval*, https://arxiv.org/abs/2404.17288.

    Args:
        place: The folder.
        partial: Whether pairs whose documents are missing are still counted.
    """
    tables = tables_of(place)
    docs: dict[str, Doc] = {}
    for number, row in enumerate(_texts(tables.rows("corpus"))):
        doc_id = str(row.get("_id", row.get("id", number)))
        text = text_of(row, "text", "contents", "passage", where=tables.where)
        docs[doc_id] = Doc(doc_id, text, row.get("title") or "")
    asks, pairs = [], {}
    for number, row in enumerate(tables.rows("queries", "test", "test_manual_final")):
        query_id = str(row.get("_id", row.get("id", number)))
        asks.append(Ask(query_id, text_of(row, "ExcluQ", "RQ_rewrite", "text", where=tables.where)))
        pairs[query_id] = _pair(row, query_id, tables.where)
    faults = refuse_half_present(
        {
            "judged documents that are not in the corpus": [
                (q, d) for q, pair in pairs.items() for d in pair if d not in docs
            ]
        },
        tables.where,
        partial=partial,
    )

    def score(runs: Mapping[str, Run], seed: int) -> dict[str, Measured]:
        ranked = {query_id: list(scores) for query_id, scores in runs["corpus"].items()}
        found = measures_of(ranked, pairs, seed=seed)
        names = {
            "R@1": "recall@1",
            "MRR@10": "mrr@10",
            "dR@1": "delta_recall@1",
            "dMRR@10": "delta_mrr@10",
        }
        return {names.get(key, "right_rank"): measured for key, measured in found.items()}

    about = {
        "kind": "excluir",
        "candidates": "the whole corpus is searched",
        "licence": "not stated with the data (from HotpotQA, CC BY-SA 4.0)",
        "citation": "Zhang et al. (2024), arXiv 2404.17288",
        "published": {},
        "ties": "trec",
        **faults,
    }
    search = Search("corpus", tuple(asks), depth=100)
    return Benchmark("excluir", docs, (search,), score, {"mteb": "{query} {instruction}"}, about)


def _texts(rows: Any) -> Any:
    return ({"text": row} if isinstance(row, str) else row for row in rows)


def _pair(row: Row, query_id: str, where: str) -> tuple[str, str]:
    pair = row.get("index", row.get("corpus_sub_index"))
    if not isinstance(pair, list) or len(pair) != 2:
        raise InputError(
            f"query {query_id!r} has no pair [excluded, wanted]",
            where=where,
            fix="Write index: [3, 8]",
        )
    return str(pair[0]), str(pair[1])
