"""The fake endpoint's ``/files`` and ``/batches``: for dry runs of the batch lane."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

Answer = Callable[[dict[str, Any]], Awaitable[web.Response]]


@dataclass
class FakeBatches:
    """Batches that are worked on while somebody polls.

    Attributes:
        answer: Answers one chat completion.
        polls: How often a batch says that it is in progress before it is over.
        share: What share of its requests is done when it is over; with less than 1 it ends as ``expired``.
        lose_answers: How many creations succeed without their answer reaching anybody.
    """

    answer: Answer
    polls: int = 1
    share: float = 1.0
    lose_answers: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def add_to(self, app: web.Application) -> None:
        """Adds the routes to a server."""
        app.router.add_post("/v1/files", self.upload)
        app.router.add_get("/v1/files/{id}/content", self.content)
        app.router.add_post("/v1/batches", self.create)
        app.router.add_get("/v1/batches", self.list_all)
        app.router.add_get("/v1/batches/{id}", self.show)

    async def upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form.get("file")
        if form.get("purpose") != "batch" or not isinstance(file, web.FileField):
            return _json({"error": {"message": "needs a file and the purpose batch"}}, 400)
        return _json({"id": self._keep(file.file.read()), "object": "file", "purpose": "batch"})

    async def content(self, request: web.Request) -> web.Response:
        raw = self.files.get(request.match_info["id"])
        return web.Response(body=raw) if raw is not None else _json({"error": {}}, 404)

    async def create(self, request: web.Request) -> web.Response:
        wanted = orjson.loads(await request.read())
        batch_id = f"batch_{next(self._numbers)}"
        lines = self.files[wanted["input_file_id"]].splitlines()
        self.batches[batch_id] = {
            **wanted,
            "id": batch_id,
            "object": "batch",
            "status": "validating",
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
            "polled": 0,
        }
        if self.lose_answers > 0:
            self.lose_answers -= 1
            return _json({"error": {"message": "something broke"}}, 500)
        return _json(self.batches[batch_id])

    async def list_all(self, request: web.Request) -> web.Response:
        after, limit = request.query.get("after"), int(request.query.get("limit", "20"))
        rows = list(self.batches.values())[::-1]
        start = next((n + 1 for n, row in enumerate(rows) if row["id"] == after), 0)
        more = len(rows) > start + limit
        return _json({"object": "list", "data": rows[start : start + limit], "has_more": more})

    async def show(self, request: web.Request) -> web.Response:
        batch = self.batches.get(request.match_info["id"])
        if batch is None:
            return _json({"error": {"message": "no such batch"}}, 404)
        batch["polled"] += 1
        if batch["polled"] > self.polls and batch["status"] not in ("completed", "expired"):
            await self._work(batch)
        elif batch["status"] == "validating":
            batch["status"] = "in_progress"
        return _json(batch)

    async def _work(self, batch: dict[str, Any]) -> None:
        lines = [orjson.loads(raw) for raw in self.files[batch["input_file_id"]].splitlines()]
        done = lines[: round(len(lines) * self.share)]
        answers = await asyncio.gather(*(self.answer(line["body"]) for line in done))
        rows: dict[bool, list[bytes]] = {True: [], False: []}
        for line, answer in zip(done, answers, strict=True):
            body = orjson.loads(answer.body if isinstance(answer.body, bytes) else b"null")
            response = {"status_code": answer.status, "request_id": "fake", "body": body}
            row = {"custom_id": line["custom_id"], "response": response, "error": None}
            rows[answer.status == 200].append(orjson.dumps(row))
        for line in lines[len(done) :]:
            error = {"code": "batch_expired", "message": "the batch has expired"}
            row = {"custom_id": line["custom_id"], "response": None, "error": error}
            rows[False].append(orjson.dumps(row))
        batch["status"] = "completed" if len(done) == len(lines) else "expired"
        batch["request_counts"] |= {"completed": len(rows[True]), "failed": len(rows[False])}
        for kind, good in (("output_file_id", True), ("error_file_id", False)):
            if rows[good]:  # not in the order of the requests
                batch[kind] = self._keep(b"\n".join(rows[good][::-1]))

    def _keep(self, raw: bytes) -> str:
        file_id = f"file_{next(self._numbers)}"
        self.files[file_id] = raw
        return file_id


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")
