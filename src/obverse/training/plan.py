"""Which topics, views and candidates are in which batch: a pure function of data, seed and epoch.

Nothing is estimated: every batch holds exactly ``batch_size`` topics (but for a smaller last one, if that is asked
for), the length is the number of batches, a topic is never split, and the plan does not depend on the number of
processes, which share out each batch among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from obverse.errors import SettingError
from obverse.records import Label
from obverse.sampling import rng_for, seed_for
from obverse.training.topic_set import Row, TopicSet

Pick = Literal["random", "first"]


@dataclass(frozen=True, slots=True)
class Batch:
    """One step's topics.

    Attributes:
        step: The step's number, from 0.
        epoch: The epoch's number, from 0.
        number: The batch's number in its epoch, from 0.
        topics: The topics' numbers.
    """

    step: int
    epoch: int
    number: int
    topics: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """The batches of a training run.

    Attributes:
        topics: The topics.
        batch_size: Topics in each batch, over all processes.
        epochs: How often each topic is seen; a part of an epoch is allowed.
        seed: Every draw depends on it.
        plain_per_batch: Plain-only topics added to each batch, drawn in turn from those that have no instructed
            view, which then take no part in the batches of their own; None treats them as any other topic.
        max_views: Instructed views of a topic in a batch at most; None for all.
        plain_share: The share of topics whose plain view comes along, in [0, 1], where they have other views.
        negatives: Negatives per view at most, both kinds together.
        instruction_negatives: Instruction negatives per view at most; they come first.
        pick: ``random`` draws the hard negatives by seed, epoch and topic; ``first`` takes them in their order.
        pool_negatives: Further documents per batch, drawn from topics that are not in it.
        keep_last: Whether what is left of an epoch makes a last, smaller batch. Else it opens the next epoch.
    """

    topics: TopicSet
    batch_size: int
    epochs: float = 1
    seed: int = 0
    plain_per_batch: int | None = None
    max_views: int | None = None
    plain_share: float = 1.0
    negatives: int = 30
    instruction_negatives: int = 3
    pick: Pick = "random"
    pool_negatives: int = 0
    keep_last: bool = False

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise SettingError(
                f"the batch size is {self.batch_size}", fix="Put at least one topic into a batch"
            )
        if len(self._main) < self.batch_size:
            kind = "topics" if self.plain_per_batch is None else "topics with instructions"
            raise SettingError(
                f"a batch of {self.batch_size} topics cannot be filled from {len(self._main)} {kind}",
                fix="Lower --batch-size or give more topics",
            )
        if self.plain_per_batch and len(self._plain) < self.plain_per_batch:
            raise SettingError(
                f"{self.plain_per_batch} plain topics per batch are asked for, and there are {len(self._plain)}",
                fix="Lower --plain-per-batch or give more topics without instructions",
            )
        if len(self) < 1:
            raise SettingError(f"{self.epochs} epochs make no step", fix="Raise --epochs")

    @cached_property
    def _plain(self) -> list[int]:
        if not self.plain_per_batch:
            return []
        return [number for number in range(len(self.topics.topics)) if self.topics.is_plain(number)]

    @cached_property
    def _main(self) -> list[int]:
        apart = set(self._plain)
        return [number for number in range(len(self.topics.topics)) if number not in apart]

    @property
    def per_epoch(self) -> int:
        """Batches in an epoch."""
        full, rest = divmod(len(self._main), self.batch_size)
        return full + (self.keep_last and rest > 0)

    def __len__(self) -> int:
        return round(self.per_epoch * self.epochs)

    @property
    def left_out(self) -> int:
        """Topics without a place in an epoch, because the last batch would not be full; they open the next."""
        return 0 if self.keep_last else len(self._main) % self.batch_size

    def epoch(self, epoch: int) -> list[tuple[int, ...]]:
        """Returns the topics of each batch of an epoch."""
        return self._epochs[epoch] if epoch < len(self._epochs) else self._through(epoch)[-1]

    @cached_property
    def _epochs(self) -> list[list[tuple[int, ...]]]:
        return self._through(-(-len(self) // self.per_epoch) - 1)

    def _through(self, last: int) -> list[list[tuple[int, ...]]]:
        waiting: list[int] = []
        made = []
        for epoch in range(last + 1):
            order = list(self._main)
            rng_for(self.seed, "epoch", epoch).shuffle(order)
            first = set(waiting)
            order = waiting + [number for number in order if number not in first]
            full = len(order) - self.left_out
            waiting = order[full:]
            made.append(
                [
                    tuple(order[at : at + self.batch_size])
                    + self._plain_of(epoch * self.per_epoch + at // self.batch_size)
                    for at in range(0, full, self.batch_size)
                ]
            )
        return made

    def _plain_of(self, step: int) -> tuple[int, ...]:
        """The plain topics of a step: they go round and round, shuffled anew each time, whole rounds first."""
        if not self.plain_per_batch:
            return ()
        found: list[int] = []
        place = step * self.plain_per_batch
        while len(found) < self.plain_per_batch:
            round_, at = divmod(place, len(self._plain))
            if (drawn := self._plain_round(round_)[at]) not in found:
                found.append(drawn)
            else:
                # Only where a round ends within a batch: the topic stands in it already, take another.
                found.append(next(n for n in self._plain_round(round_) if n not in found))
            place += 1
        return tuple(found)

    def _plain_round(self, round_: int) -> list[int]:
        rounds = self._rounds
        if round_ not in rounds:
            rounds.clear() if len(rounds) > 3 else None
            order = list(self._plain)
            rng_for(self.seed, "plain", round_).shuffle(order)
            rounds[round_] = order
        return rounds[round_]

    @cached_property
    def _rounds(self) -> dict[int, list[int]]:
        return {}

    def batch(self, step: int) -> Batch:
        """Returns the batch of a step.

        Raises:
            SettingError: If there is no such step.
        """
        if not 0 <= step < len(self):
            raise SettingError(
                f"there is no batch {step}: the plan has {len(self)} (0 to {len(self) - 1})",
                fix="Name one of them",
            )
        epoch, number = divmod(step, self.per_epoch)
        return Batch(step, epoch, number, self.epoch(epoch)[number])

    def rows(self, batch: Batch) -> list[Row]:
        """Returns the rows of a batch: the chosen views of its topics."""
        return [row for topic in batch.topics for row in self._views(topic, batch.epoch)]

    def _views(self, topic: int, epoch: int) -> list[Row]:
        rows = self.topics.rows[topic]
        instructed = [row for row in rows if not row.plain]
        if self.max_views is not None and len(instructed) > self.max_views:
            rng = rng_for(self.seed, "views", epoch, self.topics.topics[topic].topic_id)
            instructed = sorted(rng.sample(instructed, self.max_views), key=lambda row: row.view)
        if not instructed:
            return rows
        name = self.topics.topics[topic].topic_id
        if self.plain_share < 1 and not (
            rng_for(self.seed, "plain", epoch, name).random() < self.plain_share
        ):
            return instructed
        kept = {row.view for row in instructed}
        return [row for row in rows if row.plain or row.view in kept]

    def candidates(self, row: Row, epoch: int) -> list[int]:
        """Returns the documents that a row brings along: all positives, then negatives up to the quota.

        Instruction negatives come first, then hard ones; none is padded or repeated. Views of one topic draw in the
        same order, so that they share documents as far as their labels allow.
        """
        ruled_out = self._drawn(row, Label.INSTRUCTION_NEGATIVE, epoch)
        ruled_out = ruled_out[: min(self.instruction_negatives, self.negatives)]
        hard = self._drawn(row, Label.NEGATIVE, epoch)[: self.negatives - len(ruled_out)]
        return [*row.ids(Label.POSITIVE), *ruled_out, *hard]

    def _drawn(self, row: Row, label: Label, epoch: int) -> list[int]:
        found = row.ids(label)
        if self.pick == "first":
            return found
        name = self.topics.topics[row.topic].topic_id
        return sorted(found, key=lambda uid: seed_for(self.seed, "negatives", epoch, name, uid))

    def documents(self, batch: Batch, rows: Sequence[Row]) -> list[int]:
        """Returns the distinct documents of a batch, each once."""
        return list(dict.fromkeys(uid for row in rows for uid in self.candidates(row, batch.epoch)))

    def pool(self, batch: Batch, present: Sequence[int]) -> list[int]:
        """Returns further documents for a batch, from topics that are not in it, drawn by seed and step."""
        if not self.pool_negatives:
            return []
        there = set(present).union(*(self.topics.own[topic] for topic in batch.topics))
        others = [uid for uid in self.topics.docs if uid not in there]
        if self.pool_negatives >= len(others):
            return others
        return rng_for(self.seed, "pool", batch.epoch, batch.number).sample(
            others, self.pool_negatives
        )
