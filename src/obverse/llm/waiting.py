"""Whether requests wait in a server's own queue, as vLLM and SGLang say at ``/metrics``."""

from __future__ import annotations

import asyncio
import contextlib

import aiohttp

from obverse.llm.pool import Endpoint

EVERY_SECONDS = 2.0
SHARE = 0.1
_NAMES = {
    b"vllm:num_requests_waiting": b"waiting",
    b"vllm:num_requests_running": b"running",
    b"sglang:num_queue_reqs": b"waiting",
    b"sglang:num_running_reqs": b"running",
}


async def watch_waiting(session: aiohttp.ClientSession, endpoint: Endpoint) -> None:
    """Holds an endpoint's limit while requests wait there, a tenth of those that run; ends where nothing is said."""
    url = f"{endpoint.url.removesuffix('/v1')}/metrics"
    while True:
        waiting = None
        with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with session.get(url, timeout=aiohttp.ClientTimeout(total=5)) as response:
                waiting = requests_wait(await response.read()) if response.status == 200 else None
        if waiting is None:
            endpoint.limiter.waiting_there = False
            return
        endpoint.limiter.waiting_there = waiting
        await asyncio.sleep(EVERY_SECONDS)


def requests_wait(metrics: bytes) -> bool | None:
    """Returns whether more than a tenth as many requests wait as run, or None where the text does not say."""
    sums = {b"waiting": 0.0, b"running": 0.0}
    told = set()
    for line in metrics.splitlines():
        name, _, value = line.rpartition(b" ")
        for part, kind in _NAMES.items():
            if name == part or name.startswith(part + b"{"):
                with contextlib.suppress(ValueError):
                    sums[kind] += float(value)
                    told.add(kind)
    if len(told) < 2:
        return None
    return sums[b"waiting"] > SHARE * max(1.0, sums[b"running"])
