"""Work under way in an event loop's thread, thousands at once, taken back in the order in which it was given.

The two threads hand over in batches: waking the other one for each result costs more than a result does.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
from collections import deque
from collections.abc import Coroutine, Iterator
from types import TracebackType
from typing import Any, Generic, TypeVar

T = TypeVar("T")
BATCH = 64
"""Results, or pieces of new work, that are handed over together while there are many."""
PATIENCE = 0.05
"""Seconds after which fewer are handed over too."""
YOUNG = 50_000
"""New objects after which Python looks for cycles."""


class LoopThread:
    """An event loop in a thread of its own, so that replies come in while the caller does other work."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self) -> LoopThread:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.result(_cancel_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def result(self, work: Coroutine[Any, Any, T]) -> T:
        """Returns what a coroutine returns, which runs in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


@contextlib.contextmanager
def fewer_collections() -> Iterator[None]:
    """While the block runs, Python looks for cycles less often: thousands of open dialogues make it look through all of
    them again and again, a seventh of a run's time, and hardly any of them is one."""
    before = gc.get_threshold()
    raised = (
        0 < before[0] < YOUNG
    )  # 0 is switched off; more is somebody else's wish, perhaps of another run's
    if raised:
        gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        if raised:
            gc.set_threshold(*before)


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Job(Generic[T]):
    __slots__ = ("done", "task", "work")

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.work, self.done = work, False
        self.task: asyncio.Task[T] | None = None


class Window(Generic[T]):
    """Coroutines under way in a loop, whose results come back in the order they went in.

    All methods belong to one thread, which is not the loop's.
    """

    def __init__(self, thread: LoopThread) -> None:
        self._loop = thread.loop
        self._jobs: deque[_Job[T]] = deque()
        self._to_start: list[_Job[T]] = []
        self._given = 0  # written by this thread alone
        self._finished = 0  # written by the loop's thread alone
        self._wake_at = 0
        self._news = threading.Event()

    def __len__(self) -> int:
        """How many results have not been taken yet."""
        return len(self._jobs)

    @property
    def unfinished(self) -> int:
        """How many are still under way."""
        return self._given - self._finished

    def give(self, work: Coroutine[Any, Any, T]) -> None:
        """Starts a coroutine; while many are under way, together with the next ones."""
        job = _Job(work)
        self._jobs.append(job)
        self._to_start.append(job)
        self._given += 1
        if len(self._to_start) >= BATCH or self.unfinished < 2 * BATCH:
            self._start()

    def ready(self) -> Iterator[T]:
        """Yields the results that no unfinished one stands before."""
        while self._jobs and self._jobs[0].done:
            task = self._jobs.popleft().task
            assert task is not None
            yield task.result()

    def wait(self) -> None:
        """Waits until some more are finished, or a moment."""
        self._start()
        self._news.clear()
        self._wake_at = self._finished + min(BATCH, self.unfinished)
        if self.unfinished:
            self._news.wait(PATIENCE)

    def drain(self, seconds: float) -> None:
        """Gives up what has not been started, and waits for the rest, so many seconds at most."""
        for job in self._to_start:
            job.work.close()
        self._given -= len(self._to_start)
        self._to_start = []
        until = time.monotonic() + seconds
        while self.unfinished and time.monotonic() < until:
            self.wait()

    def _start(self) -> None:
        if self._to_start:
            batch, self._to_start = self._to_start, []
            self._loop.call_soon_threadsafe(self._begin, batch)

    def _begin(self, batch: list[_Job[T]]) -> None:
        for job in batch:
            job.task = self._loop.create_task(job.work)
            job.task.add_done_callback(lambda task, job=job: self._end(job, task))  # type: ignore[misc]

    def _end(self, job: _Job[T], task: asyncio.Task[T]) -> None:
        failed = not task.cancelled() and task.exception() is not None
        job.done = True
        self._finished += 1
        if failed or self._finished >= self._wake_at:
            self._news.set()
