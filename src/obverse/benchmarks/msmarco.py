"""MS MARCO passages, dev small: MRR@10 as the leaderboard computes it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from obverse.benchmarks.benchmark import Benchmark, Search
from obverse.benchmarks.whole import refuse_half_present, unknown_docs
from obverse.errors import InputError
from obverse.filed_docs import FiledDocs, stays_on_disk
from obverse.files import in_folder, read_lines
from obverse.measures.measured import Measured
from obverse.measures.msmarco_mrr import msmarco_mrr
from obverse.measures.recall import recall
from obverse.records import Ask, Doc, Run
from obverse.trec import read_qrels


def msmarco(place: str | os.PathLike[str], *, partial: bool = False) -> Benchmark:
    """Returns MS MARCO dev small: MRR@10 over all 6,980 reference queries, and Recall@1000.

    Files: ``collection.tsv`` (pid, passage), ``queries.dev.small.tsv`` (qid, query), ``qrels.dev.small.tsv``.

    After Bajaj et al. (2016), *MS MARCO*, https://arxiv.org/abs/1611.09268.

    Args:
        place: The folder.
        partial: Whether half-present data are computed on.
    """
    home = Path(place)
    docs = _collection(in_folder(home, "collection.tsv"))
    asks = tuple(Ask(qid, text) for qid, text in _pairs(in_folder(home, "queries.dev.small.tsv")))
    qrels = read_qrels(in_folder(home, "qrels.dev.small.tsv")).qrels
    known = {ask.query_id for ask in asks}
    faults = refuse_half_present(
        {
            "judged queries that are not among the queries": [q for q in qrels if q not in known],
            "judged passages that are not in the collection": unknown_docs(qrels, docs),
        },
        str(home),
        partial=partial,
    )
    reference = {q: list(grades) for q, grades in qrels.items()}

    def score(runs: Mapping[str, Run], seed: int) -> dict[str, Measured]:
        ranked = {q: list(scores)[:10] for q, scores in runs["corpus"].items()}
        return {
            "msmarco_mrr@10": msmarco_mrr(ranked, reference, 10, seed=seed),
            "recall@1000": recall(runs["corpus"], qrels, 1_000, seed=seed),
        }

    about = {
        "kind": "msmarco",
        "candidates": "the whole collection is searched",
        "licence": "MS MARCO terms: non-commercial research",
        "citation": "Bajaj et al. (2016), arXiv 1611.09268",
        "published": {},
        "published_size": {"queries": 6_980, "documents": 8_841_823},
        "ties": "trec",
        "beware": "InstructIR's queries are from this set: models trained on InstructIR must not be measured here",
        **faults,
    }
    searches = (Search("corpus", tuple(ask for ask in asks if ask.query_id in qrels)),)
    return Benchmark("msmarco", docs, searches, score, {"mteb": "{query} {instruction}"}, about)


def _collection(path: Path) -> Mapping[str, Doc]:
    """The passages by id; the texts of the whole collection stay in their file."""
    if path.suffix == ".tsv" and stays_on_disk(path):
        return FiledDocs(path, lambda line, where: Doc(*_pair(line, where)))
    return {pid: Doc(pid, text) for pid, text in _pairs(path)}


def _pairs(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in read_lines(path):
        yield _pair(line, f"{path}:{number}")


def _pair(line: bytes, where: str) -> tuple[str, str]:
    key, tab, text = line.decode("utf-8", "replace").partition("\t")
    if not tab:
        raise InputError("has no tab", where=where, fix="Write id, tab, text")
    return key, text
