"""InfoSearch: six dimensions of a document, each query without instruction, with it, and with its reverse."""

from __future__ import annotations

import os
from collections.abc import Mapping

from obverse.benchmarks.benchmark import Benchmark, Search
from obverse.benchmarks.tables import corpus_of, qrels_of, tables_of, text_of
from obverse.benchmarks.whole import refuse_half_present, unknown_docs
from obverse.errors import SettingError
from obverse.measures.infosearch import positives_and_negatives
from obverse.measures.infosearch_p_mrr import infosearch_p_mrr
from obverse.measures.measured import Measured
from obverse.measures.ndcg import ndcg
from obverse.measures.sicr import sicr
from obverse.measures.wise import wise
from obverse.records import Ask, Run

DIMENSIONS = ("audience", "keyword", "format", "language", "length", "source")
PUBLISHED = {
    name: {"dual-view gte 305M": {"infosearch_p_mrr x 100": value, "source": "arXiv 2604.18845"}}
    for name, value in (("length", 31.91), ("keyword", 12.13))
}
"""Published values by dimension."""
MODES = ("original", "instructed", "reversed")


def infosearch(
    place: str | os.PathLike[str], *, subset: str = "audience", partial: bool = False
) -> Benchmark:
    """Returns one dimension of InfoSearch: its p-MRR, WISE and SICR (the code's and the paper's), nDCG@10.

    The whole corpus is searched in each of three modes. Tables: corpus, queries (with instruction_og,
    instruction_changed and instruction_reversed), qrels_og, qrels_changed.

    After Zhou et al. (2024), *Beyond Content Relevance: Evaluating Instruction Following in Retrieval Models*,
    https://arxiv.org/abs/2410.23841.

    Args:
        place: The folder, or ``hub:jianqunZ/Audience-v1``.
        subset: The dimension; names the result.
        partial: Whether half-present data are computed on.
    """
    if subset not in DIMENSIONS:
        raise SettingError(f"unknown dimension {subset!r}", fix=f"Use {', '.join(DIMENSIONS)}")
    tables = tables_of(place)
    docs, rows = corpus_of(tables), list(tables.rows("queries"))
    original = qrels_of(tables, "qrels_og")
    instructed = qrels_of(tables, "qrels_changed")
    asks: dict[str, list[Ask]] = {mode: [] for mode in MODES}
    for row in rows:
        query_id = text_of(row, "_id", "id", where=tables.where)
        text = text_of(row, "text", where=tables.where)
        for mode, key in zip(MODES, ("og", "changed", "reversed"), strict=True):
            asks[mode].append(Ask(query_id, text, (row.get(f"instruction_{key}") or "").strip()))
    known = {ask.query_id for ask in asks["original"]}
    faults = refuse_half_present(
        {
            "judged queries that are not among the queries": [
                q for q in original if q not in known
            ],
            "queries without judgements under the instruction": [
                q for q in original if q not in instructed
            ],
            "queries without an instruction": [
                a.query_id for a in asks["instructed"] if not a.instruction
            ],
            "queries without a reversed instruction": [
                a.query_id for a in asks["reversed"] if not a.instruction
            ],
            "judged documents that are not in the corpus": unknown_docs(original, docs),
        },
        tables.where,
        partial=partial,
    )
    positives, negatives = positives_and_negatives(original, instructed)

    def score(runs: Mapping[str, Run], seed: int) -> dict[str, Measured]:
        o, i, r = (runs[mode] for mode in MODES)
        return {
            "infosearch_p_mrr": infosearch_p_mrr(o, i, negatives, seed=seed),
            "wise": wise(o, i, r, positives, negatives, seed=seed),
            "wise_paper": wise(o, i, r, positives, negatives, variant="paper", seed=seed),
            "sicr": sicr(o, i, r, positives, seed=seed),
            "sicr_paper": sicr(o, i, r, positives, variant="paper", seed=seed),
            "ndcg@10": ndcg(i, instructed, 10, seed=seed),
        }

    about = {
        "kind": "infosearch",
        "candidates": "the whole corpus is searched, 1,000 documents kept",
        "licence": "not stated with the data",
        "citation": "Zhou et al. (2024), arXiv 2410.23841",
        "published": PUBLISHED.get(subset, {}),
        "ties": "insertion for p-MRR, WISE and SICR (as the authors' code), trec for nDCG",
        **faults,
    }
    joinings = {"paper": "{query} {instruction}", "mteb": "{query} {instruction}"}
    searches = tuple(Search(mode, tuple(asks[mode])) for mode in MODES)
    return Benchmark(f"infosearch:{subset}", docs, searches, score, joinings, about)
