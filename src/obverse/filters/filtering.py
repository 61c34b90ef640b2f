"""Several filters in a row, over topics or files, with the yield of each."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from obverse.errors import SettingError
from obverse.files import read_topics, write_topics
from obverse.filters import FILTERS
from obverse.filters.similarity_gain import gain_summary
from obverse.filters.yields import Yields
from obverse.log import say
from obverse.records import Topic
from obverse.stages import Counts, Drops, Stage, finish_stage, refuse_own_input


def filter_named(name: str, settings: Mapping[str, Any] | None = None) -> Stage:
    """Returns the stage of a filter.

    Args:
        name: A name of :data:`FILTERS`, or ``package.module:function``.
        settings: Parameters of the filter; those that it does not know are left to the others.

    Raises:
        SettingError: If there is no such filter, or it lacks a parameter.
    """
    path = FILTERS.get(name, name)
    module, _, function = path.partition(":")
    if not function:
        raise SettingError(
            f"unknown filter {name!r}",
            fix=f"Use one of {', '.join(FILTERS)}, or package.module:function",
        )
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise SettingError(
            f"the filter {path!r} cannot be imported ({error})", fix="Check package.module:function"
        ) from None
    parameters = inspect.signature(make).parameters
    chosen = {key: value for key, value in (settings or {}).items() if key in parameters}
    missing = [
        key
        for key, p in parameters.items()
        if p.default is inspect.Parameter.empty and key not in chosen
    ]
    if missing:
        raise SettingError(
            f"the filter {name} needs {missing[0]!r}", fix=f"Give --{missing[0].replace('_', '-')}"
        )
    stage: Stage = make(**chosen)
    return stage


def filter_topics(
    topics: Iterable[Topic],
    by: Sequence[str | Stage],
    drops: Drops | None = None,
    *,
    yields: Yields | None = None,
    **settings: Any,
) -> Iterator[Topic]:
    """Yields what is left of the topics after every filter, in the order given.

    Args:
        topics: The topics.
        by: Names of filters, or stages.
        drops: Notes what was taken away, with the filter's name.
        yields: Counts views after each filter.
        settings: Parameters of the filters, handed to those that know them.
    """
    drops = Drops() if drops is None else drops
    counted = Yields() if yields is None else yields
    stages = [(_name(one), one if callable(one) else filter_named(one, settings)) for one in by]
    left = counted.watch("in", topics)
    for name, stage in stages:
        left = counted.watch(name, stage(left, _Named(drops, name)))
    return left


class _Named(Drops):
    """Drops that say which filter they are from."""

    def __init__(self, drops: Drops, name: str) -> None:
        super().__init__(drops.rows)
        self._name = name

    def add(self, topic_id: str, reason: str, **details: Any) -> None:
        super().add(topic_id, reason, **details, filter=self._name)


def _name(one: str | Stage) -> str:
    return one if isinstance(one, str) else getattr(one, "__qualname__", "filter").split(".")[0]


def filter_file(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    by: Sequence[str],
    **settings: Any,
) -> Counts:
    """Filters a topics file into another; writes what was dropped and the yields beside it.

    Returns:
        The counts of what is left.
    """
    if not by:
        raise SettingError("no filter is named", fix=f"Give --by: {', '.join(FILTERS)}")
    refuse_own_input(out, source)
    drops, yields, came, left = Drops(), Yields(), Counts(), Counts()
    gains: list[float] = []
    filtered = filter_topics(came.watch(read_topics(source)), by, drops, yields=yields, **settings)
    write_topics(out, left.watch(_gains(filtered, gains)))
    gains += [row["gain"] for row in drops.rows if "gain" in row]
    parameters = {
        "by": [_name(one) for one in by],
        **{key: _plain(value) for key, value in settings.items()},
        "yield": yields.rows(),
    }
    if gains:
        parameters["similarity_gain"] = gain_summary(gains)
        say(f"similarity gain: {_line(parameters['similarity_gain'])}")
    if yields.rows():
        say(yields.table())
    finish_stage("filter", out, came, left, drops, inputs=[source], parameters=parameters)
    return left


def _plain(value: Any) -> Any:
    """A loaded encoder or LLM stands in the made-file under its name."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    simple = value is None or isinstance(value, str | int | float | bool)
    return value if simple else getattr(value, "name", type(value).__name__)


def _gains(topics: Iterable[Topic], gains: list[float]) -> Iterator[Topic]:
    for topic in topics:
        for view in topic.instructed_views:
            if isinstance(gain := view.checks.get("similarity_gain"), float):
                gains.append(gain)
        yield topic


def _line(summary: Mapping[str, float]) -> str:
    return (
        f"{summary['n']:,} views, median {summary['median']:+.3f}, "
        f"5 % to 95 % {summary['q05']:+.3f} to {summary['q95']:+.3f}, "
        f"{100 * summary['above_0']:.1f} % above 0"
    )
