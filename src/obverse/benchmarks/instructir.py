"""InstructIR: every query under six to ten users' instructions, one relevant document each."""

from __future__ import annotations

import os
from collections.abc import Mapping

from obverse.benchmarks.benchmark import Benchmark, Search
from obverse.benchmarks.tables import Tables, corpus_of, qrels_of, tables_of, text_of
from obverse.benchmarks.whole import refuse_half_present, unknown_docs, without_unknown
from obverse.measures.measured import Measured
from obverse.measures.ndcg import ndcg
from obverse.measures.robustness import groups_by_text, robustness
from obverse.records import Ask, Run

PUBLISHED = {
    "Promptriever (Llama 2 7B)": {
        "robustness@10 x 100": 63.1,
        "source": "natural-negatives paper's table",
    },
    "Qwen3-Embedding-0.6B": {"robustness@10 x 100": 49.29, "source": "natural-negatives paper"},
    "Qwen3-Embedding-0.6B + natural negatives": {
        "robustness@10 x 100": 67.06,
        "source": "the same",
    },
}


def instructir(place: str | os.PathLike[str], *, partial: bool = False) -> Benchmark:
    """Returns InstructIR: Robustness@10 over groups of one query text, and nDCG@10 over instances.

    The whole corpus is searched. Read are the authors' layout (corpus, queries whose text is
    ``instruction [SEP] query``, qrels) and mteb's (with a table ``instruction``). All its queries are from MS MARCO
    dev: a model that was trained on it must not be measured there.

    After Oh et al. (2024), *InstructIR*, https://arxiv.org/abs/2402.14334.

    Args:
        place: The folder, or ``hub:mteb/InstructIR-mteb``.
        partial: Whether half-present data are computed on.
    """
    tables = tables_of(place)
    docs, qrels = corpus_of(tables), qrels_of(tables, "qrels", "default", "test")
    asks = [ask for ask in _asks(tables) if ask.query_id in qrels]
    known = {ask.query_id for ask in asks}
    faults = refuse_half_present(
        {
            "judged queries that are not among the queries": [q for q in qrels if q not in known],
            "judged documents that are not in the corpus": unknown_docs(qrels, docs),
            "queries without an instruction": [a.query_id for a in asks if not a.instruction],
        },
        tables.where,
        partial=partial,
    )
    judged = without_unknown(
        qrels, known
    )  # a query without text belongs to no group; nDCG counts it as 0
    groups = groups_by_text({ask.query_id: ask.query for ask in asks})

    def score(runs: Mapping[str, Run], seed: int) -> dict[str, Measured]:
        run = runs["corpus"]
        return {
            "robustness@10": robustness(run, judged, groups, 10, seed=seed),
            "ndcg@10": ndcg(run, qrels, 10, seed=seed),
        }

    about = {
        "kind": "instructir",
        "candidates": "the whole corpus is searched",
        "grouped_by": "query text",
        "groups": len(groups),
        "licence": "CC BY-SA (MS MARCO terms apply)",
        "citation": "Oh et al. (2024), arXiv 2402.14334",
        "published": PUBLISHED,
        "published_size": {"queries": 9_906, "groups": 1_267, "documents": 16_072},
        "ties": "trec",
        **faults,
    }
    joinings = {"paper": "{instruction} [SEP] {query}", "mteb": "{query} {instruction}"}
    return Benchmark("instructir", docs, (Search("corpus", tuple(asks)),), score, joinings, about)


def _asks(tables: Tables) -> list[Ask]:
    apart = {}
    if tables.has("instruction", "instructions"):
        apart = {
            text_of(row, "query-id", "query_id", where=tables.where): row.get("instruction") or ""
            for row in tables.rows("instruction", "instructions")
        }
    asks = []
    for row in tables.rows("queries"):
        query_id = text_of(row, "_id", "id", where=tables.where)
        text = text_of(row, "text", where=tables.where)
        instruction = apart.get(query_id, row.get("instruction") or "")
        if not instruction and text.count("[SEP]") == 1:
            before, _, after = text.partition("[SEP]")
            instruction, text = before.strip(), after.strip()
        asks.append(Ask(query_id, text, instruction))
    return asks
