"""Commands: demo, mix, list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from obverse.cli import app
from obverse.errors import SettingError


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="The folder for page, scores, model, data and runs.")
    ] = Path("demo"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Under four minutes: less training, a smaller guard.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of training and of the intervals.")] = 0,
    threads: Annotated[
        int | None, typer.Option(help="Torch threads; torch's own choice by default.")
    ] = None,
) -> None:
    """The whole loop on real scientific abstracts, offline, on a CPU; ends with a page to open."""
    from obverse.demo.run import demo

    if out.is_file():
        raise SettingError("is a file", where=str(out), fix="Give a folder with --out")
    print(demo(out, quick=quick, seed=seed, threads=threads))


@app.command()
def mix(
    sources: Annotated[list[str], typer.Argument(help="Topics files.")],
    out: Annotated[str, typer.Option(help="Where the mixed topics go.")],
    size: Annotated[int | None, typer.Option(help="How many topics; all by default.")] = None,
    share: Annotated[
        list[float] | None, typer.Option(help="The weight of each source, in their order.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Chooses the topics and their order.")] = 0,
) -> None:
    """Put sources together to an exact size and order; the ledger beside the output says what is in it."""
    from obverse.files import made_file, read_topics, write_topics
    from obverse.log import say
    from obverse.mix import ledger, mix

    if len(set(sources)) < len(sources):
        raise SettingError("a source is named twice", fix="Name each file once")
    if share is not None and len(share) != len(sources):
        raise SettingError(
            f"{len(share)} shares are given for {len(sources)} sources",
            fix="Give one --share for each",
        )
    found = {name: list(read_topics(name)) for name in sources}
    shares = dict(zip(sources, share, strict=True)) if share else None
    topics = mix(found, size=size, shares=shares, seed=seed)
    write_topics(out, topics)
    book = ledger(topics).to_json()
    made_file(
        out,
        command="mix",
        inputs=sources,
        parameters={"size": size, "share": share, "seed": seed},
        ledger=book,
    )
    came = ", ".join(f"{len(rows):,} from {name}" for name, rows in found.items())
    say(
        f"mix: {came} in, {len(topics):,} topics out ({book['docs']:,} documents, views {book['views']})"
    )
