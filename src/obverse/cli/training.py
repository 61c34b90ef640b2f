"""Commands: train, inputs, explain-batch, doctor, export."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from obverse.cli import app


def _topics(source: str) -> Any:
    """Topics in any format; a folder of corpus.jsonl and topics.jsonl is joined."""
    from obverse.training.sources import training_topics

    return training_topics(source)


def _numbers(text: str) -> tuple[int, ...]:
    from obverse.errors import SettingError

    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise SettingError(f"{text!r} is no list of widths", fix="Write 256,128") from None


def _in_batch(values: list[str] | None) -> bool | dict[str, bool]:
    from obverse.errors import SettingError

    if not values:
        return True
    found: dict[str, bool] = {}
    for value in values:
        source, _, state = value.rpartition("=")
        if state not in ("on", "off"):
            raise SettingError(
                f"--in-batch {value!r} is neither on nor off", fix="Write on, off, or SOURCE=off"
            )
        _need_new(source, found, "--in-batch")
        found[source] = state == "on"
    return found[""] if set(found) == {""} else found


def _source_weights(values: list[str] | None) -> dict[str, str]:
    from obverse.errors import SettingError

    found: dict[str, str] = {}
    for value in values or []:
        source, equals, weight = value.rpartition("=")
        if not equals:
            raise SettingError(
                f"--source-weight {value!r} names no source",
                fix="Write SOURCE=2, or SOURCE=0:1 for a weight that moves",
            )
        _need_new(source, found, "--source-weight")
        found[source] = weight
    return found


def _need_new(source: str, found: Container[str], flag: str) -> None:
    """Raises SettingError if a source has a value already: the last would win, whatever was meant."""
    from obverse.errors import SettingError

    if source in found:
        what = f"the source {source!r}" if source else "any other source"
        raise SettingError(f"{flag} is given twice for {what}", fix="Give it once")


def _need_names(given: Mapping[str, Any]) -> None:
    """Raises SettingError if a command is given an empty name."""
    from obverse.training.arguments import need_names

    need_names(given)


@app.command("train")
def train_command(
    topics: Annotated[
        str, typer.Argument(help="Topics, or rows in any format that obverse read knows.")
    ],
    out: Annotated[str | None, typer.Option(help="The model folder.", metavar="PATH")] = None,
    base: Annotated[
        str, typer.Option(help="A folder, a hub name, or all-MiniLM-L6-v2.")
    ] = "all-MiniLM-L6-v2",
    template: Annotated[
        str | None, typer.Option(help="default, e5, bge, gte, qwen3, promptriever. [the base's]")
    ] = None,
    epochs: Annotated[float, typer.Option(help="How often each topic is seen.")] = 1,
    steps: Annotated[
        int | None, typer.Option(help="So many full batches instead of --epochs.")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Topics per step, over all processes.")] = 16,
    learning_rate: Annotated[
        float | None,
        typer.Option(help="The highest learning rate. [1.2e-4 with --freeze-docs, else 5e-5]"),
    ] = None,
    temperature: Annotated[float, typer.Option(help="Divides the similarities.")] = 0.02,
    max_tokens: Annotated[int, typer.Option(help="The limit of an input.")] = 128,
    freeze_docs: Annotated[
        bool, typer.Option("--freeze-docs", help="Train the query side alone; indexes stay valid.")
    ] = False,
    freeze_layers: Annotated[
        int, typer.Option(help="Embeddings and this many first layers do not learn.")
    ] = 0,
    keep_close: Annotated[
        float | None,
        typer.Option(help="Weight of staying near the base. [10 with --freeze-docs, else 0]"),
    ] = None,
    contrast_instructions: Annotated[
        float, typer.Option(help="Weight: documents against the topic's other views.")
    ] = 0.0,
    contrast_queries: Annotated[
        float, typer.Option(help="Weight: documents against other topics' queries.")
    ] = 0.0,
    margin_weight: Annotated[
        float, typer.Option(help="Weight of the margin on documents that swap.")
    ] = 0.0,
    margin: Annotated[float, typer.Option(help="That margin, in cosine.")] = 0.1,
    distill: Annotated[
        float, typer.Option(help="Weight of a teacher's scores (checks.teacher).")
    ] = 0.0,
    teacher_temperature: Annotated[float, typer.Option(help="Divides those scores.")] = 1.0,
    matryoshka: Annotated[
        str, typer.Option(help="Shorter widths trained along, such as 256,128.")
    ] = "",
    matryoshka_weight: Annotated[float, typer.Option(help="Their share of the loss.")] = 0.5,
    plain_weight: Annotated[
        float, typer.Option(help="Weight of plain rows; instructed ones weigh 1.")
    ] = 1.0,
    plain_share: Annotated[
        str, typer.Option(help="Share of topics whose plain view comes along; 0.8:0.2 moves.")
    ] = "1",
    instructed_share: Annotated[
        str, typer.Option(help="Share whose instructed views do, if there is a plain one.")
    ] = "1",
    source_weight: Annotated[
        list[str] | None, typer.Option(help="SOURCE=2 or SOURCE=0:1: weight of its rows. [1]")
    ] = None,
    plain_per_batch: Annotated[
        int | None, typer.Option(help="Plain-only topics added to each batch. [like any topic]")
    ] = None,
    keep_last: Annotated[
        bool,
        typer.Option("--keep-last/--drop-last", help="What fills no batch at the end."),
    ] = True,
    max_views: Annotated[
        int | None, typer.Option(help="Instructed views of a topic in a batch. [all]")
    ] = None,
    negatives: Annotated[int, typer.Option(help="Negatives per view at most.")] = 30,
    instruction_negatives: Annotated[
        int, typer.Option(help="Instruction negatives per view at most; they come first.")
    ] = 3,
    pick: Annotated[str, typer.Option(help="Hard negatives: random, or the first.")] = "random",
    in_batch: Annotated[
        list[str] | None,
        typer.Option(help="on, off, or SOURCE=off: other topics' documents as negatives."),
    ] = None,
    pool_negatives: Annotated[
        int | None,
        typer.Option(help="More documents per batch. [0; all with --freeze-docs]"),
    ] = None,
    pool_encoding: Annotated[
        str, typer.Option(help="Their vectors: the frozen base's, or current ones.")
    ] = "frozen",
    warmup: Annotated[float, typer.Option(help="Share of steps with a rising rate.")] = 0.1,
    schedule: Annotated[str, typer.Option(help="linear, cosine or constant.")] = "linear",
    weight_decay: Annotated[float, typer.Option(help="Of AdamW.")] = 0.01,
    max_grad_norm: Annotated[float, typer.Option(help="The gradient is cut to it; 0: not.")] = 1.0,
    average: Annotated[float, typer.Option(help="The base's share in the final weights.")] = 0.0,
    average_last: Annotated[
        float, typer.Option(help="Last share of steps whose weights are averaged.")
    ] = 0.0,
    lora: Annotated[int, typer.Option(help="Rank of low-rank adapters; 0: all weights.")] = 0,
    lora_alpha: Annotated[int | None, typer.Option(help="Their scale. [twice the rank]")] = None,
    lora_dropout: Annotated[float, typer.Option(help="Their dropout.")] = 0.0,
    gradient_checkpointing: Annotated[
        bool, typer.Option("--gradient-checkpointing", help="Recompute activations.")
    ] = False,
    chunked: Annotated[
        bool, typer.Option("--chunked", help="Any batch size in bounded memory (GradCache).")
    ] = False,
    keep_tokens: Annotated[
        int, typer.Option(help="With --chunked: tokens whose activations are kept, for speed.")
    ] = 0,
    micro_tokens: Annotated[
        int | None, typer.Option(help="Tokens per micro-batch. [1024; with --chunked 512]")
    ] = None,
    precision: Annotated[str, typer.Option(help="auto, fp32, bf16 or fp16.")] = "auto",
    device: Annotated[str | None, typer.Option(help="cpu or cuda; the best by default.")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    seed: Annotated[int, typer.Option(help="Every draw depends on it.")] = 0,
    save_every: Annotated[
        int | None, typer.Option(help="Steps between checkpoints, which then stay.")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin anew.")] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write TensorBoard files.")
    ] = False,
    held_out: Annotated[
        str | None, typer.Option(help="Topics to look at; the best step's weights are kept.")
    ] = None,
    watch_every: Annotated[
        int | None, typer.Option(help="Steps between looks. [a fifth of the run]")
    ] = None,
    guard_loss: Annotated[
        float, typer.Option(help="How much plain nDCG@10 the best step may lose.")
    ] = 0.01,
    explain_batch: Annotated[
        int | None, typer.Option(help="Print this step as a table, from 0, and train nothing.")
    ] = None,
    show_input: Annotated[
        bool,
        typer.Option("--show-input", help="Print the strings that are encoded, and train nothing."),
    ] = False,
) -> None:
    """Train an encoder on topics; run the same command again after a stop and it goes on."""
    _need_names(locals())
    import os

    from obverse.errors import SettingError
    from obverse.training.trainer import train

    settings = dict(locals())
    for name in ("topics", "out", "train", "SettingError", "explain_batch", "show_input", "os"):
        settings.pop(name)
    settings["matryoshka"] = _numbers(matryoshka)
    settings["source_weights"] = _source_weights(settings.pop("source_weight"))
    settings["in_batch"] = _in_batch(in_batch)
    if show_input:
        _show_inputs(topics, base, template, max_tokens, training=True)
        return
    if explain_batch is not None:
        for name in (
            "save_every",
            "restart",
            "tensorboard",
            "held_out",
            "watch_every",
            "guard_loss",
        ):
            settings.pop(name)
        _explain(topics, explain_batch, json=False, **settings)
        return
    if out is None:
        raise SettingError("there is no place for the model", fix="Give --out DIR")
    if held_out is not None:
        settings["held_out"] = _topics(held_out)
    done = train(_topics(topics), out=out, **settings)
    if os.environ.get("RANK", "0") == "0":
        _tell_of_the_data(done.folder, topics)
        print(done.folder)


def _tell_of_the_data(model: Path, topics: str) -> None:
    """The card gets what the data's made-file says: how they were made, their audit, their licences."""
    from obverse.cards import write_model_card
    from obverse.errors import ObverseError

    if not Path(f"{topics}.made.json").is_file():
        return
    # Suppressed: a card that was written by hand, or rows that are no topics file.
    with contextlib.suppress(ObverseError):
        write_model_card(model, data=[topics])


