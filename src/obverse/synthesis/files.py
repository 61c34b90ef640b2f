"""Synthesis from one topics file to another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obverse.errors import SettingError
from obverse.files import read_lines, write_json
from obverse.llm.lanes import COST_REACHED, NOT_THERE, Lane
from obverse.llm.stopping import stops_gracefully
from obverse.log import say
from obverse.records import Topic
from obverse.stages import Drops, Ran, run_stage
from obverse.synthesis.engine import synthesize

RUN_FILE = "run.json"
DONE, NOT_ALL, NO_VIEW = 0, 3, 4
"""Exit statuses: everything asked for is there; a cost limit or too few topics came before it; no view was made."""


def synthesize_file(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    method: str,
    llm: Lane,
    run_dir: str | os.PathLike[str],
    seed: int = 0,
    shard: tuple[int, int] | None = None,
    options: Mapping[str, Any] | None = None,
    max_reject_rate: float = 0.95,
    target: int | None = None,
) -> int:
    """Adds views to the topics of a file; see :func:`obverse.synthesis.engine.synthesize`.

    Ctrl-C and SIGTERM let come back what is in flight; the output then stays as it was.

    Returns:
        The exit status: 0; 3 where the cost limit left topics out or the target was not reached; 4 where no view was
        made at all.

    Raises:
        SettingError: If the target is no number above 0, and as :func:`synthesize`.
    """
    if target is not None and target < 1:
        raise SettingError(f"a target of {target} views", fix="Give a number above 0")
    settings = {"method": method, "seed": seed, "options": dict(options or {}), "target": target}
    made = _Made()

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        return made.count(
            synthesize(
                made.come(topics),
                drops,
                method=method,
                llm=llm,
                run_dir=run_dir,
                seed=seed,
                shard=shard,
                options=options,
                max_reject_rate=max_reject_rate,
                total=count_topics(source) if shard is None else None,
                target=target,
            )
        )

    parameters = {**settings, "model": llm.model, "lane": llm.name, "shard": shard}
    with stops_gracefully(llm):
        ran = run_stage("synthesize", stage, source, out, parameters=parameters)
    if shard is None and llm.name != "journal":
        write_json(
            Path(run_dir) / RUN_FILE, {**settings, **_asked_as(llm), "topics": _place(source)}
        )
    missing = sum(ran.drops.by_reason[reason] for reason in (COST_REACHED, NOT_THERE))
    for line in _lacking(ran, made, llm, os.fspath(out), os.fspath(run_dir), target):
        say(f"synthesize: {line}")
    if ran.left.topics and not made.views and not missing:
        return NO_VIEW
    return NOT_ALL if missing or made.views < (target or 0) else DONE


@dataclass(slots=True)
class _Made:
    """Counts the views that were added."""

    views: int = 0
    _before: dict[str, int] = field(default_factory=dict)

    def come(self, topics: Iterable[Topic]) -> Iterator[Topic]:
        for topic in topics:
            self._before[topic.topic_id] = len(topic.views)
            yield topic

    def count(self, topics: Iterable[Topic]) -> Iterator[Topic]:
        for topic in topics:
            self.views += max(0, len(topic.views) - self._before.pop(topic.topic_id, 0))
            yield topic


def _lacking(
    ran: Ran, made: _Made, llm: Lane, out: str, run_dir: str, target: int | None
) -> Iterator[str]:
    """Yields what a person should know where less came out than was asked for."""
    reasons = ran.drops.by_reason
    missing = reasons.pop(COST_REACHED, 0)
    if absent := reasons.pop(NOT_THERE, 0):
        yield f"{absent:,} topics are not in {out}: the run never asked about them"
    if missing:
        yield (
            f"the cost limit left {missing:,} topics out of {out}; raise --max-cost and run the same command to go on"
        )
    if target is not None and made.views < target and not missing:
        yield f"{made.views:,} views of the {target:,} asked for: there were no more topics"
    if ran.left.topics and not made.views:
        told = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common(5))
        by_topic = "" if out == "-" else f"Every topic's reason stands in {out}.dropped.jsonl; "
        yield f"no view was made ({told}). {by_topic}raw replies: obverse rejects {run_dir}"
        holds = getattr(llm, "holds", None)
        if holds is not None and reasons["no-recorded-reply"]:
            yield f"the replies are for {holds}; method, stage and topic_id must be the same"


def _asked_as(llm: Lane) -> dict[str, Any]:
    """Returns what requests consist of beside their prompt."""
    form = getattr(llm, "form", None)
    return {
        "model": llm.model,
        "lane": llm.name,
        "form": None if form is None else str(form),
        "extra": dict(getattr(llm, "extra", None) or {}),
    }


def _place(source: str | os.PathLike[str]) -> str | None:
    name = os.fspath(source)
    return None if name == "-" else os.fspath(Path(name).resolve())


def count_topics(source: str | os.PathLike[str]) -> int | None:
    """Returns the number of topics in a JSON Lines file, or None where counting would use it up or take long."""
    name = os.fspath(source)
    if name == "-" or name.endswith(".parquet"):
        return None
    return sum(1 for _ in read_lines(name))
