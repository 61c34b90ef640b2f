"""Runs a recipe: source topics, every cell that is not finished, and the page."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obverse.benchmarks.benchmark import Benchmark
from obverse.benchmarks.named import load_benchmark
from obverse.benchmarks.topics import Scope, benchmark_of_topics, topics_benchmark
from obverse.compare import read_result
from obverse.corpus_vectors import CorpusVectors
from obverse.errors import SettingError
from obverse.evaluate import evaluate
from obverse.log import say
from obverse.models import PACKAGED, Encoder, load_encoder
from obverse.recipes.cells import Cell, Keep, cells_of, check_keep, run_cell, slug
from obverse.recipes.choices import settings_of
from obverse.recipes.describing import Cards
from obverse.recipes.named import BACKBONES, load_recipe
from obverse.recipes.outcome import BASE, Outcome, outcome
from obverse.recipes.page import write_page
from obverse.recipes.recipe import Recipe
from obverse.recipes.source import Source, remembering, source_from
from obverse.results import Result
from obverse.sample import sample_folder


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


@dataclass(slots=True)
class Setup:
    """What all cells of a run share."""

    recipe: Recipe
    scale: float
    seeds: Sequence[int]
    base: str
    encoder: Encoder
    vectors: CorpusVectors
    source: Source
    benchmarks: list[Benchmark]
    settings: dict[str, dict[str, Any]]
    given: Mapping[str, Any]
    on: Sequence[str]
    arms: Sequence[str]
    began: float = field(default_factory=time.time)


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
    seeds = _checked_seeds(seeds)
    chosen = _checked_arms(found, arms)
    share = scale_of(scale)
    home = Path(out)
    if home.is_file():
        raise SettingError("is a file", where=str(home), fix="Give a folder with --out")
    per_arm = settings_of(found, settings or {}, share)
    tokens = {int(per_arm[arm].get("max_tokens", 128)) for arm in chosen}
    if len(tokens) > 1:
        raise SettingError(
            f"arms have different token limits ({tokens})", fix="Give one with --set max_tokens="
        )
    base = BACKBONES.get(base, base)
    encoder = load_encoder(base, max_tokens=tokens.pop(), threads=threads)
    kept = CorpusVectors(encoder)
    kept.keep_in(vectors or home / "vectors")
    place = Path(benchmark) if benchmark is not None else sample_folder()
    topics = source_from(
        home / "source",
        remembering(encoder, kept),
        size=max(1, round(share * found.full)),
        two_sided=found.two_sided,
        development=found.development if development is None else development,
        benchmark=place,
        topics=source,
    )
    benchmarks = [topics_benchmark(place, guard=guard)] if held_out else []
    if topics.development:
        benchmarks.append(development_benchmark(topics, guard))
    if held_out:
        benchmarks += [make(topics) for make in found.more]
    benchmarks += [load_benchmark(spec, guard=guard) for spec in on]
    if not benchmarks:
        raise SettingError("there is nothing to measure on", fix="Hold topics back: --dev 70")
    setup = Setup(
        recipe=found,
        scale=share,
        seeds=seeds,
        base=base,
        encoder=encoder,
        vectors=kept,
        source=topics,
        benchmarks=benchmarks,
        settings=per_arm,
        given=settings or {},
        on=on,
        arms=chosen,
    )
    return run_setup(setup, home, keep=keep, threads=threads)


def development_benchmark(source: Source, guard: Scope) -> Benchmark:
    """Returns the development topics as a benchmark; claims without instructions are its plain queries."""
    plain = [topic for topic in source.topics if not topic.instructed_views]
    asked = {topic.topic_id: topic.query for topic in plain}
    qrels = {t.topic_id: dict.fromkeys(t.views[0].positives, 1) for t in plain}
    found = (asked, qrels) if plain else "no plain claim is left"
    return benchmark_of_topics(
        source.development, source.corpus, name="development", plain=found, guard=guard
    )


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
            cards.write(cell, [read_result(cell.scores(b)) for b in setup.benchmarks])
    found = outcome(setup.recipe, results_of(setup, cells, home))
    page = write_page(setup, cells, found, home)
    say(f"recipe: {len(cells)} cells in, a page out: {page}")
    return RecipeRun(page, found, cells)


def cells_for(setup: Setup, home: Path) -> list[Cell]:
    """Returns the cells of a prepared recipe; their topics are made, nothing is trained."""
    sets = {
        (arm.name, seed): arm.make(setup.source, seed)
        for seed in setup.seeds
        for arm in setup.recipe.arms
        if arm.name in setup.arms
    }
    from obverse.training.sides import weights_digest

    base = {
        "name": setup.base,
        "weights": weights_digest(setup.encoder.model),
        "template": setup.encoder.template.digest,
    }
    return cells_of(setup.recipe, sets, setup.settings, home=home / "cells", base=base)


def _measure_base(setup: Setup, home: Path) -> None:
    for benchmark in setup.benchmarks:
        place = base_scores(home, benchmark)
        if not (place / "scores.json").is_file():
            evaluate(setup.encoder, benchmark, out=place, vectors=setup.vectors)


def base_scores(home: Path, benchmark: Benchmark) -> Path:
    """Returns the folder of the base's scores."""
    return home / "base" / slug(benchmark.name)


def results_of(
    setup: Setup, cells: Sequence[Cell], home: Path
) -> dict[str, dict[str, list[Result]]]:
    """Returns the results by benchmark and arm, one for each seed, the base first."""
    return {
        benchmark.name: {
            BASE: [read_result(base_scores(home, benchmark))],
            **{
                arm: [read_result(c.scores(benchmark)) for c in cells if c.arm.name == arm]
                for arm in setup.arms
            },
        }
        for benchmark in setup.benchmarks
    }


def scale_of(scale: float | str) -> float:
    """Returns a scale as a share: ``"1%"`` and 0.01 are the same.

    Raises:
        SettingError: If it is no share above 0 and at most 1.
    """
    text = str(scale).strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise SettingError(f"the scale is {scale!r}", fix="Give 1% or 0.01, at most 100%")
    return share


def _checked_seeds(seeds: Sequence[int]) -> list[int]:
    found = list(dict.fromkeys(seeds))
    if not found:
        raise SettingError("there is no seed", fix="Give --seeds 0,1,2")
    return found


def _checked_arms(recipe: Recipe, arms: Sequence[str]) -> list[str]:
    names = [arm.name for arm in recipe.arms]
    for name in arms:
        if name not in names:
            raise SettingError(
                f"the recipe {recipe.name} has no arm {name!r}", fix=f"Use {', '.join(names)}"
            )
    chosen = [name for name in names if not arms or name in arms]
    for name in chosen:
        other = recipe.arm(name).steps_of
        if other and other not in chosen:
            raise SettingError(
                f"the arm {name!r} takes the steps of {other!r}", fix="Name that arm too"
            )
    return chosen
