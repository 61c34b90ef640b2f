"""Commands: train, explain-batch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from obverse.cli import app
from obverse.records import Topic


@app.command()
def train(
    topics: Annotated[str, typer.Argument(help="Topics with their documents.")],
    out: Annotated[
        Path, typer.Option(help="The model's folder; an older one is replaced at the end.")
    ],
    base: Annotated[str, typer.Option(help="The encoder to start from.")] = "all-MiniLM-L6-v2",
    epochs: Annotated[int, typer.Option(help="How often every topic is seen.")] = 4,
    batch_size: Annotated[int, typer.Option(help="Topics per step, with all their views.")] = 16,
    learning_rate: Annotated[float, typer.Option(help="The highest, after the warm-up.")] = 5e-5,
    warmup: Annotated[float, typer.Option(help="Share of the steps in which it rises.")] = 0.1,
    schedule: Annotated[str, typer.Option(help="linear, cosine or constant.")] = "linear",
    temperature: Annotated[float, typer.Option(help="Divides the similarities.")] = 0.02,
    max_negatives: Annotated[int, typer.Option(help="Own negatives of a view in a step.")] = 30,
    in_batch: Annotated[bool, typer.Option(help="Other topics' documents are negatives.")] = True,
    plain_weight: Annotated[
        float, typer.Option(help="Weight of queries without instruction.")
    ] = 1.0,
    keep_close: Annotated[
        float, typer.Option(help="Weight of staying at the base's vectors.")
    ] = 0.0,
    freeze_docs: Annotated[
        bool,
        typer.Option("--freeze-docs", help="Train the query side; an existing index stays valid."),
    ] = False,
    freeze_layers: Annotated[int, typer.Option(help="First layers that are not trained.")] = 0,
    average: Annotated[float, typer.Option(help="Share of the base in the final weights.")] = 0.0,
    weight_decay: Annotated[float, typer.Option(help="AdamW's.")] = 0.01,
    max_grad_norm: Annotated[float, typer.Option(help="Gradients are clipped to it.")] = 1.0,
    micro_batch: Annotated[int, typer.Option(help="Texts per forward pass.")] = 16,
    precision: Annotated[str, typer.Option(help="auto, fp32 or bf16.")] = "auto",
    max_tokens: Annotated[
        int | None, typer.Option(help="Token limit; the base's own by default.")
    ] = None,
    template: Annotated[
        str | None, typer.Option(help="A query template's name; the base's by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the plan and of dropout.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Torch threads on a CPU.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; the best by default.")] = None,
    explain_batch: Annotated[
        int | None, typer.Option(help="Print this step's table, counted from 0, and train nothing.")
    ] = None,
) -> None:
    """Train an encoder on topics; the folder is an ordinary sentence-transformers model."""
    from obverse.files import read_topics
    from obverse.inputs import template_named
    from obverse.log import say

    chosen = template_named(template) if template is not None else None
    rows = list(read_topics(topics))
    if explain_batch is not None:
        _explain(rows, base, explain_batch, batch_size, epochs, max_negatives, in_batch, seed)
        return
    from obverse.training.trainer import train

    train(
        rows,
        base=base,
        out=out,
        max_tokens=max_tokens,
        template=chosen,
        threads=threads,
        device=device,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        warmup=warmup,
        schedule=schedule,
        temperature=temperature,
        max_negatives=max_negatives,
        in_batch=in_batch,
        plain_weight=plain_weight,
        keep_close=keep_close,
        freeze_docs=freeze_docs,
        freeze_layers=freeze_layers,
        average=average,
        weight_decay=weight_decay,
        max_grad_norm=max_grad_norm,
        micro_batch=micro_batch,
        precision=precision,
        seed=seed,
    )
    say(f"train: {len(rows):,} topics in, a model folder out: {out}")


@app.command("explain-batch")
def explain_batch(
    topics: Annotated[str, typer.Argument(help="Topics with their documents.")],
    step: Annotated[int, typer.Option(help="The step, counted from 0.")] = 0,
    base: Annotated[
        str, typer.Option(help="The encoder whose similarities are shown.")
    ] = "all-MiniLM-L6-v2",
    batch_size: Annotated[int, typer.Option(help="Topics per step.")] = 16,
    epochs: Annotated[int, typer.Option(help="Epochs of the run.")] = 4,
    max_negatives: Annotated[int, typer.Option(help="Own negatives of a view in a step.")] = 30,
    in_batch: Annotated[bool, typer.Option(help="Other topics' documents are negatives.")] = True,
    seed: Annotated[int, typer.Option(help="Of the plan.")] = 0,
) -> None:
    """Show a step as a table: anchor, candidate, label, similarity, weight, and why a cell is masked."""
    from obverse.files import read_topics

    rows = list(read_topics(topics))
    _explain(rows, base, step, batch_size, epochs, max_negatives, in_batch, seed)


def _explain(
    topics: list[Topic],
    base: str,
    step: int,
    batch_size: int,
    epochs: int,
    max_negatives: int,
    in_batch: bool,
    seed: int,
) -> None:
    from obverse.models import load_encoder
    from obverse.training.batches import Batches
    from obverse.training.explain import explained
    from obverse.training.plan import Plan, check_topics

    check_topics(topics)
    plan = Plan(tuple(topic.topic_id for topic in topics), batch_size, epochs, seed)
    batches = Batches(
        {topic.topic_id: topic for topic in topics},
        plan,
        load_encoder(base),
        max_negatives=max_negatives,
        in_batch=in_batch,
    )
    for line in explained(batches, step):
        print(line)
