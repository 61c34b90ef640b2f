"""Command: card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from obverse.cli import app

if TYPE_CHECKING:
    from collections.abc import Sequence


@app.command("card")
def card_command(
    places: Annotated[
        list[str],
        typer.Argument(help="A model folder; or topics files, the splits of one set."),
    ],
    data: Annotated[
        list[str] | None,
        typer.Option(help="For a model: the topics it was trained on; may be repeated."),
    ] = None,
    scores: Annotated[
        list[str] | None,
        typer.Option(help="For a model: folders of evaluate --out, its own first."),
    ] = None,
    license: Annotated[
        str | None, typer.Option(help="The licence, by the hub's name: cc-by-4.0. [unknown]")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(help="NAME=LICENCE of a source of the texts; may be repeated."),
    ] = None,
    language: Annotated[
        list[str] | None, typer.Option(help="Codes of the languages. [guessed from the queries]")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(help="A test set to hold the data against; may be repeated."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What it is called. [as the folder or file]")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(help="Where the card goes; - is standard output. [README.md beside]"),
    ] = None,
) -> None:
    """Write the card of a model or a data set as a hub reads it; nothing is uploaded."""
    from obverse.cards import write_data_card, write_model_card
    from obverse.errors import SettingError
    from obverse.log import say

    is_model = Path(places[0]).is_dir()
    if is_model and len(places) > 1:
        raise SettingError("several places are named and one is a folder", fix="Name one model")
    if not is_model and (data or scores):
        raise SettingError("--data and --scores are for models", fix="Leave them away")
    files = list(data or []) if is_model else places
    about: dict[str, Any] = {
        "license": license,
        "sources": _sources(source or []),
        "language": language or _languages(files),
        "leaks": _leaks(files, against or []),
        "name": name,
        "out": out,
    }
    if is_model:
        path = write_model_card(places[0], data=files, scores=_results(scores or []), **about)
    else:
        path = write_data_card(files, **about)
    if out != "-":
        say(f"card: {path}; read it, and add what it cannot know, before you pass it on")


def _sources(values: Sequence[str]) -> dict[str, str]:
    from obverse.errors import SettingError

    found = {}
    for value in values:
        name, equals, licence = value.rpartition("=")
        if not (name.strip() and equals and licence.strip()):
            raise SettingError(
                f"--source {value!r} is not NAME=LICENCE", fix="Write --source 'SciFact=cc-by-4.0'"
            )
        found[name.strip()] = licence.strip()
    return found


def _languages(files: Sequence[str], most: int = 300) -> list[str]:
    """The languages of the first topics' queries and instructions."""
    from itertools import islice

    from obverse.check.languages import codes_of
    from obverse.files import read_topics

    return codes_of(
        text
        for file in files
        for topic in islice(read_topics(file), most)
        for text in (topic.query, *(view.instruction for view in topic.instructed_views))
    )


def _leaks(files: Sequence[str], against: Sequence[str]) -> list[dict[str, Any]]:
    from itertools import chain

    from obverse.cli.filtering import named_test_set
    from obverse.errors import SettingError
    from obverse.files import read_topics
    from obverse.filters.leak import leak_report

    if not against:
        return []
    if not files:
        raise SettingError("there are no data to hold against test sets", fix="Give --data")
    topics = chain.from_iterable(map(read_topics, files))
    return [leak_report(topics, [named_test_set(place) for place in against])]


def _results(places: Sequence[str]) -> list[Any]:
    from obverse.errors import InputError
    from obverse.results import as_one_table, read_result, result_folders

    read = {}
    for place in places:
        found = [read_result(path, tops=False) for path in result_folders(place)]
        if not found:
            raise InputError(
                "holds no scores.json",
                where=place,
                fix="Write one with obverse evaluate MODEL --on BENCHMARK --out DIR",
            )
        read[place] = found
    return as_one_table(read)
