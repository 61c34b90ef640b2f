"""Commands that take away what should not be trained on: filter."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from obverse.cli import app


@app.command("filter")
def filter_command(
    topics: Annotated[str, typer.Argument(help="A topics file; - is standard input.")],
    by: Annotated[list[str], typer.Option(help="A filter; repeatable, in this order.")],
    out: Annotated[str, typer.Option(help="Where the topics that are left go.")] = "-",
    model: Annotated[
        str, typer.Option(help="similarity_gain, margin, leak: the frozen encoder.")
    ] = "all-MiniLM-L6-v2",
    threshold: Annotated[
        float, typer.Option(help="similarity_gain: keep where the gain is above it.")
    ] = 0.0,
    max_tokens: Annotated[
        int | None, typer.Option(help="The encoder's token limit; by default its own.")
    ] = None,
) -> None:
    """Take away views that should not be trained on; says what each filter left."""
    from obverse.filters.filtering import filter_file

    settings: dict[str, Any] = {
        "encoder": model,
        "threshold": threshold,
        "max_tokens": max_tokens,
    }
    filter_file(topics, out, by, **settings)
