"""Command: evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from obverse.cli import app
from obverse.cli.json_output import print_json

if TYPE_CHECKING:
    from obverse.benchmarks.benchmark import Benchmark
    from obverse.evaluate import Scores
    from obverse.rankers import Ranker
    from obverse.results import Result


@app.command()
def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            help="A model folder, a hub name, bm25, cross-encoder:NAME, onnx:FOLDER, or http://host/v1#MODEL."
        ),
    ],
    on: Annotated[
        list[str],
        typer.Option(
            help="A folder, NAME=PLACE or NAME:SUBSET=PLACE (followir:core17=DIR); repeatable."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The folder for runs and scores; by default results/MODEL/BENCHMARK."),
    ] = None,
    runs: Annotated[
        Path | None, typer.Option(help="Score the runs in this folder again; nothing is searched.")
    ] = None,
    scope: Annotated[str, typer.Option(help="Search views over the pool or the corpus.")] = "pool",
    guard: Annotated[
        str, typer.Option(help="Search the plain test queries over the corpus or the pool.")
    ] = "corpus",
    partial: Annotated[bool, typer.Option(help="Compute on half-present data.")] = False,
    joining: Annotated[
        str, typer.Option(help="Join query and instruction as the model, paper or mteb does.")
    ] = "model",
    template: Annotated[
        str | None, typer.Option(help="A query template by name; by default the model's own.")
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(help='Templates by benchmark: {"followir": "e5", "nevir": {"plain": ...}}.'),
    ] = None,
    force: Annotated[
        bool, typer.Option(help="Allow a template that the model was not trained with.")
    ] = False,
    show_input: Annotated[
        bool, typer.Option(help="Print one real input string per search, and stop.")
    ] = False,
    max_tokens: Annotated[int | None, typer.Option(help="Token limit of an input.")] = None,
    first_stage: Annotated[
        int, typer.Option(help="Cross-encoders: how many of BM25's best are reordered.")
    ] = 100,
    vectors: Annotated[
        Path | None, typer.Option(help="Keep document vectors in this folder; resumes there.")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Texts per forward pass.")] = 32,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; the best by default.")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap intervals.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure a model on benchmarks: runs are written, scores are printed."""
    from obverse.benchmarks.named import load_benchmark
    from obverse.errors import SettingError
    from obverse.evaluate import (
        evaluate,
        refuse_other_template,
        score_again,
        show_inputs,
        write_scores,
    )
    from obverse.inputs import template_named
    from obverse.log import say
    from obverse.prompts import prompts_by_benchmark
    from obverse.rankers import load_ranker

    asked = prompts_by_benchmark(prompts) if prompts is not None else None
    loaded = [load_benchmark(each, scope=scope, guard=guard, partial=partial) for each in on]
    found: list[Scores] = []
    if runs is not None:
        for each in loaded:
            found.append(score_again(each, _home(runs, model, each, loaded), seed=seed))
            if out is not None:
                write_scores(found[-1], _home(out, model, each, loaded))
        _finish(found, out, seed=seed, json=json)
        return
    ranker = load_ranker(
        model,
        template=template_named(template) if template else None,
        max_tokens=max_tokens,
        device=device,
        threads=threads,
        batch_size=batch_size,
        first_stage=first_stage,
    )
    rankers = [_prompted(ranker, each, asked, vectors) for each in loaded]
    if show_input:
        shown = {
            each.name: {"joining": joining, **show_inputs(own, each, joining)}  # type: ignore[arg-type]
            for own, each in zip(rankers, loaded, strict=True)
        }
        print_json(shown)
        for own, each in zip(rankers, loaded, strict=True):
            try:
                refuse_other_template(own, each, joining)
            except SettingError as error:
                say(f"note: {error}")
        return
    for own, each in zip(rankers, loaded, strict=True):
        found.append(
            evaluate(
                own,
                each,
                out=_home(out, model, each, loaded),
                joining=joining,  # type: ignore[arg-type]
                force=force,
                seed=seed,
            )
        )
    _finish(found, _root(out, model), seed=seed, json=json)


def _root(out: Path | None, model: str) -> Path:
    from obverse.results import folder_name

    return out if out is not None else Path("results") / folder_name(model)


