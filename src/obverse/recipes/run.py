"""Runs a recipe: source topics, every cell that is not finished, and the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.benchmarks.benchmark import Benchmark
from obverse.benchmarks.topics import Scope
from obverse.evaluate import evaluate
from obverse.files import read_json
from obverse.log import say
from obverse.models import PACKAGED, Encoder
from obverse.recipes.cells import Cell, Keep, check_keep, run_cell, scores_name
from obverse.recipes.describing import Cards
from obverse.recipes.named import load_recipe
from obverse.recipes.outcome import BASE, Outcome, outcome
from obverse.recipes.page import write_page
from obverse.recipes.prepared import Setup, cells_for, prepare
from obverse.recipes.recipe import Recipe
from obverse.results import SCORES, Result, read_result


@dataclass(frozen=True, slots=True)
class RecipeRun:
    """A finished recipe.

    Attributes:
        page: The Markdown page; the HTML page and ``results.json`` lie beside it.
        outcome: Means, tests and findings.
        cells: Its cells.
    """

    page: Path
    outcome: Outcome
    cells: Sequence[Cell]


def recipe(
    name: str | Recipe,
    *,
    out: str | os.PathLike[str],
    scale: float | str = "1%",
    seeds: Sequence[int] = (0, 1, 2),
    base: str = PACKAGED,
    settings: Mapping[str, Any] | None = None,
    on: Sequence[str] = (),
    arms: Sequence[str] = (),
    development: int | None = None,
    held_out: bool = True,
    source: str | os.PathLike[str] | None = None,
    benchmark: str | os.PathLike[str] | None = None,
    guard: Scope = "corpus",
    vectors: str | os.PathLike[str] | None = None,
    keep: Keep = "all",
    threads: int | None = None,
) -> RecipeRun:
    """Runs a recipe and returns its page and numbers. Cells that are finished are not run again.

    Args:
        name: A recipe by name, ``package.module:OBJECT``, or one in memory.
        out: The folder for everything.
        scale: How many source topics, as a share of the paper's number: ``"1%"`` or 0.01.
        seeds: One cell for each arm and seed.
        base: The encoder that is trained; the papers' backbones have short names.
        settings: Training settings that differ: ``{"epochs": 2, "ARM.learning_rate": 1e-4}``.
        on: Further benchmarks, as ``load_benchmark`` takes them.
        arms: Only these arms; by default all.
        development: How many two-sided topics are held back from training and measured; by default the recipe's.
        held_out: Whether the held-out topics are measured; without, settings can be chosen and they stay unseen.
        source: Instructed topics of your own instead of the packaged sample with its recorded replies.
        benchmark: The topics benchmark; by default the packaged sample.
        guard: What its plain queries are searched over.
        vectors: Where the base's document vectors are kept, to be shared by several runs; by default in ``out``.
        keep: Which models stay: ``all``, those of the ``first`` seed, or ``none``.
        threads: Torch threads.

    Raises:
        SettingError: If a name, setting, seed or scale makes no sense.
        InputError: If a file is not what it should be.
        ModelError: If the base cannot be loaded.
    """
    found = name if isinstance(name, Recipe) else load_recipe(name)
    check_keep(keep)
    home = Path(out)
    setup = prepare(
        found,
        home,
        scale=scale,
        seeds=seeds,
        base=base,
        settings=settings or {},
        on=on,
        arms=arms,
        development=development,
        held_out=held_out,
        source=source,
        benchmark=benchmark,
        guard=guard,
        vectors=vectors,
        threads=threads,
    )
    return run_setup(setup, home, keep=keep, threads=threads)


def run_setup(setup: Setup, home: Path, *, keep: Keep, threads: int | None) -> RecipeRun:
    """Runs the open cells of a prepared recipe and writes its page."""
    cells = cells_for(setup, home)
    say(
        f"recipe {setup.recipe.name}: {len(setup.source.topics):,} source topics of "
        f"{setup.source.available:,}, {len(cells)} cells, seeds {', '.join(map(str, setup.seeds))}"
    )
    _measure_base(setup, home)
    cards = Cards(setup.source)
    for number, cell in enumerate(cells, start=1):
        say(f"recipe: cell {number} of {len(cells)}: {cell.arm.name}, seed {cell.seed}")
        stays = keep == "all" or (keep == "first" and cell.seed == setup.seeds[0])
        run_cell(cell, setup.benchmarks, setup.vectors, base=setup.base, threads=threads)
        if not stays:
            shutil.rmtree(cell.folder / "model", ignore_errors=True)
        if not (cell.folder / "README.md").is_file():
            cards.write(cell, [read_result(cell.scores(b), tops=False) for b in setup.benchmarks])
    found = outcome(setup.recipe, results_of(setup, cells, home))
    page = write_page(setup, cells, found, home)
    say(f"recipe: {len(cells)} cells in, a page out: {page}")
    return RecipeRun(page, found, cells)


def _measure_base(setup: Setup, home: Path) -> None:
    for benchmark in setup.benchmarks:
        place = base_scores(home, benchmark)
        if not _is_of(place / SCORES, setup.encoder):
            evaluate(setup.encoder, benchmark, out=place, vectors=setup.vectors)


def _is_of(scores: Path, encoder: Encoder) -> bool:
    """Whether scores are there, and of this encoder at this token limit."""
    if not scores.is_file():
        return False
    about = read_json(scores).get("about", {})
    own = (encoder.name, encoder.max_tokens, encoder.template.digest)
    return tuple(about.get(k) for k in ("model", "max_tokens", "template_digest")) == own


def base_scores(home: Path, benchmark: Benchmark) -> Path:
    """Returns the folder of the base's scores."""
    return home / "base" / scores_name(benchmark)


def results_of(
    setup: Setup, cells: Sequence[Cell], home: Path
) -> dict[str, dict[str, list[Result]]]:
    """Returns the results by benchmark and arm, one for each seed, the base first."""
    return {
        benchmark.name: {
            BASE: [read_result(base_scores(home, benchmark), tops=False)],
            **{
                arm: [
                    read_result(c.scores(benchmark), tops=False) for c in cells if c.arm.name == arm
                ]
                for arm in setup.arms
            },
        }
        for benchmark in setup.benchmarks
    }
