"""Chat completions over HTTP: one session for a run, time-outs that start when a request is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import aiohttp
import orjson

from obverse.errors import SettingError

CONNECT_SECONDS = 10.0
NO_CONNECTION = "no-connection"
FAILURES = (aiohttp.ClientError, OSError, TimeoutError)
"""What :meth:`Connection.post` raises where no response came."""


class Connection:
    """An HTTP session.

    Args:
        api_key: Sent as a bearer token; None sends none.
        timeout: Seconds from sending to reply; by default 60 and what the reply's length needs.
    """

    def __init__(self, api_key: str | None, timeout: float | None = None) -> None:
        headers = {"Content-Type": "application/json"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None),
        )
        self._timeout = timeout
        self._seconds_per_token = 0.05

    async def post(self, url: str, body: Mapping[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Sends a chat completion; returns status, headers and body of the response."""
        limit = int(body.get("max_tokens") or body.get("max_completion_tokens") or 1_024)
        total = self._timeout or 60.0 + limit * self._seconds_per_token
        timeout = aiohttp.ClientTimeout(total=total, sock_connect=CONNECT_SECONDS)
        async with self.session.post(
            f"{url}/chat/completions", data=orjson.dumps(body), timeout=timeout
        ) as response:
            return response.status, response.headers, await response.read()

    def took(self, seconds: float, tokens: int | None) -> None:
        """Notes how long a reply of so many tokens took; the slowest sets the time-out."""
        if tokens and tokens > 16:
            self._seconds_per_token = max(self._seconds_per_token, seconds / tokens)

    async def close(self) -> None:
        """Closes all connections."""
        await self.session.close()


def checked_url(url: str) -> str:
    """Returns a base URL without a slash at its end.

    Raises:
        SettingError: If it is no http URL, or already names the chat completions.
    """
    bare = url.rstrip("/").removesuffix("/chat/completions")
    if not bare.startswith(("http://", "https://")) or len(bare.split("/", 3)[2]) == 0:
        raise SettingError(
            f"{url!r} is no base URL", fix="Write http://host:port/v1 or https://host/v1"
        )
    return bare


def failure(error: BaseException) -> tuple[str, bool]:
    """Returns the code of a failed request, and whether it may be billed all the same."""
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return NO_CONNECTION, False
    if isinstance(error, TimeoutError):
        return "time-out", True
    return "connection-lost", True
