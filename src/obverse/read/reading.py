"""Reading as a stage on files: topics out, the set-aside rows beside them, and a summary."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from obverse.files import write_topics
from obverse.log import say
from obverse.read import read
from obverse.read.faults import Findings
from obverse.read.rows import column_map
from obverse.records import Topic
from obverse.stages import Counts, finish_stage


def read_file(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str] = "-",
    *,
    format: str | None = None,
    map: str = "",
    **options: Any,
) -> Findings:
    """Reads a source into a topics file and returns what was found.

    Args:
        source: A file, a folder, or ``-``.
        out: A topics file (.jsonl, .gz, .zst, .parquet), or ``-`` for standard output.
        format: The format's name; guessed if left out.
        map: Columns by name, ``query=q,clicked=pos``.
        **options: What the format's reader takes.
    """
    findings, left = Findings(file=os.fspath(source)), Counts()
    topics = read(source, format, findings=findings, columns=column_map(map), **options)
    write_topics(out, left.watch(_spoken(topics, findings)))
    for line in findings.summary()[len(findings.said) if findings.facts.get("spoken") else 0 :]:
        say(line)
    inputs = _files(source)
    came = f"{findings.rows:,} rows"
    parameters = {"source": os.fspath(source), "format": format, "map": map, **options}
    finish_stage(
        "read",
        out,
        came,
        left,
        findings.drops,
        inputs=inputs,
        parameters=parameters | {"faults": dict(findings.counts)} | findings.facts,
    )
    return findings


def _spoken(topics: Iterator[Topic], findings: Findings) -> Iterator[Topic]:
    """Says guesses and rules before the long part begins, and the rest at the end."""
    said = 0
    for topic in topics:
        for line in findings.said[said:]:
            say(line)
        said = len(findings.said)
        yield topic
    for line in findings.said[said:]:
        say(line)
    findings.facts["spoken"] = True


def _files(source: str | os.PathLike[str]) -> list[str]:
    path = Path(source)
    if path.is_dir():
        return sorted(str(file) for file in path.rglob("*") if file.is_file())[:100]
    return [os.fspath(source)]
