"""BEIR, NanoBEIR and NegConstraint: plain retrieval in the layout that everyone uses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from obverse.benchmarks.benchmark import Benchmark, Search
from obverse.benchmarks.tables import corpus_of, qrels_of, tables_of, text_of
from obverse.benchmarks.whole import refuse_half_present, unknown_docs
from obverse.measures.average_precision import mean_average_precision
from obverse.measures.measured import Measured
from obverse.measures.ndcg import ndcg
from obverse.measures.recall import recall
from obverse.records import Ask, Run
from obverse.trec import read_qrels

SAME_IDS_OUT = ("arguana", "quora")
"""Sets whose queries are documents too: there, the document with the query's id is taken out."""


def beir(place: str | os.PathLike[str], *, subset: str = "", partial: bool = False) -> Benchmark:
    """Returns a BEIR set: nDCG@10, Recall@100, MAP@1000, over the queries that the test judgements name.

    Read are the BEIR folder (corpus.jsonl, queries.jsonl, qrels/test.tsv) and NanoBEIR's tables (corpus, queries,
    qrels without scores). A query and a document may have the same id; only for ArguAna and Quora the document is
    taken out then, and the result says so.

    After Thakur et al. (2021), *BEIR*, https://arxiv.org/abs/2104.08663.

    Args:
        place: The folder, or ``hub:zeta-alpha-ai/NanoSciFact``.
        subset: The set's name; by default the folder's.
        partial: Whether half-present data are computed on.
    """
    tables = tables_of(place)
    name = subset or Path(os.fspath(place)).name
    docs = corpus_of(tables)
    plain = next(
        (
            p
            for p in (Path(os.fspath(place)) / n for n in ("qrels/test.tsv", "qrels.tsv"))
            if p.is_file()
        ),
        None,
    )
    qrels = read_qrels(plain).qrels if plain else qrels_of(tables, "qrels", "default")
    asks = [
        Ask(
            text_of(row, "_id", "id", "query_id", where=tables.where),
            text_of(row, "text", "query", where=tables.where),
            row.get("instruction") or "",
        )
        for row in tables.rows("queries")
    ]
    asks = [ask for ask in asks if ask.query_id in qrels]
    known = {ask.query_id for ask in asks}
    faults = refuse_half_present(
        {
            "judged queries that are not among the queries": [q for q in qrels if q not in known],
            "judged documents that are not in the corpus": unknown_docs(qrels, docs),
        },
        tables.where,
        partial=partial,
    )
    judged = qrels  # all of them: what cannot be asked or found counts as 0
    same = name.lower() not in SAME_IDS_OUT

    def score(runs: Mapping[str, Run], seed: int) -> dict[str, Measured]:
        run = runs["corpus"]
        return {
            "ndcg@10": ndcg(run, judged, 10, same_ids=same, seed=seed),
            "recall@100": recall(run, judged, 100, same_ids=same, seed=seed),
            "map@1000": mean_average_precision(run, judged, 1_000, same_ids=same, seed=seed),
        }

    about = {
        "kind": "beir",
        "candidates": "the whole corpus is searched",
        "documents_with_the_querys_id": "kept" if same else "taken out",
        "licence": "by set; see https://github.com/beir-cellar/beir",
        "citation": "Thakur et al. (2021), arXiv 2104.08663",
        "published": {},
        "ties": "trec",
        **faults,
    }
    joinings = {"mteb": "{query} {instruction}", "paper": "{query} {instruction}"}
    return Benchmark(f"beir:{name}", docs, (Search("corpus", tuple(asks)),), score, joinings, about)


def negconstraint(place: str | os.PathLike[str], *, partial: bool = False) -> Benchmark:
    """Returns NegConstraint (NS-IR): queries with negative constraints, in BEIR's layout and by BEIR's measures.

    Args:
        place: The folder.
        partial: Whether half-present data are computed on.
    """
    return beir(place, subset="negconstraint", partial=partial)
