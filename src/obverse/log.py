"""What a person sees while work goes on: lines and progress bars on stderr; stdout is for data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

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