def _home(out: Path | None, model: str, one: Benchmark, loaded: list[Benchmark]) -> Path:
    from obverse.results import folder_name

    if out is not None and len(loaded) == 1:
        return out
    return _root(out, model) / folder_name(one.name)


def _prompted(ranker: Ranker, benchmark: Benchmark, asked: Any, vectors: Path | None) -> Ranker:
    """The model as this benchmark wants it asked; its document vectors are kept by template."""
    from obverse.prompts import with_prompts
    from obverse.rankers import EncoderRanker

    own = with_prompts(ranker, benchmark.name, asked) if asked is not None else ranker
    if vectors is not None and isinstance(own, EncoderRanker):
        own.vectors.keep_in(vectors if own is ranker else vectors / own.encoder.template.digest)
    return own


def _finish(found: list[Scores], root: Path | None, *, seed: int, json: bool) -> None:
    from obverse.files import write_json
    from obverse.results import folder_name, result_of
    from obverse.set_means import KIND, with_set_means

    means = [
        each
        for each in with_set_means([result_of(scores) for scores in found], seed=seed)
        if each.about.get("kind") == KIND
    ]
    for mean in means if root is not None else ():
        write_json(Path(root or ".") / folder_name(mean.benchmark) / "scores.json", mean.to_json())
    if json:
        rows = {scores.benchmark: scores.to_json(per_topic=True) for scores in found}
        rows |= {mean.benchmark: mean.to_json() for mean in means}
        print_json(next(iter(rows.values())) if len(rows) == 1 else rows)
        return
    for scores in found:
        _show_scores(scores)
    for mean in means:
        _show_mean(mean)


_SAID = ("scope", "guard", "candidates", "joining", "max_tokens", "template_digest", "ties")


def _show_scores(scores: Scores) -> None:
    print(f"{scores.model} on {scores.benchmark}")
    for key, measured in scores.measures.items():
        print(f"  {key:18} {str(measured).removeprefix(measured.measure).lstrip(': ')}")
        for note, items in measured.notes.items():
            if isinstance(items, list):
                print(f"  {'':18} {note.replace('_', ' ')} ({len(items)}): {_some(items)}")
    if scores.about.get("kind") == "constraints":
        for key, values in scores.per_topic.items():
            print(f"  {key} by query: " + ", ".join(f"{q} {v:.2f}" for q, v in values.items()))
    for key, gone in _missing(scores.about).items():
        print(f"  {key}: {_some(gone)}")
    _show_how(scores.about)
    for search, example in scores.about.get("input_examples", {}).items():
        print(f"  {'input, ' + search:18} {example[:140]!r}")


def _show_mean(mean: Result) -> None:
    print(f"{mean.model} on {mean.benchmark}")
    for key, row in mean.rows.items():
        shown = (
            f"no value ({row['reason']})"
            if row["value"] is None
            else f"{row['value']:.4f} [{row['low']:.4f}, {row['high']:.4f}] n={row['n']}"
        )
        print(f"  {key:18} {shown}")
        print(f"  {'':18} {mean.about['what'][key]}")
    _show_how(mean.about)


def _show_how(about: Any) -> None:
    if shortened := about.get("instructions_shortened"):
        print(
            f"  {shortened} instructions shortened, {about['instruction_tokens_lost']} tokens lost"
        )
    for key in _SAID:
        if about.get(key) is not None:
            print(f"  {key:18} {about[key]}")
    named = about.get("scored_with") or about.get("versions") or {}
    print(f"  {'versions':18} " + ", ".join(f"{name} {v}" for name, v in named.items()))


def _some(items: list[Any]) -> str:
    shown = ", ".join(" ".join(map(str, i)) if isinstance(i, list) else str(i) for i in items[:8])
    return shown + (", ..." if len(items) > 8 else "")


def _missing(about: Any) -> dict[str, list[Any]]:
    """What the data lack and was computed on all the same, by phrase with its number."""
    found = {
        f"partial, {phrase} ({row['count']})": row["first"]
        for phrase, row in (about.get("partial") or {}).items()
    }
    for key in (
        "labels_of_missing_documents",
        "judged_queries_without_text",
        "judged_documents_not_in_corpus",
        "queries_cut_at_the_token_limit",
    ):
        if rows := about.get(key):
            found[f"{key.replace('_', ' ')} ({len(rows)})"] = rows
    return found
