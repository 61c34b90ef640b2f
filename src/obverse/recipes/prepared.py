"""What all cells of a recipe share, checked and loaded before the first one is trained."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.benchmarks.benchmark import Benchmark
from obverse.benchmarks.named import load_benchmark
from obverse.benchmarks.topics import Scope, benchmark_of_topics, topics_benchmark
from obverse.corpus_vectors import CorpusVectors
from obverse.errors import SettingError
from obverse.models import Encoder, load_encoder
from obverse.recipes.cells import Cell, cells_of
from obverse.recipes.choices import settings_of
from obverse.recipes.named import BACKBONES
from obverse.recipes.recipe import Recipe
from obverse.recipes.source import Source, remembering, source_from
from obverse.results import folder_name
from obverse.sample import sample_folder


@dataclass(slots=True)
class Setup:
    """What all cells of a run share.

    Attributes:
        recipe: The recipe.
        scale: The share of the paper's source topics.
        seeds: The seeds.
        base: The encoder's name.
        encoder: The encoder.
        vectors: Its document vectors.
        source: The source topics.
        benchmarks: What every cell is measured on, the first being the one that findings are about.
        settings: Training settings by arm.
        given: Those of them that the caller has set.
        on: Further benchmarks as the caller named them.
        arms: The arms that run.
    """

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


def prepare(
    recipe: Recipe,
    home: Path,
    *,
    scale: float | str,
    seeds: Sequence[int],
    base: str,
    settings: Mapping[str, Any],
    on: Sequence[str],
    arms: Sequence[str],
    development: int | None,
    held_out: bool,
    source: str | os.PathLike[str] | None,
    benchmark: str | os.PathLike[str] | None,
    guard: Scope,
    vectors: str | os.PathLike[str] | None,
    threads: int | None,
) -> Setup:
    """Returns what the cells of a recipe share; the arguments are those of :func:`obverse.recipes.run.recipe`."""
    chosen, share = checked_arms(recipe, arms), scale_of(scale)
    if home.is_file():
        raise SettingError("is a file", where=str(home), fix="Give a folder with --out")
    per_arm = settings_of(recipe, settings, share)
    place = Path(benchmark) if benchmark is not None else sample_folder()
    held = recipe.development if development is None else development
    if not (held_out or held or on):
        raise SettingError("there is nothing to measure on", fix="Hold topics back: --dev 70")
    own = [topics_benchmark(place, guard=guard)] if held_out else []
    others = [load_benchmark(spec, guard=guard) for spec in on]
    base = BACKBONES.get(base, base)
    encoder = load_encoder(base, max_tokens=_tokens(per_arm, chosen), threads=threads)
    kept = CorpusVectors(encoder)
    own_place = home / "vectors" / folder_name(f"{encoder.name}-{encoder.max_tokens}")
    kept.keep_in(vectors or own_place)
    topics = source_from(
        home / "source",
        remembering(encoder, kept),
        size=max(1, round(share * recipe.full)),
        two_sided=recipe.two_sided,
        development=held,
        benchmark=place,
        topics=source,
    )
    if held:
        own.append(development_benchmark(topics, guard))
    more = [make(topics) for make in recipe.more] if held_out else []
    return Setup(
        recipe,
        share,
        checked_seeds(seeds),
        base,
        encoder,
        kept,
        topics,
        [*own, *more, *others],
        per_arm,
        settings,
        on,
        chosen,
    )


def _tokens(settings: Mapping[str, Mapping[str, Any]], arms: Sequence[str]) -> int:
    found = {int(settings[arm].get("max_tokens", 128)) for arm in arms}
    if len(found) > 1:
        raise SettingError(
            f"arms have different token limits ({found})", fix="Give one with --set max_tokens="
        )
    return found.pop()


def development_benchmark(source: Source, guard: Scope) -> Benchmark:
    """Returns the development topics as a benchmark; claims without instructions are its plain queries."""
    plain = [topic for topic in source.topics if not topic.instructed_views]
    asked = {topic.topic_id: topic.query for topic in plain}
    qrels = {t.topic_id: dict.fromkeys(t.views[0].positives, 1) for t in plain}
    found = (asked, qrels) if plain else "no plain claim is left"
    return benchmark_of_topics(
        source.development, source.corpus, name="development", plain=found, guard=guard
    )


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


def checked_seeds(seeds: Sequence[int]) -> list[int]:
    """Returns the seeds, each once.

    Raises:
        SettingError: If there is none.
    """
    found = list(dict.fromkeys(seeds))
    if not found:
        raise SettingError("there is no seed", fix="Give --seeds 0,1,2")
    return found


def checked_arms(recipe: Recipe, arms: Sequence[str]) -> list[str]:
    """Returns the names of the arms that run, in the recipe's order.

    Raises:
        SettingError: If one is unknown, or an arm is missing whose steps another takes.
    """
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
