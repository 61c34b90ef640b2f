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
        source=source,
        benchmark=benchmark,
        guard=guard,  # type: ignore[arg-type]
        vectors=vectors,
        keep=keep,  # type: ignore[arg-type]
        threads=threads,
    )
    print(ran.page)
