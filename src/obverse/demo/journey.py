"""Where the demo's files lie, and what each of its stages said."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obverse.records import Topic
from obverse.stages import Stage, run_stage


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
        with self.timed(name) as line:
            ran = run_stage(name, stage, source, target, parameters=parameters)
            line.came, line.left = came or str(ran.came), str(ran.left)
            line.dropped = dict(ran.drops.by_reason)
        return target

    @contextmanager
    def timed(self, name: str) -> Iterator[Line]:
        """Keeps a line for a stage, with the seconds that the block took."""
        line, began = Line(name), time.monotonic()
        self.lines.append(line)
        yield line
        line.seconds = time.monotonic() - began
