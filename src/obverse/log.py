"""What a person sees while work goes on: lines and progress bars on stderr; stdout is for data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar

T = TypeVar("T")


def say(line: str) -> None:
    """Writes one line to stderr."""
    print(line, file=sys.stderr, flush=True)


def progress(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Passes the items through, with a progress bar on stderr where that is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    if total is None and isinstance(items, Sized):
        total = len(items)
    yield from track(
        items, description=what, total=total, console=Console(stderr=True), transient=True
    )


class Meter:
    """A progress bar that is moved by hand, shown where stderr is a terminal."""

    def __init__(self, what: str, total: int) -> None:
        self._bar: Any = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(what, total=total)
            self._bar.start()

    def move(self) -> None:
        if self._bar is not None:
            self._bar.advance(self._task)

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
