"""Commands: demo, report, list."""

from __future__ import annotations

from collections.abc import Iterable
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
def report(
    results: Annotated[
        list[str],
        typer.Argument(help="NAME=FOLDER of evaluate --out, the base first; two or more."),
    ],
    on: Annotated[Path, typer.Option(help="The topics benchmark they were measured on.")],
    out: Annotated[Path, typer.Option(help="The page.")],
    model: Annotated[
        Path | None, typer.Option(help="The trained model, for its loss curve.")
    ] = None,
    filtered: Annotated[
        Path | None, typer.Option(help="The topics that filter left, for the similarity gains.")
    ] = None,
    shown: Annotated[int, typer.Option(help="Topics shown, the first of the file.")] = 12,
    seed: Annotated[int, typer.Option(help="Of the paired tests.")] = 0,
) -> None:
    """Write one self-contained HTML page of two models' results on a topics benchmark."""
    from obverse.files import whole_file
    from obverse.log import say
    from obverse.report.page import page
    from obverse.report.results_page import page_data

    folders = {}
    for result in results:
        name, equals, folder = result.partition("=")
        if not equals or not name:
            raise SettingError(f"{result!r} is not NAME=FOLDER", fix="Write before=runs/base")
        folders[name] = folder
    html = page(page_data(folders, on, model=model, filtered=filtered, shown=shown, seed=seed))
    with whole_file(out) as stream:
        stream.write(html.encode())
    say(f"report: {len(folders)} results in, a page out: {out}")


@app.command("list")
def list_command(
    what: Annotated[
        str,
        typer.Argument(
            help="methods, filters, benchmarks, measures, formats, templates or recipes.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """List the names that other commands take."""
    from obverse.benchmarks.named import BENCHMARKS
    from obverse.filters import FILTERS
    from obverse.inputs import TEMPLATES
    from obverse.measures.named import as_listed
    from obverse.read.formats import NAMES
    from obverse.recipes.named import RECIPES
    from obverse.synthesis import METHODS

    tables: dict[str, Iterable[str]] = {
        "methods": METHODS,
        "filters": FILTERS,
        "benchmarks": BENCHMARKS,
        "measures": as_listed(),
        "formats": NAMES,
        "templates": TEMPLATES,
        "recipes": RECIPES,
    }
    if what not in tables:
        wrong = f"there is no list of {what!r}" if what else "it is not said what to list"
        raise SettingError(wrong, fix=f"Use one of {', '.join(tables)}")
    for name in tables[what]:
        print(name)
