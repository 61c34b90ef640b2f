"""Ctrl-C and SIGTERM: the first lets come back what is in flight, the second ends at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from obverse.llm.lanes import Lane
from obverse.log import say


@contextlib.contextmanager
def stops_gracefully(lane: Lane) -> Iterator[None]:
    """While the block runs, the first signal stops asking; another one interrupts. Only in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    seen: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if seen:
            lane.drain_seconds = 0.0
            raise KeyboardInterrupt
        seen.append(number)
        say(
            f"stopping: no new requests; waiting up to {lane.drain_seconds:.0f} s for those in flight"
        )
        lane.stop("stopped")

    before: dict[int, Any] = {
        one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
