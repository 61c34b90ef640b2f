"""The engine: runs a method's dialogues, thousands at once, against one lane of replies and one journal.

Topics come out in the order they went in. What a topic becomes depends on the topic, the seed and the replies
alone, so a second run over a full journal asks for nothing and gives the same bytes.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obverse.errors import SettingError
from obverse.files import write_json_lines
from obverse.llm.asking import Asker
from obverse.llm.costs import Costs
from obverse.llm.journal import Fsync, Journal
from obverse.llm.lanes import Lane
from obverse.llm.money import Budget
from obverse.llm.request import Tags
from obverse.log import say
from obverse.records import Topic
from obverse.sampling import rng_for, seed_for
from obverse.stages import Drops
from obverse.synthesis.conversation import Outcome, converse
from obverse.synthesis.methods import Method, load_method
from obverse.synthesis.progress import Progress
from obverse.synthesis.window import LoopThread, Window, fewer_collections

ENOUGH_TO_JUDGE = 100
FEW = 20
KEPT = 8
"""Finished topics that wait for an earlier one, in multiples of those under way."""


def synthesize(
    topics: Iterable[Topic],
    drops: Drops,
    *,
    method: str | Method,
    llm: Lane,
    run_dir: str | os.PathLike[str],
    seed: int = 0,
    shard: tuple[int, int] | None = None,
    options: Mapping[str, Any] | None = None,
    open_topics: int = 1_024,
    fsync: Fsync = "interval",
    max_reject_rate: float = 0.95,
    total: int | None = None,
    target: int | None = None,
) -> Iterator[Topic]:
    """Yields the topics with the views that a method makes, in the order they came.

    A topic that the method skips, or whose replies stay unusable, goes out unchanged and is noted in ``drops``. All
    unusable replies stand in ``<run_dir>/rejects.jsonl`` with code, raw text and tokens; of a shard, in
    ``rejects.<i>-of-<n>.jsonl``.

    Args:
        topics: The topics; read at most ``open_topics`` ahead.
        drops: Notes what made no view, with a fixed reason.
        method: A name of ``METHODS``, ``package.module:function``, or the function itself.
        llm: Where replies come from.
        run_dir: The run's folder: its journal, rejects and status.
        seed: Draws depend on seed, method and topic_id.
        shard: ``(i, n)``: only the topics whose id hashes to part i of n, from 0.
        options: Further parameters of the method.
        open_topics: How many topics are under way at once.
        fsync: When the journal is forced to the disk.
        max_reject_rate: Where more than this share of a hundred topics or more comes to nothing because replies are
            unusable, the run ends: something is wrong that money does not mend. Not for recorded replies.
        total: How many topics there are, for the time that is left.
        target: So many new views are enough: the topics end with the one that brings them, and no more are asked
            about than are likely to be needed.

    Raises:
        SettingError: If the method is unknown, another run writes to the same journal, or too much is rejected.
        Unfinished: If the run ended early; the journal keeps all replies, and the same call goes on.
    """
    name, function = load_method(method, options)
    where = "0" if shard is None else shard_name(shard)
    with Journal(run_dir, shard=where, fsync=fsync) as journal, LoopThread() as loop:
        for line in journal.found.lines():
            say(f"journal: {line}")
        budget = getattr(llm, "budget", None) or Budget()
        about = {"method": name, "model": llm.model, "lane": llm.name, "shard": where}
        progress = Progress(Path(run_dir), Asker(llm, journal), Costs(budget.price), about, total)
        run = _Run(name, function, progress, seed, drops, max_reject_rate, target)
        try:
            with progress, fewer_collections():
                loop.result(llm.open(journal))
                mine = (t for t in topics if shard is None or part_of(t, shard[1]) == shard[0])
                yield from run.in_order(mine, loop, open_topics)
        finally:
            llm.stop("stopped")
            loop.result(llm.close())
            write_json_lines(progress.file("rejects.jsonl"), run.rejects)
    llm.finish(run.unfinished)


def part_of(topic: Topic, parts: int) -> int:
    """Returns the part, 0 to ``parts - 1``, that a topic belongs to: a hash of its id, the same everywhere."""
    return seed_for(0, "shard", topic.topic_id) % parts


def shard_name(shard: tuple[int, int]) -> str:
    """Returns the name of a shard's journal folder.

    Raises:
        SettingError: If the part is not one of 0 to n - 1.
    """
    part, parts = shard
    if not 0 <= part < parts:
        raise SettingError(
            f"there is no part {part} of {parts}", fix=f"Use 0/{parts} to {parts - 1}/{parts}"
        )
    return f"{part}-of-{parts}"


@dataclass(slots=True)
class _Run:
    method: str
    function: Method
    progress: Progress
    seed: int
    drops: Drops
    max_reject_rate: float
    target: int | None = None
    unfinished: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    rejects: list[dict[str, Any]] = field(default_factory=list)

    @property
    def asker(self) -> Asker:
        return self.progress.asker

    def in_order(
        self, topics: Iterable[Topic], loop: LoopThread, open_topics: int
    ) -> Iterator[Topic]:
        window: Window[Outcome] = Window(loop)
        try:
            for order, topic in enumerate(topics):
                window.give(self.one(topic, order))
                self.progress.came += 1
                yield from self.taken(window)
                while not self.enough and self.full(window, open_topics):
                    window.wait()
                    yield from self.taken(window)
                if self.enough:
                    break
            while len(window) and not self.enough:
                window.wait()
                yield from self.taken(window)
        finally:
            self.asker.lane.stop("stopped")
            window.drain(self.asker.lane.drain_seconds)

    def taken(self, window: Window[Outcome]) -> Iterator[Topic]:
        for outcome in window.ready():
            yield from self.take(outcome)
            if self.enough:
                return

    @property
    def enough(self) -> bool:
        """Whether the target is reached."""
        return self.target is not None and self.progress.costs.accepted_views >= self.target

    def full(self, window: Window[Outcome], open_topics: int) -> bool:
        """Whether no further topic is begun yet; near the target only about so many as it takes are under way."""
        if self.target is None:
            return window.unfinished >= open_topics or len(window) >= KEPT * open_topics
        views, through = self.progress.costs.accepted_views, self.progress.through
        if through < FEW:  # how many views a topic brings is not known yet
            likely = max(FEW, self.target // 8)
        else:
            likely = math.ceil((self.target - views) * through / max(views, 1))
        return len(window) >= min(open_topics, likely)

    async def one(self, topic: Topic, order: int) -> Outcome:
        dialogue = self.function(topic, rng_for(self.seed, self.method, topic.topic_id))
        return await converse(
            topic, self.method, dialogue, self.asker, order=order, recorded_documents=self.documents
        )

    @property
    def documents(self) -> Callable[[Tags], Sequence[str] | None] | None:
        """What recorded replies say they are about."""
        found: Callable[[Tags], Sequence[str] | None] | None = getattr(
            self.asker.lane, "documents", None
        )
        return found

    def take(self, outcome: Outcome) -> Iterator[Topic]:
        self.progress.take(outcome)
        self.rejects += [attempt.row(self.progress.costs.price) for attempt in outcome.rejects]
        if outcome.unfinished:
            self.unfinished[outcome.unfinished] += 1
            self.drops.add(outcome.topic.topic_id, outcome.unfinished)
            return
        if outcome.reason:
            self.drops.add(outcome.topic.topic_id, outcome.reason, **outcome.details)
            self.refuse_to_burn_money(outcome)
        yield outcome.topic

    def refuse_to_burn_money(self, outcome: Outcome) -> None:
        if not outcome.rejected or self.asker.lane.name not in ("live", "local"):
            return
        self.rejected[outcome.reason or ""] += 1
        through, rejected = self.progress.through, self.rejected.total()
        if through >= ENOUGH_TO_JUDGE and rejected > self.max_reject_rate * through:
            code, count = self.rejected.most_common(1)[0]
            raise SettingError(
                f"{rejected:,} of {through:,} topics came to nothing, {count:,} of them by {code}",
                fix="Look at rejects.jsonl in the run's folder; --max-reject-rate 1 goes on all the same",
            )
