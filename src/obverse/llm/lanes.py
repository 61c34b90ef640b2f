"""What every way of getting replies has in common, and how getting none is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from obverse.errors import ObverseError, SettingError
from obverse.llm.forms import Question
from obverse.llm.journal import Journal
from obverse.llm.reply import Reply
from obverse.llm.request import Request, Tags


class Failed(Exception):
    """A request brought no reply; the topic is rejected with the code, the run goes on.

    Args:
        code: A fixed code: ``no-recorded-reply``, ``bad-request``, ``prompt-too-long``, ``server-error``,
            ``time-out``.
        detail: What was seen, for people.
    """

    def __init__(self, code: str, detail: str = "") -> None:
        self.code, self.detail = code, detail
        super().__init__(f"{code}: {detail}" if detail else code)


class NotAsked(Exception):
    """A request was not sent, and will be when the same command runs again.

    Args:
        reason: A fixed phrase, such as ``waits for a batch``.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Unfinished(ObverseError):
    """A run ended before all topics were through. Its journal keeps every reply: the same command goes on.

    Args:
        what: What ended it.
        exit_status: 130 where somebody stopped it, 75 where no endpoint answered and a scheduler may try again.
    """

    def __init__(self, what: str, *, exit_status: int = 130, fix: str | None = None) -> None:
        super().__init__(what, fix=fix or "Run the same command again to go on")
        self.exit_status = exit_status


COST_REACHED = "cost limit reached"
NOT_THERE = "not in the journal"


def raise_if_stopped(unfinished: Mapping[str, int]) -> None:
    """Raises where topics are not through for another reason than the cost limit, given their number by reason.

    Raises:
        Unfinished: If so.
    """
    others = {reason: count for reason, count in unfinished.items() if reason != COST_REACHED}
    if others:
        told = ", ".join(f"{reason}: {count:,} topics" for reason, count in others.items())
        raise Unfinished(f"not all topics are through ({told}); every reply is in the journal")


class NoLLM:
    """The lane of methods that ask nothing."""

    name = "none"
    model = ""
    drain_seconds = 0.0

    def body(self, question: Question, tags: Tags) -> dict[str, Any]:
        """Returns nothing to send."""
        return {}

    async def open(self, journal: Journal) -> None:
        """Does nothing."""

    async def send(self, request: Request, journal: Journal) -> Reply:
        """Never returns.

        Raises:
            SettingError: Always: the method asks after all.
        """
        raise SettingError(
            f"the stage {request.tags.stage} asks an LLM, and none is named",
            fix="Give one of --endpoint URL, --replies FILE, --local GGUF, --batch openai or vllm",
        )

    def stop(self, reason: str) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Does nothing."""

    def finish(self, unfinished: Mapping[str, int]) -> None:
        """Does nothing."""


class Lane(Protocol):
    """A way of getting replies: live, recorded, batch files, a local model.

    Attributes:
        drain_seconds: How long what is in flight is waited for when the run stops.
    """

    drain_seconds: float

    @property
    def name(self) -> str:
        """``live``, ``recorded``, ``batch`` or ``local``."""

    @property
    def model(self) -> str:
        """The model's name, as it stands in the origin of views."""

    def body(self, question: Question, tags: Tags) -> dict[str, Any]:
        """Returns what is sent for a question."""

    async def open(self, journal: Journal) -> None:
        """Gets ready; called once, before the first request."""

    async def send(self, request: Request, journal: Journal) -> Reply:
        """Returns the reply, which stands in the journal by then.

        Raises:
            Failed: If there is none and asking again is no use.
            NotAsked: If the request was not sent.
            ObverseError: If the whole run must end.
        """

    def stop(self, reason: str) -> None:
        """Sends nothing more; what is in flight may come back. May be called from any thread, and twice."""

    async def close(self) -> None:
        """Gives everything back; called once, at the end."""

    def finish(self, unfinished: Mapping[str, int]) -> None:
        """Says what is to be done about topics that are not through, given their number by reason.

        Raises:
            Unfinished: If the output would lack them.
        """
