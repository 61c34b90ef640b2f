"""One cell of a recipe: an arm with a seed, in a folder of its own that is never worked on twice."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from obverse.benchmarks.benchmark import Benchmark
from obverse.corpus_vectors import CorpusVectors
from obverse.errors import SettingError
from obverse.evaluate import evaluate
from obverse.files import made_file, read_topics, write_json, write_topics
from obverse.ledger import Ledger, ledger
from obverse.log import say
from obverse.models import Encoder, load_encoder
from obverse.recipes.recipe import Arm, Recipe
from obverse.recipes.source import SCORED
from obverse.records import Topic

Keep = Literal["all", "first", "none"]


@dataclass(frozen=True, slots=True)
class Cell:
    """An arm with a seed.

    Attributes:
        arm: The arm.
        seed: Of the arm's draws and of the training.
        topics: What it trains on.
        settings: How; ``batch_rows`` and ``epochs`` are turned into whole steps.
        steps: Optimiser steps.
        folder: Its name holds a hash of everything that decides its weights.
    """

    arm: Arm
    seed: int
    topics: Sequence[Topic]
    settings: Mapping[str, Any]
    steps: int
    folder: Path
    identity: Mapping[str, Any] = field(repr=False, default_factory=dict)

    @property
    def made_from(self) -> Path:
        """The file of the source topics."""
        return self.folder.parent.parent / "source" / SCORED

    @property
    def made(self) -> Path:
        """The file that marks its training as finished."""
        return self.folder / "cell.json"

    def scores(self, benchmark: Benchmark) -> Path:
        """Returns the folder of its scores on a benchmark."""
        return self.folder / "runs" / scores_name(benchmark)

    @property
    def batch_size(self) -> int:
        """Topics a step, so that a step holds ``batch_rows`` views as nearly as whole topics allow."""
        return int(self.identity["batch_size"])


def cells_of(
    recipe: Recipe,
    sets: Mapping[tuple[str, int], Sequence[Topic]],
    settings: Mapping[str, Mapping[str, Any]],
    *,
    home: Path,
    base: Mapping[str, Any],
) -> list[Cell]:
    """Returns the cells of a recipe, with equal steps where an arm asks for those of another.

    Args:
        recipe: The recipe.
        sets: The topics by arm and seed.
        settings: The training settings by arm.
        home: The folder that holds the cells' folders.
        base: What the encoder is: name, weights, template, token limit.
    """
    cells = []
    for (name, seed), topics in sets.items():
        arm, chosen = recipe.arm(name), dict(settings[name])
        rows = recipe.rows(sets[arm.steps_of or name, seed])
        steps = max(1, round(float(chosen.get("epochs", 1)) * rows / chosen["batch_rows"]))
        per_topic = recipe.rows(topics) / len(topics)
        batch = min(len(topics), max(1, round(chosen["batch_rows"] / per_topic)))
        identity = {
            "arm": name,
            "seed": seed,
            "topics": len(topics),
            "batch_size": batch,
            "data": ledger(topics, tokens=None).digest,
            "settings": chosen,
            "steps": steps,
            "base": dict(base),
        }
        text = json.dumps(identity, sort_keys=True, default=str)
        mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
        folder = home / f"{slug(name)}-seed-{seed}-{mark}"
        cells.append(Cell(arm, seed, topics, chosen, steps, folder, identity))
    return cells


def slug(name: str) -> str:
    """Returns a name as a folder may have it."""
    return "".join(c if c.isalnum() or c in "-._" else "-" for c in name).strip("-") or "x"


def scores_name(benchmark: Benchmark) -> str:
    """Returns the name of the folder of scores on a benchmark: another guard is another measurement."""
    pool = str(benchmark.about.get("guard", "")).startswith("pool")
    return slug(benchmark.name) + ("-guard-pool" if pool else "")


def run_cell(
    cell: Cell,
    benchmarks: Sequence[Benchmark],
    vectors: CorpusVectors,
    *,
    base: str,
    threads: int | None,
) -> None:
    """Trains and measures a cell, or what of that is not done yet.

    Args:
        cell: The cell.
        benchmarks: What it is measured on.
        vectors: The base's document vectors: those of every cell whose documents are frozen.
        base: The encoder that it starts from.
        threads: Torch threads.
    """
    open_ = [b for b in benchmarks if not (cell.scores(b) / "scores.json").is_file()]
    if cell.made.is_file() and not open_:
        say(f"recipe: {cell.folder.name} is finished")
        return
    model = cell.folder / "model"
    if not cell.made.is_file() or not (model / "modules.json").is_file():
        _train(cell, model, vectors, base=base, threads=threads)
    if open_:
        trained = load_encoder(str(model), threads=threads)
        frozen = bool(cell.settings.get("freeze_docs"))
        shared = vectors if frozen else CorpusVectors(trained)
        if frozen:
            _refuse_moved_documents(vectors.encoder, trained, cell.topics[0])
        for benchmark in open_:
            evaluate(trained, benchmark, out=cell.scores(benchmark), seed=0, vectors=shared)


def _train(
    cell: Cell, model: Path, vectors: CorpusVectors, *, base: str, threads: int | None
) -> None:
    from obverse.training.trainer import train

    began, file = time.monotonic(), cell.folder / "topics.jsonl.gz"
    write_topics(file, cell.topics)
    book = ledger(cell.topics).to_json(hashes=False)
    made_file(
        file,
        command="recipe",
        inputs=[cell.made_from],
        parameters=dict(cell.identity),
        ledger=book,
    )
    settings = {k: v for k, v in cell.settings.items() if k not in ("batch_rows", "epochs")}
    done = train(
        list(read_topics(file)),
        base=base,
        out=model,
        seed=cell.seed,
        threads=threads,
        batch_size=cell.batch_size,
        steps=cell.steps,
        vectors=vectors if settings.get("freeze_docs") or settings.get("keep_close") else None,
        **settings,
    )
    write_json(
        cell.made,
        {
            **cell.identity,
            "ledger": book,
            "steps_made": done.steps,
            "loss": done.loss,
            "seconds": round(time.monotonic() - began, 1),
        },
    )


def _refuse_moved_documents(base: Encoder, trained: Encoder, topic: Topic) -> None:
    docs = list(topic.docs[:2])
    if np.abs(base.docs(docs) - trained.docs(docs)).max() > 1e-4:
        raise SettingError(
            "the documents' vectors have moved although they were frozen", where=trained.name
        )


def check_keep(keep: str) -> None:
    """Raises SettingError if ``keep`` is none of :data:`Keep`."""
    if keep not in get_args(Keep):
        raise SettingError(f"--keep is {keep!r}", fix=f"Use {', '.join(get_args(Keep))}")


def ledger_of(cell: Cell) -> Ledger:
    """Returns the ledger of a cell's topics."""
    return ledger(cell.topics)
