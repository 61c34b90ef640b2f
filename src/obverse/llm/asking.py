"""Asking through the journal: what stands there is not asked again, what is in flight is waited for."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from obverse.llm.forms import Question
from obverse.llm.journal import Journal
from obverse.llm.lanes import Lane
from obverse.llm.reply import Reply
from obverse.llm.request import Request, Tags, make_request
from obverse.log import say


@dataclass(frozen=True, slots=True)
class Asked:
    """A reply, and whether it was there already."""

    request: Request
    reply: Reply
    from_journal: bool


@dataclass(slots=True)
class Asker:
    """Asks one lane through one journal.

    Attributes:
        changes: How many questions an earlier run asked differently, by (stage, what changed).
        sent: Requests handed to the lane.
        reused: Replies that came from the journal.
    """

    lane: Lane
    journal: Journal
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    sent: int = 0
    reused: int = 0
    _waiting: dict[str, asyncio.Future[Reply]] = field(default_factory=dict)

    async def ask(self, question: Question, tags: Tags, *, order: int = 0) -> Asked:
        """Returns the reply to a question; one that is new stands in the journal before it is returned.

        Raises:
            Failed, NotAsked, ObverseError: As the lane's ``send`` does.
        """
        request = make_request(self.lane.body(question, tags), tags, order=order)
        if (known := self.journal.reply(request.key)) is not None:
            self.reused += 1
            return Asked(request, known, from_journal=True)
        if (same := self._waiting.get(request.key)) is not None:
            self.reused += 1
            return Asked(request, await asyncio.shield(same), from_journal=True)
        self._name_changes(request)
        waiting: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[request.key] = waiting
        try:
            self.sent += 1
            reply = await self.lane.send(request, self.journal)
        except asyncio.CancelledError:
            waiting.cancel()
            raise
        except Exception as error:
            waiting.set_exception(error)
            waiting.exception()  # seen: nobody else may be waiting for it
            raise
        else:
            waiting.set_result(reply)
            return Asked(request, reply, from_journal=False)
        finally:
            del self._waiting[request.key]

    def _name_changes(self, request: Request) -> None:
        for part, (then, now) in self.journal.changed(request).items():
            what = f"{part} ({then} -> {now})" if part == "model" else part
            if not self.changes[request.tags.stage, what]:
                say(
                    f"stage {request.tags.stage}: the {what} differs from the run before; such requests are asked "
                    "anew, the old replies stay in the journal unused"
                )
            self.changes[request.tags.stage, what] += 1
