"""A fake endpoint in a thread of the test's own process."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator

from obverse.llm.fake_endpoint import FakeEndpoint, serve


@contextlib.contextmanager
def running(fake: FakeEndpoint) -> Iterator[str]:
    """Yields the base URL of a running fake endpoint."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner, url = asyncio.run_coroutine_threadsafe(serve(fake), loop).result()
    try:
        yield url
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
