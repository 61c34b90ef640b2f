"""Where the demo's files lie, and what each of its stages said."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obverse.files import read_topics, write_topics
from obverse.log import progress
from obverse.records import Topic
from obverse.stages import Counts, Drops, Stage, finish_stage


@dataclass(slots=True)
class Line:
    """What one stage took in and gave out."""

    name: str
    came: str = ""
    left: str = ""
    dropped: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(slots=True)
class Journey:
    """The demo's folder and the lines of the stages that have run."""

    out: Path
    lines: list[Line] = field(default_factory=list)

    def file(self, name: str) -> Path:
        """Returns the path of a stage's topics."""
        return self.out / "data" / f"{name}.jsonl.gz"

    def stage(
        self,
        name: str,
        source: Iterable[Topic] | Path,
        stage: Stage,
        file: str,
        came: str = "",
        **parameters: Any,
    ) -> Path:
        """Runs one stage into ``data/<file>.jsonl.gz`` and returns that path."""
        target = self.file(file)
        drops, taken, left = Drops(), Counts(), Counts()
        topics = read_topics(source) if isinstance(source, Path) else source
        with self.timed(name) as line:
            write_topics(target, left.watch(stage(taken.watch(progress(topics, name)), drops)))
            line.came, line.left, line.dropped = (
                came or str(taken),
                str(left),
                dict(drops.by_reason),
            )
        inputs = [source] if isinstance(source, Path) else []
        finish_stage(name, target, taken, left, drops, inputs=inputs, parameters=parameters)
        return target

    @contextmanager
    def timed(self, name: str) -> Iterator[Line]:
        """Keeps a line for a stage, with the seconds that the block took."""
        line, began = Line(name), time.monotonic()
        self.lines.append(line)
        yield line
        line.seconds = time.monotonic() - began
