"""Commands that put sets together and prove their sizes: mix, cut, ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

import typer

from obverse.cli import app

T = TypeVar("T")

ledger = typer.Typer(
    help="Say what is in a set, and whether two sets are of one size and what was replaced by what.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(ledger, name="ledger")

_Topics = Annotated[str, typer.Argument(help="Topics, or rows in any format that is known.")]
_Tokens = Annotated[
    str, typer.Option(help="How tokens are counted: words, or an encoder, by its tokenizer.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON, with a hash of every topic.")]


@app.command()
def mix(
    sources: Annotated[list[str], typer.Argument(help="Topics files.")],
    out: Annotated[str, typer.Option(help="Where the set goes.")],
    size: Annotated[int | None, typer.Option(help="How large the set is; all by default.")] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="What --size counts, or what stays equal with --replace: topics or views. "
            "[topics; with --replace views]"
        ),
    ] = None,
    share: Annotated[
        list[float] | None, typer.Option(help="The weight of each source, in their order.")
    ] = None,
    max_views: Annotated[int | None, typer.Option(help="At most so many views.")] = None,
    max_queries: Annotated[
        int | None, typer.Option(help="At most so many distinct queries.")
    ] = None,
    max_documents: Annotated[
        int | None, typer.Option(help="At most so many distinct documents.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="At most so many tokens.")] = None,
    tokens: _Tokens = "words",
    replace: Annotated[
        str | None,
        typer.Option(help="Topics that take the place of the source's, at exactly equal size."),
    ] = None,
    append: Annotated[
        list[str] | None,
        typer.Option(help="Topics whose views are added to the source's; may be repeated."),
    ] = None,
    match: Annotated[
        str,
        typer.Option(
            help="How --replace and --append find a counterpart: topic_id or query; --replace also any."
        ),
    ] = "topic_id",
    part: Annotated[
        float, typer.Option(help="Which part of the possible swaps --replace makes.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(help="Chooses the topics and their order.")] = 0,
) -> None:
    """Put sets together to an exact size; the ledger of the set stands in the made-file beside it."""
    from obverse.errors import SettingError
    from obverse.mix.files import append_files, mix_files, replace_files

    caps = {
        "views": max_views,
        "queries": max_queries,
        "documents": max_documents,
        "tokens": max_tokens,
    }
    given = {name: most for name, most in caps.items() if most is not None}
    if replace is None and not append:
        if match != "topic_id" or part != 1.0:
            raise SettingError(
                "--match and --part are for --replace and --append", fix="Leave them away"
            )
        mix_files(
            sources,
            out,
            share=share,
            size=size,
            unit=unit or "topics",
            caps=given,
            tokens=tokens,
            seed=seed,
        )
        return
    if replace is not None and append:
        raise SettingError("--replace keeps the size and --append does not", fix="Use one of them")
    if len(sources) > 1:
        raise SettingError(
            f"{len(sources)} sources are named; --replace and --append change one",
            fix="Mix the sources first",
        )
    if size is not None or share or given:
        raise SettingError(
            "--size, --share and --max-... are for drawing from sources",
            fix="Draw first, then replace or append",
        )
    if replace is not None:
        unit = unit or "views"
        replace_files(
            sources[0], replace, out, match=match, unit=unit, part=part, tokens=tokens, seed=seed
        )
    else:
        append_files(sources[0], append or [], out, match=match, tokens=tokens)


@app.command()
def cut(
    topics: Annotated[str, typer.Argument(help="A topics file.")],
    kinds: Annotated[
        str, typer.Option(help="What stays: plain, original, reversed, instructed; with commas.")
    ],
    out: Annotated[str, typer.Option(help="Where the topics with those views go.")] = "-",
    each: Annotated[int | None, typer.Option(help="Views of each kind at most.")] = None,
    per_topic: Annotated[
        int | None, typer.Option(help="Exactly so many views of each topic, drawn by the seed.")
    ] = None,
    whole: Annotated[
        bool, typer.Option(help="Leave out topics that lack one of the kinds.")
    ] = True,
    seed: Annotated[int, typer.Option(help="For --per-topic.")] = 0,
) -> None:
    """Keep the views of some kinds alone: one-sided, two-sided and plain sets over the same queries."""
    from obverse.mix.views import cut_views
    from obverse.stages import run_stage, some_left

    named = [kind.strip() for kind in kinds.split(",") if kind.strip()]
    settings = {"each": each, "per_topic": per_topic, "whole": whole, "seed": seed}
    cut_views((), named, each=each, per_topic=per_topic)  # refuses settings before anything is read
    run_stage(
        "cut",
        lambda came, drops: some_left(
            cut_views(came, named, drops=drops, **settings),  # type: ignore[arg-type]
            drops,
            "Choose other --kinds, or keep topics that lack one with --no-whole",
        ),
        topics,
        out,
        parameters={"kinds": named, **settings},
    )


@ledger.command("show")
def show_command(
    topics: _Topics,
    json: _Json = False,
    tokens: _Tokens = "words",
    batch_size: Annotated[
        int | None, typer.Option(help="Topics in a batch: adds the steps of training.")
    ] = None,
    epochs: Annotated[float, typer.Option(help="How often each topic is seen.")] = 1,
) -> None:
    """Say what is in a set: topics, views by origin, distinct queries and documents, tokens, hashes, steps."""
    from obverse.files import to_json
    from obverse.ledger import ledger, ledger_text
    from obverse.training.sources import training_topics

    book = ledger(training_topics(topics), tokens=tokens, batch_size=batch_size, epochs=epochs)
    print(to_json(book.to_json(), indent=True).decode() if json else ledger_text(book))


@ledger.command("diff")
def diff_command(
    a: _Topics,
    b: _Topics,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, with every topic.")] = False,
    by: Annotated[
        str,
        typer.Option(
            help="What must be equal: views, topics, queries, documents, tokens, steps, views_per_step; with commas."
        ),
    ] = "views",
    tokens: _Tokens = "words",
    batch_size: Annotated[
        list[int] | None,
        typer.Option(help="Topics in a batch, one for both or one each: adds the steps."),
    ] = None,
    epochs: Annotated[
        list[float] | None, typer.Option(help="Epochs, one for both or one each. [1]")
    ] = None,
) -> None:
    """Prove two sets size-matched and show what was replaced by what; exit status 1 if they are not."""
    from obverse.files import to_json
    from obverse.ledger import compare_ledgers, difference_text, ledger
    from obverse.training.sources import training_topics

    units = [unit.strip() for unit in by.split(",") if unit.strip()]
    sizes, times = _one_each(batch_size, "--batch-size"), _one_each(epochs, "--epochs")
    books = [
        ledger(training_topics(source), tokens=tokens, batch_size=size, epochs=time or 1.0)
        for source, size, time in zip((a, b), sizes, times, strict=True)
    ]
    found = compare_ledgers(*books)
    matched = found.matched(units)
    if json:
        print(to_json(found.to_json() | {"by": units, "matched": matched}, indent=True).decode())
    else:
        print(difference_text(found, units))
    if not matched:
        raise typer.Exit(1)


def _one_each(values: Sequence[T] | None, flag: str) -> tuple[T | None, T | None]:
    from obverse.errors import SettingError

    if not values:
        return None, None
    if len(values) > 2:
        raise SettingError(f"{flag} is given {len(values)} times", fix="Give one, or one for each")
    return values[0], values[-1]
