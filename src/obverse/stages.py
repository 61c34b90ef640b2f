"""One stage run on files: topics in, topics out, what was dropped, and how it was made.

A stage is ``(topics, drops) -> topics``. Nothing disappears silently: a stage reports what it takes away to
``drops`` with a fixed reason phrase, and it lands in ``<out>.dropped.jsonl``.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.files import made_file, read_topics, write_json_lines, write_topics
from obverse.log import progress, say
from obverse.records import Topic, View


@dataclass(slots=True)
class Drops:
    """What a stage took away: rows of ``{"topic_id", "reason", "instruction", ...}``."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, topic_id: str, reason: str, *, view: View | None = None, **details: Any) -> None:
        """Notes one dropped topic, view or document; ``reason`` is a fixed phrase, so that it can be counted."""
        row: dict[str, Any] = {"topic_id": topic_id, "reason": reason}
        if view is not None:
            row["instruction"] = view.instruction
        self.rows.append(row | details)

    @property
    def by_reason(self) -> Counter[str]:
        return Counter(row["reason"] for row in self.rows)


Stage = Callable[[Iterable[Topic], Drops], Iterator[Topic]]


@dataclass(slots=True)
class Counts:
    topics: int = 0
    views: int = 0
    instructed_views: int = 0
    docs: int = 0

    def watch(self, topics: Iterable[Topic]) -> Iterator[Topic]:
        """Passes the topics through and counts them."""
        for topic in topics:
            self.topics += 1
            self.views += len(topic.views)
            self.instructed_views += len(topic.instructed_views)
            self.docs += len(topic.docs)
            yield topic

    def __str__(self) -> str:
        instructed = f" ({self.instructed_views:,} instructed)" if self.instructed_views else ""
        return f"{self.topics:,} topics, {self.views:,} views{instructed}"


@dataclass(frozen=True, slots=True)
class Ran:
    """What went into a stage, what came out, and what it took away."""

    came: Counts
    left: Counts
    drops: Drops


def refuse_own_input(
    out: str | os.PathLike[str], *inputs: str | os.PathLike[str] | Iterable[Any]
) -> None:
    """Stops a stage that would write over what it reads, and says where it will replace an older file.

    Raises:
        SettingError: If ``out`` is one of the files that are read.
    """
    files = [Path(source) for source in inputs if isinstance(source, str | os.PathLike)]
    if any(file.exists() and file.resolve() == Path(out).resolve() for file in files):
        raise SettingError(
            "would be written over its own input",
            where=os.fspath(out),
            fix="Give another name with --out",
        )
    say_replaced(out)


def say_replaced(out: str | os.PathLike[str]) -> None:
    """Says that a file is there already, which a new one will replace."""
    if os.fspath(out) != "-" and Path(out).is_file():
        say(f"{os.fspath(out)}: is there already, and is replaced once the new one is complete")


def run_stage(
    name: str,
    stage: Stage,
    source: str | os.PathLike[str] | Iterable[Topic],
    out: str | os.PathLike[str],
    *,
    others: Iterable[str | os.PathLike[str]] = (),
    parameters: Mapping[str, Any] | None = None,
) -> Ran:
    """Runs a stage from a topics file, or from topics, to a file, and writes the files beside it.

    Args:
        others: What else the stage reads: never written over, and noted with its digest.
    """
    others = list(others)
    refuse_own_input(out, source, *others)
    drops, came, left = Drops(), Counts(), Counts()
    if isinstance(source, str | os.PathLike):
        topics: Iterable[Topic] = read_topics(source)
        inputs = [source, *others]
    else:
        topics, inputs = source, others
    write_topics(out, left.watch(stage(came.watch(progress(topics, name)), drops)))
    finish_stage(name, out, came, left, drops, inputs=inputs, parameters=parameters)
    return Ran(came, left, drops)


def some_left(topics: Iterable[Topic], drops: Drops, fix: str) -> Iterator[Topic]:
    """Passes topics through, and stops a stage that leaves none before anything is written.

    Raises:
        InputError: If there is none, with the reasons.
    """
    any_left = False
    for topic in topics:
        any_left = True
        yield topic
    if not any_left:
        reasons = "; ".join(f"{count:,} {why}" for why, count in drops.by_reason.most_common())
        raise InputError(f"no topic is left ({reasons or 'there was none'})", fix=fix)


def finish_stage(
    name: str,
    out: str | os.PathLike[str],
    came: Counts | str,
    left: Counts | str,
    drops: Drops,
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    parameters: Mapping[str, Any] | None = None,
    **facts: Any,
) -> None:
    """Writes ``<out>.dropped.jsonl`` and ``<out>.made.json`` and says in one line what went in and came out.

    Further facts go into the made-file.
    """
    if os.fspath(out) != "-":
        write_json_lines(f"{os.fspath(out)}.dropped.jsonl", drops.rows)
        made_file(
            out,
            command=name,
            inputs=inputs,
            parameters=dict(parameters or {}),
            came=str(came),
            left=str(left),
            dropped=dict(drops.by_reason),
            **facts,
        )
    dropped = "; ".join(f"{count:,} {reason}" for reason, count in drops.by_reason.most_common())
    say(f"{name}: {came} in, {left} out" + (f"; set aside: {dropped}" if dropped else ""))
