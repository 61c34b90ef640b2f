"""FollowIR: one query under an original and a changed instruction, a thousand candidates each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from obverse.benchmarks.benchmark import Benchmark, Search
from obverse.benchmarks.tables import Tables, corpus_of, qrels_of, tables_of, text_of
from obverse.benchmarks.whole import refuse_half_present, unknown_docs
from obverse.errors import InputError, SettingError
from obverse.measures.followir_score import CHANGED, ORIGINAL, followir_score, of_group
from obverse.measures.measured import Measured
from obverse.measures.ndcg import ndcg
from obverse.measures.p_mrr import changed_docs_from, p_mrr
from obverse.records import Ask, Qrels, Run

SETS = {"robust04": (104, 47_492), "core17": (40, 19_899), "news21": (64, 30_921)}
"""Instructed queries and documents of each set."""

PUBLISHED = {
    "dual-view gte 305M": {"p_mrr x 100": 8.30, "score x 100": 21.38, "source": "arXiv 2604.18845"},
    "dual-view bge-m3-retromae": {"p_mrr x 100": 13.92, "score x 100": 20.99, "source": "the same"},
    "EmbeddingGemma-300M": {"p_mrr x 100": 5.61, "source": "the same"},
    "Qwen3-Embedding-0.6B": {"p_mrr x 100": 5.09, "source": "the same"},
}
"""Means over the three sets; see :mod:`obverse.set_means`."""


def followir(
    place: str | os.PathLike[str], *, subset: str = "robust04", partial: bool = False
) -> Benchmark:
    """Returns one of FollowIR's three sets.

    Candidates: only the documents of ``top_ranked`` are ranked for a query; relevant documents outside them still
    count. ``p_mrr`` compares the two instructions; ``score`` is MAP@1000 (nDCG@5 on news21) under the original
    instructions and judgements alone. Both public layouts are read: that of mteb 2.x (configurations corpus, queries,
    instruction, qrels, top_ranked, qrel_diff; ids end in -og and -changed) and the older one (queries with
    instruction_og and instruction_changed, qrels_og, qrels_changed).

    After Weller et al. (2024), *FollowIR*, https://arxiv.org/abs/2403.15246.

    Args:
        place: The folder, or ``hub:mteb/Core17InstructionRetrieval``.
        subset: ``robust04``, ``core17`` or ``news21``.
        partial: Whether half-present data are computed on.
    """
    if subset not in SETS:
        raise SettingError(f"unknown set {subset!r} of FollowIR", fix=f"Use {', '.join(SETS)}")
    about = {
        "licence": "judgements by TREC (NIST); articles need their own licence",
        "citation": "Weller et al. (2024), arXiv 2403.15246",
        "published": {},
        "published_size": dict(zip(("queries", "documents"), SETS[subset], strict=True)),
    }
    return paired_benchmark(
        tables_of(place),
        f"followir:{subset}",
        news=subset == "news21",
        partial=partial,
        about=about,
    )


def paired_benchmark(
    tables: Tables,
    name: str,
    *,
    suffix: str = "",
    news: bool = False,
    with_ndcg_20: bool = False,
    partial: bool = False,
    about: Mapping[str, Any],
) -> Benchmark:
    """Returns a benchmark in FollowIR's form; mFollowIR's tables have a suffix for the language."""
    old = tables.has("qrels_og")
    asks = _old_asks(tables) if old else _asks(tables, suffix)
    qrels = _old_qrels(tables) if old else qrels_of(tables, f"default{suffix}", f"qrels{suffix}")
    docs = corpus_of(tables, f"corpus{suffix}", "corpus")
    candidates = _candidates(tables, suffix, asks)
    changed = _changed(tables, suffix, qrels)
    both = {ask.query_id for ask in asks}
    faults = refuse_half_present(
        {
            "queries without candidates": [q for q in both if not candidates.get(q)],
            "candidates that are not in the corpus": unknown_docs(candidates, docs),
            "queries without judgements": [q for q in both if q not in qrels],
            "queries under one instruction only": [q for q in both if _twin(q) not in both],
            "queries without a list of changed documents": [
                q for q in both if q.removesuffix(ORIGINAL).removesuffix(CHANGED) not in changed
            ],
        },
        tables.where,
        partial=partial,
    )
    kept = {q: tuple(d for d in candidates.get(q, ()) if d in docs) for q in both}
    search = Search("candidates", tuple(asks), candidates=kept)

    def score(runs: Mapping[str, Run], seed: int) -> dict[str, Measured]:
        run = runs["candidates"]
        found = {
            "p_mrr": p_mrr(of_group(run, ORIGINAL), of_group(run, CHANGED), changed, seed=seed),
            "score": followir_score(run, qrels, news=news, seed=seed),
        }
        if with_ndcg_20:
            found["ndcg@20"] = ndcg(
                of_group(run, ORIGINAL), of_group(qrels, ORIGINAL), 20, seed=seed
            )
        return found

    return Benchmark(
        name,
        docs,
        (search,),
        score,
        {"paper": "{query} {instruction}", "mteb": "{query} {instruction}"},
        {
            "kind": "followir",
            "candidates": "only the documents of top_ranked are ranked",
            "judgements_of_score": "the original ones (-og)",
            "ties": "trec",
            "queries": len(asks),
            "documents": len(docs),
            **about,
            **faults,
        },
    )


def _twin(query_id: str) -> str:
    if query_id.endswith(ORIGINAL):
        return query_id.removesuffix(ORIGINAL) + CHANGED
    return query_id.removesuffix(CHANGED) + ORIGINAL


def _asks(tables: Tables, suffix: str) -> list[Ask]:
    instructions = {
        text_of(row, "query-id", "query_id", where=tables.where): row.get("instruction") or ""
        for row in tables.rows(f"instruction{suffix}", f"instructions{suffix}")
    }
    asks = []
    for row in tables.rows(f"queries{suffix}"):
        query_id = text_of(row, "_id", "id", where=tables.where)
        asks.append(
            Ask(query_id, text_of(row, "text", where=tables.where), instructions.get(query_id, ""))
        )
    return asks


def _old_asks(tables: Tables) -> list[Ask]:
    asks = []
    for row in tables.rows("queries"):
        query_id = text_of(row, "_id", "id", where=tables.where)
        for suffix, key in ((ORIGINAL, "instruction_og"), (CHANGED, "instruction_changed")):
            text = text_of(row, "text", where=tables.where)
            asks.append(Ask(query_id + suffix, text, row.get(key) or ""))
    return asks


def _old_qrels(tables: Tables) -> dict[str, dict[str, int]]:
    return {
        query_id + suffix: grades
        for suffix, table in ((ORIGINAL, "qrels_og"), (CHANGED, "qrels_changed"))
        for query_id, grades in qrels_of(tables, table).items()
    }


def _candidates(tables: Tables, suffix: str, asks: list[Ask]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in tables.rows(f"top_ranked{suffix}"):
        query_id = text_of(row, "query-id", "qid", where=tables.where)
        ids = row.get("corpus-ids")
        if ids is None:
            ids = [text_of(row, "pid", "corpus-id", where=tables.where)]
        found.setdefault(query_id, []).extend(map(str, ids))
    for ask in asks:  # the older layout lists candidates once for both instructions
        bare = ask.query_id.removesuffix(ORIGINAL).removesuffix(CHANGED)
        if ask.query_id not in found and bare in found:
            found[ask.query_id] = found[bare]
    return {ask.query_id: found.get(ask.query_id, []) for ask in asks}


def _changed(tables: Tables, suffix: str, qrels: Qrels) -> dict[str, list[str]]:
    if not tables.has(f"qrel_diff{suffix}"):
        return changed_docs_from(of_group(qrels, ORIGINAL), of_group(qrels, CHANGED))
    changed = {}
    for row in tables.rows(f"qrel_diff{suffix}"):
        query_id, ids = text_of(row, "query-id", where=tables.where), row.get("corpus-ids")
        if not isinstance(ids, list):
            raise InputError(
                f"query {query_id!r} has no list of changed documents",
                where=tables.where,
                fix='Write "corpus-ids": ["d1"] in qrel_diff',
            )
        changed[query_id] = list(map(str, ids))
    return changed