def _show_inputs(
    source: str, base: str, template: str | None, max_tokens: int | None, *, training: bool = False
) -> None:
    from obverse.files import to_json
    from obverse.inputs import template_named
    from obverse.models import load_encoder
    from obverse.training.run import check_limit
    from obverse.training.shown_inputs import shown_inputs

    chosen = template_named(template) if template else None
    # Training may raise the base's own limit, up to its positions.
    limit = None if training else max_tokens
    encoder = load_encoder(base, template=chosen, max_tokens=limit, device="cpu")
    if training and max_tokens is not None:
        check_limit(encoder.model, base, max_tokens)
        encoder.max_tokens = max_tokens
    for row in shown_inputs(source, encoder.template, encoder.max_tokens, encoder.count_tokens):
        print(to_json(row).decode())


@app.command("inputs")
def inputs_command(
    source: Annotated[
        str, typer.Argument(help="Rows of query and instruction, or topics in any format.")
    ],
    model: Annotated[
        str, typer.Option(help="A model folder or hub name: its template and limit count.")
    ] = "all-MiniLM-L6-v2",
    template: Annotated[str | None, typer.Option(help="Another template, by name.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Another limit. [the model's]")] = None,
) -> None:
    """Print the very strings that a model reads, one JSON object a line."""
    _need_names(locals())
    _show_inputs(source, model, template, max_tokens)


