"""Commands: measure, evaluate, compare, probe, gate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from obverse.cli import app


def _print_json(value: Any) -> None:
    from obverse.files import to_json

    sys.stdout.buffer.write(to_json(value, indent=True) + b"\n")
    sys.stdout.buffer.flush()


@app.command()
def evaluate(
    model: Annotated[str, typer.Argument(help="A model folder, a hub name, or all-MiniLM-L6-v2.")],
    on: Annotated[str, typer.Option(help="A topics benchmark folder.")],
    out: Annotated[
        Path | None, typer.Option(help="Write runs and scores into this folder.")
    ] = None,
    scope: Annotated[str, typer.Option(help="Search views over the pool or the corpus.")] = "pool",
    guard: Annotated[
        str, typer.Option(help="Search the plain test queries over the corpus or the pool.")
    ] = "corpus",
    partial: Annotated[
        bool, typer.Option(help="Measure although labelled documents are missing.")
    ] = False,
    max_tokens: Annotated[int | None, typer.Option(help="Token limit of an input.")] = None,
    batch_size: Annotated[int, typer.Option(help="Texts per forward pass.")] = 32,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; the best by default.")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap intervals.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure a model on a benchmark; runs are written with --out."""
    from obverse.benchmarks.topics import topics_benchmark
    from obverse.evaluate import evaluate
    from obverse.models import load_encoder

    benchmark = topics_benchmark(on, scope=scope, guard=guard, partial=partial)  # type: ignore[arg-type]
    encoder = load_encoder(
        model, max_tokens=max_tokens, device=device, threads=threads, batch_size=batch_size
    )
    scores = evaluate(encoder, benchmark, out=out, seed=seed)
    if json:
        _print_json(scores.to_json())
        return
    for key, measured in scores.measures.items():
        print(f"{key:15} {str(measured).removeprefix(measured.measure).lstrip(': ')}")
    for key in ("scope", "guard", "joining", "max_tokens", "template_digest"):
        print(f"{key:15} {scores.about.get(key)}")
