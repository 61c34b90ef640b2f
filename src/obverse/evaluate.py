"""A model on a benchmark: runs, always written where there is a place for them, and scores per topic."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obverse.benchmarks.benchmark import Benchmark, Search
from obverse.corpus_vectors import CorpusVectors
from obverse.files import write_json
from obverse.log import say
from obverse.measures.measured import Measured
from obverse.models import Encoder, template_note
from obverse.provenance import versions
from obverse.records import Run
from obverse.search import as_run, tie_places, top_docs
from obverse.trec import write_run


@dataclass(frozen=True, slots=True)
class Scores:
    """What a model reached on a benchmark.

    Attributes:
        model: The model's name.
        benchmark: The benchmark's name.
        measures: The measures by key (``p_mrr``, ``ndcg@10``, ...).
        runs: The rankings behind them, by search and query, documents in order of rank.
        about: How the numbers were made: joining, template, token limit, tie rule, versions, ...
    """

    model: str
    benchmark: str
    measures: Mapping[str, Measured]
    runs: Mapping[str, Run] = field(default_factory=dict, repr=False)
    about: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __getitem__(self, key: str) -> Measured:
        return self.measures[key]

    @property
    def per_topic(self) -> dict[str, dict[str, float]]:
        """The counted values by measure and topic, as paired tests need them."""
        return {key: measured.counted for key, measured in self.measures.items()}

    def top(self, query_id: str, k: int = 10, *, search: str = "views") -> list[tuple[str, float]]:
        """Returns the first k documents of one query with their scores."""
        return list(self.runs[search][query_id].items())[:k]

    def brief(self) -> dict[str, dict[str, Any]]:
        """Returns ``{"value", "low", "high", "n"}`` by measure."""
        return {key: measured.brief() for key, measured in self.measures.items()}

    def to_json(self, *, per_topic: bool = False) -> dict[str, Any]:
        """Returns the measures by key, with ``about`` and, if asked for, the values per topic beside them."""
        row: dict[str, Any] = {
            key: measured.brief() | ({"notes": measured.notes} if measured.notes else {})
            for key, measured in self.measures.items()
        }
        row["about"] = {"model": self.model, "benchmark": self.benchmark, **self.about}
        if per_topic:
            row["per_topic"] = self.per_topic
        return row


def evaluate(
    encoder: Encoder,
    benchmark: Benchmark,
    *,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    vectors: CorpusVectors | None = None,
) -> Scores:
    """Returns the scores of a model on a benchmark, and writes runs and scores where ``out`` is given.

    Args:
        encoder: The model.
        benchmark: Documents, searches and measures.
        out: A folder; gets ``<search>.run.tsv``, ``<search>.run.tsv.made.json`` and ``scores.json``.
        seed: Seed of the bootstrap intervals.
        vectors: Document vectors of the same encoder from an earlier call, to be reused and added to.

    Raises:
        InputError: If texts or vectors make no search possible.
    """
    vectors = vectors or CorpusVectors(encoder)
    runs = {
        search.name: search_all(encoder, benchmark, search, vectors)
        for search in benchmark.searches
    }
    about = {
        **template_note(encoder),
        "joining": "model",
        "seed": seed,
        "interval": "95 % bootstrap over topics",
        **benchmark.about,
        "versions": versions(),
    }
    scores = Scores(encoder.name, benchmark.name, benchmark.score(runs, seed), runs, about)
    if out is not None:
        write_scores(scores, out)
    return scores


def search_all(
    encoder: Encoder, benchmark: Benchmark, search: Search, vectors: CorpusVectors
) -> dict[str, dict[str, float]]:
    """Returns the run of one search of a benchmark."""
    docs = benchmark.docs_of(search)
    doc_ids = [doc.doc_id for doc in docs]
    matrix = vectors.of(docs)
    queries = encoder.queries([(ask.query, ask.instruction) for ask in search.asks])
    query_ids = [ask.query_id for ask in search.asks]
    if search.candidates is None:
        rows, scores = top_docs(queries, matrix, search.depth, places=tie_places(doc_ids))
        return as_run(query_ids, doc_ids, rows, scores)
    place = {doc_id: row for row, doc_id in enumerate(doc_ids)}
    run: dict[str, dict[str, float]] = {}
    for row, query_id in enumerate(query_ids):
        own: Sequence[str] = search.candidates[query_id]
        rows, scores = top_docs(
            queries[row : row + 1],
            matrix[[place[doc_id] for doc_id in own]],
            search.depth,
            places=tie_places(own),
        )
        run |= as_run([query_id], own, rows, scores)
    return run


def write_scores(scores: Scores, out: str | os.PathLike[str]) -> None:
    """Writes the runs with their provenance, and ``scores.json``, into a folder."""
    home = Path(out)
    for name, run in scores.runs.items():
        path = home / f"{name}.run.tsv"
        write_run(path, run, scores.model)
        write_json(
            f"{path}.made.json",
            {
                "command": "evaluate",
                "model": scores.model,
                "benchmark": scores.benchmark,
                **scores.about,
            },
        )
    write_json(home / "scores.json", scores.to_json(per_topic=True))
    say(f"evaluate: {scores.model} on {scores.benchmark}: runs and scores are in {home}")
