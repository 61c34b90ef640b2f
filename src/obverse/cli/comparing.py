"""Commands: compare and gate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from obverse.cli import app
from obverse.cli.json_output import print_json
from obverse.errors import SettingError

if TYPE_CHECKING:
    from obverse.compare import Comparison
    from obverse.results import Result


@app.command()
def compare(
    what: Annotated[
        list[str],
        typer.Argument(
            help="Result folders of evaluate --out or of mteb, or models to be measured with --on; "
            "the others are held against the first."
        ),
    ],
    on: Annotated[list[str] | None, typer.Option(help="Benchmarks for models; repeatable.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write comparison.md, .html, .tex, .json here.")
    ] = None,
    show: Annotated[str, typer.Option(help="Print markdown, html, latex or json.")] = "markdown",
    joining: Annotated[
        str, typer.Option(help="Join query and instruction as the model, paper or mteb does.")
    ] = "model",
    partial: Annotated[bool, typer.Option(help="Compute on half-present data.")] = False,
    max_tokens: Annotated[int | None, typer.Option(help="Token limit of an input.")] = None,
    scope: Annotated[str, typer.Option(help="Search views over the pool or the corpus.")] = "pool",
    guard: Annotated[
        str, typer.Option(help="Search plain queries over the corpus or the pool.")
    ] = "corpus",
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the resamplings.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="The same as --show json.")] = False,
) -> None:
    """Hold models against the first one: intervals, paired tests (Holm), wins and losses."""
    from obverse.compare import compare
    from obverse.results import as_one_table
    from obverse.set_means import with_set_means

    kind = "json" if json else show
    if kind not in _ENDINGS:
        raise SettingError(f"--show is {show!r}", fix=f"Use {', '.join(_ENDINGS)}")
    read = {name: rows for name in what if (rows := _read(name))}
    models = [name for name in what if name not in read]
    if models and not on:
        raise SettingError(
            f"{models[0]} is no folder of evaluate --out",
            fix="Name one; or, if it is a model, say what to measure it on: --on BENCHMARK",
        )
    if on and not models:
        raise SettingError("--on is given, and no model to measure", fix="Leave --on away")
    if models:
        limits = {"max_tokens": max_tokens, "threads": threads}
        read |= _measured(
            models, on or [], out, joining, seed, limits, scope=scope, guard=guard, partial=partial
        )
    results = as_one_table({name: read[name] for name in what})
    found = compare(with_set_means(results, seed=seed), seed=seed)
    texts = {name: _text(found, name) for name in (_ENDINGS if out is not None else (kind,))}
    if out is not None:
        _write(texts, out)
    sys.stdout.buffer.write(texts[kind].encode("utf-8", "surrogatepass"))


_ENDINGS = {"markdown": "md", "html": "html", "latex": "tex", "json": "json"}


def _read(name: str) -> list[Result]:
    """The results of one argument; none where it is a model."""
    from obverse.mteb_results import is_mteb_place, mteb_results
    from obverse.results import read_result, result_folders

    if not Path(name).exists():
        return []
    if is_mteb_place(name):
        return mteb_results(name)
    return [read_result(path) for path in result_folders(name)]


def _measured(
    models: list[str],
    on: list[str],
    out: Path | None,
    joining: str,
    seed: int,
    limits: dict[str, int | None],
    **options: bool | str,
) -> dict[str, list[Result]]:
    from obverse.benchmarks.named import load_benchmark
    from obverse.evaluate import evaluate
    from obverse.rankers import load_ranker
    from obverse.results import folder_name, result_of

    loaded = [load_benchmark(each, **options) for each in on]  # type: ignore[arg-type]
    found: dict[str, list[Result]] = {}
    for model in models:
        ranker = load_ranker(model, **limits)  # type: ignore[arg-type]
        home = (out or Path("results")) / folder_name(model)
        found[model] = [
            result_of(
                evaluate(
                    ranker,
                    benchmark,
                    out=home / folder_name(benchmark.name),
                    joining=joining,  # type: ignore[arg-type]
                    seed=seed,
                )
            )
            for benchmark in loaded
        ]
    return found


def _text(found: Comparison, kind: str) -> str:
    from obverse.files import to_json
    from obverse.report.comparison import comparison_latex, comparison_markdown
    from obverse.report.comparison_page import comparison_html

    if kind == "json":
        return to_json(found.to_json(), indent=True).decode() + "\n"
    forms = {
        "markdown": comparison_markdown,
        "html": comparison_html,
        "latex": comparison_latex,
    }
    return forms[kind](found)


def _write(texts: dict[str, str], out: Path) -> None:
    from obverse.files import whole_file

    for kind, text in texts.items():
        with whole_file(out / f"comparison.{_ENDINGS[kind]}") as stream:
            stream.write(text.encode("utf-8", "surrogatepass"))


@app.command()
def gate(
    result: Annotated[
        Path,
        typer.Argument(help="A folder of evaluate --out, of one or several benchmarks."),
    ],
    thresholds: Annotated[Path, typer.Option(help="Bounds by measure, TOML or JSON.")],
    baseline: Annotated[
        Path | None, typer.Option(help="The result that max_drop is measured from.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a result against thresholds: exit status 1 and one line per breach."""
    from obverse.gate import breaches, read_thresholds

    lines = breaches(
        _results(result),
        read_thresholds(thresholds),
        _results(baseline) if baseline is not None else [],
    )
    if json:
        print_json({"passed": not lines, "breaches": lines})
    else:
        for line in lines:
            print(line)
        print("passed" if not lines else f"{len(lines)} breached", file=sys.stderr)
    if lines:
        raise typer.Exit(1)


def _results(place: Path) -> list[Result]:
    from obverse.results import read_result, result_folders

    return [read_result(path) for path in result_folders(place) or [place]]
