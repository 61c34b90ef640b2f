"""The page of a recipe: scale, means over seeds, paired tests, proof of equal sizes, the papers' numbers, commands."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.files import read_json, whole_file, write_json
from obverse.provenance import versions
from obverse.recipes.blocks import (
    Block,
    Code,
    Drawing,
    Heading,
    Points,
    Words,
    as_html,
    as_markdown,
)
from obverse.recipes.cells import Cell
from obverse.recipes.outcome import Outcome, distances
from obverse.recipes.page_proofs import papers, sizes
from obverse.recipes.page_tables import (
    findings,
    gain_and_loss,
    paired_tests,
    score_table,
    seed_table,
)
from obverse.report.compared import scores_of
from obverse.report.trade_plot import trade_plot

if TYPE_CHECKING:
    from obverse.recipes.prepared import Setup

PAGE = "recipe.md"


def write_page(setup: Setup, cells: Sequence[Cell], found: Outcome, home: Path) -> Path:
    """Writes ``recipe.md``, ``recipe.html`` and ``results.json`` and returns the first."""
    title = f"Recipe {setup.recipe.name}, {percent(setup.scale)}"
    blocks = blocks_of(setup, cells, found)
    for name, text in ((PAGE, as_markdown(title, blocks)), ("recipe.html", as_html(title, blocks))):
        with whole_file(home / name) as stream:
            stream.write(text.encode("utf-8", "surrogatepass"))
    write_json(
        home / "results.json",
        {
            "recipe": setup.recipe.name,
            "scale": setup.scale,
            "seeds": list(setup.seeds),
            "base": setup.base,
            "command": command(setup),
            "cells": [{"folder": cell.folder.name, **cell.identity} for cell in cells],
            **found.to_json(),
            "distances": distances(setup.recipe, found),
            "versions": versions(),
        },
    )
    return home / PAGE


def blocks_of(setup: Setup, cells: Sequence[Cell], found: Outcome) -> list[Block]:
    """Returns the page's blocks."""
    blocks: list[Block] = [Words(setup.recipe.says), *_scale(setup, cells)]
    for name, results in found.means.items():
        blocks += [Heading(f"On {name}"), score_table(results), *seed_table(found, name)]
        plot = trade_plot(scores_of(results))
        blocks += [Drawing(plot)] if plot is not None else []
    blocks.append(
        Words(
            "Each topic's value is the mean over the seeds; intervals are 95 % bootstrap intervals over topics. "
            "Values of p-MRR, Robustness and nDCG are times 100. The second table has each seed's value."
        )
    )
    blocks += (
        findings(found)
        + gain_and_loss(found)
        + paired_tests(found)
        + sizes(setup, cells)
        + papers(setup, found)
    )
    limits = [*setup.recipe.limits, *_LIMITS]
    blocks += [Heading("What this scale can and cannot say"), Points(limits)]
    return [*blocks, Heading("Command"), Code(command(setup))]


_LIMITS = (
    "Intervals are over topics of one benchmark: they say how sure the order of the arms is on such topics, not on "
    "other data.",
    "A few seeds show how much a run's chance moves; they are no second sample of topics.",
)


def percent(share: float) -> str:
    """Returns a share as text: ``1%``."""
    return f"{100 * share:g}%"


def command(setup: Setup) -> str:
    """Returns the command that makes the page."""
    called = setup.recipe.command or f"recipe {setup.recipe.name}"
    parts = [f"obverse {called} --scale {percent(setup.scale)}"]
    parts.append(f"--seeds {','.join(map(str, setup.seeds))} --base {setup.base}")
    parts += [f"--set '{key}={_json(value)}'" for key, value in setup.given.items()]
    parts += [f"--on {spec.partition('=')[0]}=FOLDER" for spec in setup.on]
    if setup.source.development and not setup.recipe.command:
        parts.append(f"--dev {len(setup.source.development)}")
    if len(setup.arms) < len(setup.recipe.arms):
        parts += [f"--arm '{name}'" for name in setup.arms]
    return " ".join([*parts, "--out DIR"])


def _json(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _scale(setup: Setup, cells: Sequence[Cell]) -> list[Block]:
    recipe, source = setup.recipe, setup.source
    asked = round(setup.scale * recipe.full)
    got = len(source.topics)
    short = (
        f" The source holds {source.available:,}, which is all: "
        f"{percent(round(source.available / recipe.full, 6))} of the full size."
        if source.available < asked
        else ""
    )
    made = [row for cell in cells if (row := read_json(cell.made))]
    seconds = sum(float(row["seconds"]) for row in made)
    lines = [
        f"Scale {percent(setup.scale)}: {asked:,} of {recipe.full:,} {recipe.full_says}.{short} {got:,} source topics "
        f"are trained on, {len(source.two_sided):,} of them with both instructed views."
        + (
            f" {len(source.development)} more are held back as development topics."
            if source.development
            else ""
        ),
        f"Base: {setup.base}, {setup.encoder.max_tokens} tokens. Seeds: {', '.join(map(str, setup.seeds))}. "
        f"{len(cells)} cells, {seconds / 60:.1f} minutes of training by the clock in all.",
        "Settings of all arms: " + _settings(setup) + ".",
        f"Made on {time.strftime('%Y-%m-%d')}, {platform.machine()}, Python {platform.python_version()}, "
        + ", ".join(
            f"{k} {v}" for k, v in versions().items() if k in ("torch", "sentence-transformers")
        )
        + ".",
    ]
    return [Points(lines)]


def _settings(setup: Setup) -> str:
    shared = [setup.settings[name] for name in setup.arms]
    keys = [k for k, v in shared[0].items() if all(other.get(k) == v for other in shared)]
    return ", ".join(f"{key} {shared[0][key]}" for key in keys)
