"""NevIR: pairs of documents that differ by a negation, and a query for each."""

from __future__ import annotations

import os
from collections.abc import Mapping

from obverse.benchmarks.benchmark import Benchmark, Search
from obverse.benchmarks.tables import tables_of, text_of
from obverse.measures.measured import Measured
from obverse.measures.nevir import nevir as pairwise_accuracy
from obverse.records import Ask, Doc, Run


def nevir(place: str | os.PathLike[str], *, partial: bool = False) -> Benchmark:
    """Returns NevIR: the share of pairs in which both queries put their own document first.

    Only the pair's two documents are candidates. The table ``test`` (or ``NevIR``) has the columns doc1, doc2, q1, q2.

    After Weller et al. (2023), *NevIR: Negation in Neural Information Retrieval*, https://arxiv.org/abs/2305.07614.

    Args:
        place: The folder, or ``hub:orionweller/NevIR``.
        partial: Not used: a pair is whole or refused.
    """
    tables = tables_of(place)
    docs: dict[str, Doc] = {}
    asks, qrels, candidates, pairs = [], {}, {}, {}
    for number, row in enumerate(tables.rows("test", "NevIR", "default"), start=1):
        key = str(row.get("id") or number)
        pair = (f"{key}_doc1", f"{key}_doc2")
        for doc_id, column in zip(pair, ("doc1", "doc2"), strict=True):
            docs[doc_id] = Doc(doc_id, text_of(row, column, where=tables.where))
        for doc_id, column in zip(pair, ("q1", "q2"), strict=True):
            query_id = f"{key}_{column}"
            asks.append(Ask(query_id, text_of(row, column, where=tables.where)))
            qrels[query_id], candidates[query_id] = {doc_id: 1}, pair
        pairs[key] = [f"{key}_q1", f"{key}_q2"]

    def score(runs: Mapping[str, Run], seed: int) -> dict[str, Measured]:
        return {"nevir": pairwise_accuracy(runs["pairs"], qrels, pairs, seed=seed)}

    about = {
        "kind": "nevir",
        "candidates": "the two documents of the pair",
        "licence": "MIT",
        "citation": "Weller et al. (2023), arXiv 2305.07614",
        "published": {},
        "published_size": {"pairs": 1_383},
        "pairs": len(pairs),
        "ties": "trec",
    }
    search = Search("pairs", tuple(asks), candidates=candidates)
    return Benchmark("nevir", docs, (search,), score, {"mteb": "{query} {instruction}"}, about)