@app.command("explain-batch")
def explain_batch_command(
    topics: Annotated[
        str, typer.Argument(help="Topics, or rows in any format that obverse read knows.")
    ],
    step: Annotated[int, typer.Option("--step", "--batch", help="Counted from 0.")] = 0,
    base: Annotated[
        str, typer.Option(help="The encoder whose similarities are shown.")
    ] = "all-MiniLM-L6-v2",
    template: Annotated[str | None, typer.Option(help="A query template. [the base's]")] = None,
    epochs: Annotated[float, typer.Option(help="How often each topic is seen.")] = 1,
    steps: Annotated[int | None, typer.Option(help="Instead of --epochs.")] = None,
    batch_size: Annotated[int, typer.Option(help="Topics per step.")] = 16,
    temperature: Annotated[float, typer.Option(help="Divides the similarities.")] = 0.02,
    max_tokens: Annotated[int, typer.Option(help="The limit of an input.")] = 128,
    freeze_docs: Annotated[
        bool, typer.Option("--freeze-docs", help="As for train: all documents are candidates.")
    ] = False,
    plain_share: Annotated[str, typer.Option(help="Share of plain views.")] = "1",
    instructed_share: Annotated[str, typer.Option(help="Share of instructed ones.")] = "1",
    plain_per_batch: Annotated[int | None, typer.Option(help="Plain-only topics added.")] = None,
    keep_last: Annotated[
        bool, typer.Option("--keep-last/--drop-last", help="What fills no batch at the end.")
    ] = True,
    max_views: Annotated[int | None, typer.Option(help="Instructed views of a topic.")] = None,
    negatives: Annotated[int, typer.Option(help="Negatives per view at most.")] = 30,
    instruction_negatives: Annotated[int, typer.Option(help="Of them, at most.")] = 3,
    pick: Annotated[str, typer.Option(help="Hard negatives: random, or the first.")] = "random",
    in_batch: Annotated[
        list[str] | None, typer.Option(help="on, off, or SOURCE=off; as for train.")
    ] = None,
    pool_negatives: Annotated[int | None, typer.Option(help="More documents per batch.")] = None,
    seed: Annotated[int, typer.Option(help="Every draw depends on it.")] = 0,
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
) -> None:
    """Show a step as a table: anchor, candidate, label, similarity, weight, reason of a mask."""
    _need_names(locals())
    settings = dict(locals())
    for name in ("topics", "step", "json"):
        settings.pop(name)
    settings["in_batch"] = _in_batch(in_batch)
    _explain(topics, step, json=json, **settings)


