"""A fake endpoint that costs next to nothing: for measuring clients, not for trying them (see obverse fake-llm).

Answers every chat completion with the same reply, so many seconds later. Its base URL is the first line on stdout.

    python benchmarks/fast_server.py 0.2
"""

from __future__ import annotations

import asyncio
import json
import sys


def response(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    body = {
        "id": "fake",
        "object": "chat.completion",
        "created": 0,
        "model": "fake",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 250, "completion_tokens": 12, "total_tokens": 262},
    }
    raw = json.dumps(body).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    )
    return head.encode() + raw


GOOD = response('{"instruction": "Only red."}')
TRIED = response('{"name": "Jason", "age": 25}')
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
LENGTH, END = b"content-length:", b"\r\n\r\n"


class Server(asyncio.Protocol):
    """One connection."""

    seconds = 0.2

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.got = transport, b""

    def data_received(self, data: bytes) -> None:
        self.got += data
        while (end := self.got.find(END)) >= 0:
            head, start = self.got[:end].lower(), end + len(END)
            at = head.find(LENGTH)
            stop = start + (int(head[at + len(LENGTH) :].split(b"\r\n", 1)[0]) if at >= 0 else 0)
            if len(self.got) < stop:
                return
            body, self.got = self.got[start:stop], self.got[stop:]
            if head.startswith(b"post"):
                # curator first tries whether a schema with name and age is kept
                what = TRIED if b'"age"' in body else GOOD
                asyncio.get_running_loop().call_later(self.seconds, self.answer, what)
            else:
                self.transport.write(NOT_FOUND)

    def answer(self, what: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(what)


async def serve(seconds: float) -> None:
    Server.seconds = seconds
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
