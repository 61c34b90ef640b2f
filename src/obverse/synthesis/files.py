"""Synthesis from one topics file to another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from obverse.files import read_lines
from obverse.llm.lanes import COST_REACHED, Lane
from obverse.llm.stopping import stops_gracefully
from obverse.log import say
from obverse.records import Topic
from obverse.stages import Drops, run_stage
from obverse.synthesis.engine import synthesize


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
) -> bool:
    """Adds views to the topics of a file; see :func:`obverse.synthesis.engine.synthesize`.

    Ctrl-C and SIGTERM let come back what is in flight; the output then stays as it was.

    Returns:
        Whether all topics are through; they are not where the cost limit was reached.
    """
    seen: list[Drops] = []

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        seen.append(drops)
        return synthesize(
            topics,
            drops,
            method=method,
            llm=llm,
            run_dir=run_dir,
            seed=seed,
            shard=shard,
            options=options,
            max_reject_rate=max_reject_rate,
            total=count_topics(source) if shard is None else None,
        )

    parameters = {
        "method": method,
        "model": llm.model,
        "lane": llm.name,
        "seed": seed,
        "shard": shard,
        "options": dict(options or {}),
    }
    with stops_gracefully(llm):
        run_stage("synthesize", stage, source, out, parameters=parameters)
    missing = seen[0].by_reason[COST_REACHED]
    if missing:
        say(
            f"synthesize: the cost limit left {missing:,} topics out of {os.fspath(out)}; "
            "raise --max-cost and run the same command to go on"
        )
    return not missing


def count_topics(source: str | os.PathLike[str]) -> int | None:
    """Returns the number of topics in a JSON Lines file, or None where counting would use it up or take long."""
    name = os.fspath(source)
    if name == "-" or name.endswith(".parquet"):
        return None
    return sum(1 for _ in read_lines(name))