def _explain(topics: str, step: int, *, json: bool, **settings: Any) -> None:
    from obverse.files import to_json
    from obverse.log import say
    from obverse.training.explain import as_lines, explain_batch, explained
    from obverse.training.settings import without_effect

    for line in without_effect(settings):
        say(f"explain-batch: {line}")
    run = explain_batch(_topics(topics), step, **settings)
    if json:
        for pair in explained(run, step):
            print(to_json(pair.to_json()).decode())
        return
    for line in as_lines(run, step):
        print(line)


doctor = typer.Typer(
    help="Checks of your own machines.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(doctor, name="doctor")


@doctor.callback()
def _doctor() -> None:
    """Checks of your own machines."""


@doctor.command("dist")
def doctor_dist(
    processes: Annotated[
        int, typer.Option(help="How many to start here; under torchrun those that there are.")
    ] = 2,
    base: Annotated[str, typer.Option(help="The encoder to check with.")] = "all-MiniLM-L6-v2",
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Every loss chunked as well, not two alone.")
    ] = False,
) -> None:
    """Check that the gradient of several processes is that of one, for every loss; half a minute."""
    import os

    from obverse.training.dist_check import check_processes, launch

    if "WORLD_SIZE" not in os.environ:
        _need_names({"base": base})
        raise typer.Exit(launch(processes, base, thorough=thorough))
    found = check_processes(base, thorough=thorough)
    if os.environ.get("RANK") == "0":
        for check in found:
            print(check)
    if not all(check.passed for check in found):
        raise typer.Exit(1)


@app.command("export")
def export_command(
    model: Annotated[str, typer.Argument(help="A model folder.")],
    out: Annotated[str, typer.Option(help="Where the exported model goes.", metavar="PATH")],
    to: Annotated[str, typer.Option(help="onnx or int8.")] = "onnx",
) -> None:
    """Export a model to ONNX, or to ONNX with int8 weights; says how close its vectors stay."""
    _need_names(locals())
    from obverse.training.export import export

    export(model, out, to=to)  # type: ignore[arg-type]
    print(Path(out))
