"""Work under way in the loop's thread, and the two threads' hand-over."""

from __future__ import annotations

import asyncio
import gc
import random
import time

import pytest

from obverse.synthesis.window import LoopThread, Window, fewer_collections


async def number(value: int, seconds: float) -> int:
    await asyncio.sleep(seconds)
    return value


def test_results_come_in_the_order_of_the_work() -> None:
    draw, got = random.Random(0), []
    with LoopThread() as thread:
        window: Window[int] = Window(thread)
        for value in range(500):
            window.give(number(value, draw.random() / 20))
            while window.unfinished >= 40:
                window.wait()
            got += window.ready()
        while len(window):
            window.wait()
            got += window.ready()
    assert got == list(range(500))


def test_a_failure_is_raised_in_its_turn() -> None:
    async def fails() -> int:
        raise ValueError("no")

    with LoopThread() as thread:
        window: Window[int] = Window(thread)
        window.give(number(1, 0.0))
        window.give(fails())
        window.give(number(2, 0.0))
        while window.unfinished:
            window.wait()
        ready = window.ready()
        assert next(ready) == 1
        with pytest.raises(ValueError, match="no"):
            next(ready)


def test_draining_waits_for_what_runs_and_gives_up_the_rest() -> None:
    done = []

    async def slow(value: int) -> int:
        await asyncio.sleep(0.1)
        done.append(value)
        return value

    with LoopThread() as thread:
        window: Window[int] = Window(thread)
        for value in range(150):
            window.give(slow(value))
        begun = time.monotonic()
        window.drain(5.0)
        assert window.unfinished == 0 and time.monotonic() - begun < 3.0
        assert 127 <= len(done) <= 150
        window.give(number(0, 30.0))
        begun = time.monotonic()
        window.drain(0.1)
        assert time.monotonic() - begun < 2.0


def test_the_collector_is_left_as_it_was() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(700, 10, 10)
        with fewer_collections():
            assert gc.get_threshold()[0] == 50_000
            with fewer_collections():
                pass
            assert gc.get_threshold()[0] == 50_000
        assert gc.get_threshold() == (700, 10, 10)
        gc.set_threshold(0, 10, 10)
        with fewer_collections():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
