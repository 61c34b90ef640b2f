"""Commands: recipe, sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from obverse.cli import app
from obverse.errors import SettingError


def _seeds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise SettingError(
            f"--seeds is {text!r}", fix="Give whole numbers: --seeds 0,1,2"
        ) from None


@app.command()
def recipe(
    name: Annotated[
        str, typer.Argument(help="A recipe (obverse list recipes), or package.module:OBJECT.")
    ],
    out: Annotated[Path, typer.Option(help="The folder for cells and page; run again to go on.")],
    scale: Annotated[
        str, typer.Option(help="Share of the paper's source topics: 1% or 0.01.")
    ] = "1%",
    seeds: Annotated[str, typer.Option(help="One cell for each arm and seed.")] = "0,1,2",
    base: Annotated[
        str, typer.Option(help="The encoder: a folder, a hub name, or a paper's backbone.")
    ] = "all-MiniLM-L6-v2",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="key=value for all arms, ARM.key=value for one; repeatable."),
    ] = None,
    on: Annotated[list[str] | None, typer.Option(help="Further benchmarks; repeatable.")] = None,
    arm: Annotated[list[str] | None, typer.Option(help="Only these arms; repeatable.")] = None,
    dev: Annotated[
        int | None,
        typer.Option(
            help="Training topics held back and measured; by default the recipe's number."
        ),
    ] = None,
    source: Annotated[
        Path | None, typer.Option(help="Your instructed topics instead of the packaged ones.")
    ] = None,
    benchmark: Annotated[
        Path | None, typer.Option(help="The topics benchmark; the packaged one by default.")
    ] = None,
    guard: Annotated[
        str, typer.Option(help="Search plain queries over the corpus or the pool.")
    ] = "corpus",
    vectors: Annotated[
        Path | None, typer.Option(help="Where the base's document vectors are kept, to be shared.")
    ] = None,
    keep: Annotated[str, typer.Option(help="Which models stay: all, first (seed), none.")] = "all",
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
) -> None:
    """Run a paper's experiment at any scale and write its table: ours, the published numbers, the distance."""
    from obverse.recipes.choices import parse_choice
    from obverse.recipes.run import recipe

    ran = recipe(
        name,
        out=out,
        scale=scale,
        seeds=_seeds(seeds),
        base=base,
        settings=dict(map(parse_choice, settings or [])),
        on=on or (),
        arms=arm or (),
        development=dev,
        source=source,
        benchmark=benchmark,
        guard=guard,  # type: ignore[arg-type]
        vectors=vectors,
        keep=keep,  # type: ignore[arg-type]
        threads=threads,
    )
    print(ran.page)


@app.command()
def sweep(
    what: Annotated[str, typer.Argument(help="A sweep's JSON file, or a recipe's name.")],
    out: Annotated[Path, typer.Option(help="The folder for cells and page; run again to go on.")],
    grid: Annotated[
        list[str] | None, typer.Option(help="key=a,b: the values of a setting; repeatable.")
    ] = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(help="The arms at every point; the recipe's first by default."),
    ] = None,
    seeds: Annotated[str, typer.Option(help="One cell for each point and seed.")] = "0,1,2",
    scale: Annotated[str, typer.Option(help="Share of the source topics: 1% or 0.01.")] = "1%",
    base: Annotated[str, typer.Option(help="The encoder.")] = "all-MiniLM-L6-v2",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="key=value for every point; repeatable.")
    ] = None,
    on: Annotated[list[str] | None, typer.Option(help="Further benchmarks; repeatable.")] = None,
    dev: Annotated[
        int, typer.Option(help="Topics held back and measured; 0 measures the held-out topics.")
    ] = 70,
    guard: Annotated[
        str, typer.Option(help="Search plain queries over the corpus or the pool.")
    ] = "corpus",
    vectors: Annotated[
        Path | None, typer.Option(help="Where the base's document vectors are kept, to be shared.")
    ] = None,
    keep: Annotated[str, typer.Option(help="Which models stay: all, first, none.")] = "none",
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
) -> None:
    """Run a recipe over a grid of settings, on topics held back from training; one page of results."""
    from obverse.recipes.choices import parse_choice
    from obverse.recipes.sweep import parse_grid, read_sweep, sweep

    given = dict(map(parse_choice, settings or []))
    points = dict(map(parse_grid, grid or []))
    name, arms, chosen = what, arm or [], _seeds(seeds)
    if what.endswith(".json"):
        file = read_sweep(what)
        name, points = file["recipe"], {**file["grid"], **points}
        arms, given = arms or file.get("arms", []), {**file.get("set", {}), **given}
        chosen = file.get("seeds", chosen)
        scale, base, dev = file.get("scale", scale), file.get("base", base), file.get("dev", dev)
        on = on or file.get("on")
    ran = sweep(
        name,
        out=out,
        grid=points,
        arms=arms,
        development=dev,
        seeds=chosen,
        scale=scale,
        base=base,
        settings=given,
        on=on or (),
        guard=guard,
        vectors=vectors,
        keep=keep,
        threads=threads,
    )
    print(ran.page)
