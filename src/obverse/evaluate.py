"""A model on a benchmark: runs, always written where there is a place for them, and scores per topic."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from obverse.benchmarks.benchmark import Benchmark, Search
from obverse.corpus_vectors import CorpusVectors
from obverse.errors import InputError, SettingError
from obverse.files import read_json, write_json
from obverse.log import say
from obverse.measures.measured import Measured
from obverse.models import Encoder
from obverse.provenance import versions
from obverse.rankers import EncoderRanker, Ranker, model_input
from obverse.records import Run
from obverse.trec import read_run, write_run

Joining = Literal["model", "paper", "mteb"]


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
        """Returns ``{"measure", "value", "low", "high", "n"}`` by key."""
        return {key: measured.brief() for key, measured in self.measures.items()}

    def to_json(self, *, per_topic: bool = False) -> dict[str, Any]:
        """Returns the measures by key, with ``about`` and, if asked for, the values per topic beside them."""
        row: dict[str, Any] = {
            key: measured.brief() | ({"notes": measured.notes} if measured.notes else {})
            for key, measured in self.measures.items()
        }
        row["about"] = dict(self.about)
        if per_topic:
            row["per_topic"] = self.per_topic
        return row


def evaluate(
    model: Encoder | Ranker,
    benchmark: Benchmark,
    *,
    out: str | os.PathLike[str] | None = None,
    joining: Joining = "model",
    force: bool = False,
    seed: int = 0,
    vectors: CorpusVectors | None = None,
) -> Scores:
    """Returns the scores of a model on a benchmark, and writes runs and scores where ``out`` is given.

    Args:
        model: An encoder, or anything that ranks.
        benchmark: Documents, searches and measures.
        out: A folder; gets ``<search>.run.tsv``, ``<search>.run.tsv.made.json`` and ``scores.json``.
        joining: How query and instruction become one string: as the ``model`` was taught, or as the benchmark's
            ``paper`` or ``mteb`` has it.
        force: Whether a joining may differ from the one that the model was trained with.
        seed: Seed of the bootstrap intervals.
        vectors: Document vectors of the same encoder from an earlier call, to be reused and added to.

    Raises:
        InputError: If texts or vectors make no search possible.
        SettingError: If the joining is unknown, or differs from the model's own and is not forced.
    """
    ranker = EncoderRanker(model, vectors) if isinstance(model, Encoder) else model
    pattern = joining_of(benchmark, joining)
    if not force:
        refuse_other_template(ranker, benchmark, joining)
    runs: dict[str, Run] = {}
    examples = {}
    for search in benchmark.searches:
        texts = ranker.inputs(search.asks, pattern)
        examples[search.name] = _example(search, texts)
        runs[search.name] = ranker.rank(
            search.asks,
            texts,
            benchmark.docs_of(search),
            depth=search.depth,
            candidates=search.candidates,
        )
    about = {
        "model": ranker.name,
        "benchmark": benchmark.name,
        **ranker.note(),
        "joining": joining if pattern is None else f"{joining}: {pattern}",
        "input_examples": examples,
        "seed": seed,
        "interval": "95 % bootstrap over topics",
        **benchmark.about,
        "versions": versions(),
    }
    scores = Scores(ranker.name, benchmark.name, benchmark.score(runs, seed), runs, about)
    if out is not None:
        write_scores(scores, out)
    return scores


def score_again(benchmark: Benchmark, folder: str | os.PathLike[str], *, seed: int = 0) -> Scores:
    """Returns the scores of runs that :func:`evaluate` wrote into a folder; nothing is searched.

    Raises:
        InputError: If a run is missing or was made on another benchmark.
    """
    home = Path(folder)
    runs, made = {}, {}
    for search in benchmark.searches:
        path = home / f"{search.name}.run.tsv"
        runs[search.name] = read_run(path).run
        made = read_json(f"{path}.made.json")
        if made.get("benchmark") != benchmark.name:
            raise InputError(
                f"is a run on {made.get('benchmark')}, not on {benchmark.name}",
                where=str(path),
                fix="Name the benchmark that the run was made on",
            )
    about = {**made, "scored_with": versions(), "seed": seed}
    return Scores(str(made["model"]), benchmark.name, benchmark.score(runs, seed), runs, about)


def joining_of(benchmark: Benchmark, joining: str) -> str | None:
    """Returns the pattern of a joining rule; None for the model's own template.

    Raises:
        SettingError: If there is no such rule.
    """
    if joining not in get_args(Joining):
        raise SettingError(f"unknown joining {joining!r}", fix="Use model, paper or mteb")
    if joining == "model":
        return None
    if joining not in benchmark.joinings:
        raise SettingError(
            f"{benchmark.name} has no joining {joining!r}", fix="Use --joining model"
        )
    return benchmark.joinings[joining]


def refuse_other_template(ranker: Ranker, benchmark: Benchmark, joining: str) -> None:
    """Raises SettingError if a model would read strings that its saved template does not build."""
    saved = ranker.encoder.taught if isinstance(ranker, EncoderRanker) else None
    if saved is None or not isinstance(ranker, EncoderRanker):
        return
    own, pattern = ranker.encoder.template, joining_of(benchmark, joining)
    pairs = [(saved.document, own.document)]
    for instructed in (True, False):
        asks = (a for s in benchmark.searches for a in s.asks if bool(a.instruction) == instructed)
        pairs += [
            (saved.query(ask.query, ask.instruction), model_input(own, ask, pattern))
            for ask in islice(asks, 20)
        ]
    for taught, now in pairs:
        if taught != now:
            raise SettingError(
                f"{ranker.name} was trained to read {_short(taught)!r}, and would now read {_short(now)!r}",
                fix="Leave --joining and --template away, or say --force",
            )


def show_inputs(ranker: Ranker, benchmark: Benchmark, joining: Joining) -> dict[str, str]:
    """Returns one real input string of each search, preferably one with an instruction."""
    pattern = joining_of(benchmark, joining)
    found = {}
    for search in benchmark.searches:
        asks = sorted(search.asks[:200], key=lambda ask: not ask.instruction)[:1]
        found[search.name] = ranker.inputs(asks, pattern)[0]
    return found


def _example(search: Search, texts: list[str]) -> str:
    number = next((n for n, ask in enumerate(search.asks) if ask.instruction), 0)
    return texts[number] if texts else ""


def _short(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:97]}..."


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
