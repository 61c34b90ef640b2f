"""What a run says about itself while it works: ``<run>/status.json``, a live line on a terminal, the costs."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from obverse.files import write_json
from obverse.llm.asking import Asker
from obverse.llm.costs import Costs, waste
from obverse.llm.pool import Endpoint
from obverse.synthesis.conversation import Outcome

EVERY_SECONDS = 1.0
WINDOW_SECONDS = 120.0


@dataclass(slots=True)
class Progress:
    """Counts of one run; written out every second by a thread of its own.

    Attributes:
        run_dir: The run's folder.
        asker: Where questions go.
        costs: Of the replies.
        about: What else the status says: method, model, lane.
        total: How many topics there are, if that is known.
    """

    run_dir: Path
    asker: Asker
    costs: Costs
    about: dict[str, Any]
    total: int | None = None
    state: str = "running"
    came: int = 0
    states: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    used: set[bytes] = field(default_factory=set)
    _begun: float = field(default_factory=time.monotonic)
    _marks: list[tuple[float, int, int]] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Progress:
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if error is not None and not isinstance(error, GeneratorExit):
            self.state = f"ended: {error}"[:300]
        elif kind is not None or self.states["unfinished"]:
            self.state = "unfinished"
        else:
            self.state = "done"
        if self.only_reads:
            return
        write_json(self.file("status.json"), self.row())
        lost = waste(self.asker.journal.records(), self.used, self.costs.price)
        write_json(self.file("costs.json"), {**self.costs.row(), "waste": lost})

    def take(self, outcome: Outcome) -> None:
        """Counts a topic that is through."""
        for attempt in outcome.attempts:
            self.used.add(bytes.fromhex(attempt.key)[:8])
            self.costs.add(
                attempt.tags.stage,
                attempt.usage,
                lane=attempt.reply.lane,
                rejected=attempt.code is not None,
                seconds=attempt.reply.seconds,
            )
        self.costs.accepted_views += outcome.new_views
        if outcome.unfinished:
            self.states["unfinished"] += 1
        elif outcome.reason:
            self.states["unchanged"] += 1
            self.reasons[outcome.reason] += 1
        else:
            self.states["with new views"] += 1

    def file(self, name: str) -> Path:
        """Returns where a file about this run stands; each shard has its own."""
        shard = self.about.get("shard", "0")
        stem, _, suffix = name.partition(".")
        return self.run_dir / (name if shard == "0" else f"{stem}.{shard}.{suffix}")

    @property
    def only_reads(self) -> bool:
        """Whether an earlier run is read again, whose status and costs stand."""
        return bool(self.about.get("lane") == "journal")

    @property
    def through(self) -> int:
        """Topics that are finished."""
        return self.states["unchanged"] + self.states["with new views"]

    def row(self) -> dict[str, Any]:
        """Returns the status."""
        per_second, views_per_minute = self._rates()
        left = self._seconds_left(per_second)
        return {
            "state": self.state,
            "updated": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "process": os.getpid(),
            **self.about,
            "topics": {
                "total": self.total,
                "under way": self.came - sum(self.states.values()),
                **{
                    name: self.states[name]
                    for name in ("with new views", "unchanged", "unfinished")
                },
            },
            "accepted_views": self.costs.accepted_views,
            "accepted_per_minute": round(views_per_minute, 1),
            "replies": {"asked for": self.asker.sent, "from the journal": self.asker.reused},
            "changed_since_last_run": [
                {"stage": stage, "what": what, "requests": count}
                for (stage, what), count in self.asker.changes.items()
            ],
            "endpoints": [_endpoint_row(one) for one in self._endpoints()],
            "cost": self.costs.cost,
            "currency": self.costs.price.currency if self.costs.price else None,
            "top_reasons": dict(self.reasons.most_common(8)),
            "seconds": round(time.monotonic() - self._begun, 1),
            "seconds_left": left,
        }

    def line(self) -> str:
        """Returns the status as one line for people."""
        row = self.row()
        total = f"/{self.total:,}" if self.total is not None else ""
        parts = [f"{self.through:,}{total} topics", f"{self.costs.accepted_views:,} views"]
        parts.append(f"{row['accepted_per_minute']:,.0f} views/min")
        for one in row["endpoints"]:
            parts.append(f"{one['in_flight']}/{one['limit']} in flight")
        if row["cost"] is not None and self.costs.price is not None:
            parts.append(f"{row['cost']:.4f} {self.costs.price.currency}")
        if self.reasons:
            reason, count = self.reasons.most_common(1)[0]
            parts.append(f"{count:,} {reason}")
        if row["seconds_left"] is not None:
            parts.append(f"{row['seconds_left'] / 60:,.0f} min left")
        return " | ".join(parts)

    def _endpoints(self) -> Sequence[Endpoint]:
        found: Sequence[Endpoint] = getattr(self.asker.lane, "endpoints", [])
        return found

    def _rates(self) -> tuple[float, float]:
        """Returns topics a second and views a minute over the last two minutes."""
        now = time.monotonic()
        first = next((mark for mark in self._marks if mark[0] > now - WINDOW_SECONDS), None)
        then, through, views = first or (self._begun, 0, 0)
        passed = max(now - then, 1e-3)
        return (
            (self.through - through) / passed,
            60 * (self.costs.accepted_views - views) / passed,
        )

    def _seconds_left(self, per_second: float) -> float | None:
        if self.total is None or per_second <= 0:
            return None
        return round((self.total - self.through) / per_second, 1)

    def _show(self) -> None:
        with _live_line() as show:
            while not self._over.wait(EVERY_SECONDS):
                self._marks.append((time.monotonic(), self.through, self.costs.accepted_views))
                del self._marks[: -int(2 * WINDOW_SECONDS)]
                with contextlib.suppress(
                    RuntimeError
                ):  # a count changed its size while it was read
                    if not self.only_reads:
                        write_json(self.file("status.json"), self.row())
                    show(self.line())


@contextlib.contextmanager
def _live_line() -> Any:
    if not sys.stderr.isatty():
        yield lambda line: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update


def _endpoint_row(endpoint: Endpoint) -> dict[str, Any]:
    limiter = endpoint.limiter
    return {
        "url": endpoint.url,
        "limit": int(limiter.limit),
        "in_flight": limiter.in_flight,
        "answers": limiter.answers,
        "refusals": limiter.refusals,
        "failures": limiter.failures,
        "breaker": str(limiter.breaker),
    }
