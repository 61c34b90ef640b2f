"""Which topics, views and candidates are in which batch: a pure function of data, seed and epoch.

Nothing is estimated. The topics are shuffled anew for each epoch, and the epochs, one after the other, are cut into
batches of exactly ``batch_size``: a batch may hold the end of one epoch and the beginning of the next, so every topic
is used exactly once in each epoch and every batch but the run's last is full. The length is the number of batches, a
topic is never split and never twice in a batch, and the plan does not depend on the number of processes, which share
out each batch among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from obverse.errors import SettingError
from obverse.records import Label
from obverse.sampling import rng_for, seed_for
from obverse.training.courses import Course, course
from obverse.training.topic_set import Row, TopicSet

Pick = Literal["random", "first"]


@dataclass(frozen=True, slots=True)
class Batch:
    """One step's topics.

    Attributes:
        step: The step's number, from 0.
        topics: The topics' numbers.
        epochs: For each of them, which time round it is, from 0.
    """

    step: int
    topics: tuple[int, ...]
    epochs: tuple[int, ...]

    @property
    def epoch(self) -> int:
        """The epoch in which the batch begins, from 0."""
        return self.epochs[0]


@dataclass(frozen=True)
class Plan:
    """The batches of a training run.

    Attributes:
        topics: The topics.
        batch_size: Topics in each batch, over all processes.
        epochs: How often each topic is seen; a part of an epoch is allowed.
        steps: So many full batches instead, however many epochs that makes.
        seed: Every draw depends on it.
        plain_per_batch: Plain-only topics added to each batch, drawn in turn from those that have no instructed
            view, which then take no part in the batches of their own; None treats them as any other topic.
        max_views: Instructed views of a topic in a batch at most; None for all.
        plain_share: The share of topics whose plain view comes along, in [0, 1], where they have other views.
        instructed_share: The share of topics whose instructed views come along, in [0, 1], where they have a plain
            one; the others bring their plain view. Both shares may move over training (:class:`Course`).
        source_weights: The weight of rows in InfoNCE's mean by their source, with ``""`` for rows of any other;
            it may move too. 1 where nothing is said.
        negatives: Negatives per view at most, both kinds together.
        instruction_negatives: Instruction negatives per view at most; they come first.
        pick: ``random`` draws the hard negatives by seed, epoch and topic; ``first`` takes them in their order.
        pool_negatives: Further documents per batch, drawn from topics that are not in it.
        keep_last: Whether what is left at the run's end makes a last, smaller batch. Else it is left out.
    """

    topics: TopicSet
    batch_size: int
    epochs: float = 1
    seed: int = 0
    steps: int | None = None
    plain_per_batch: int | None = None
    max_views: int | None = None
    plain_share: float | str | Course = 1.0
    instructed_share: float | str | Course = 1.0
    source_weights: Mapping[str, float | str] = field(default_factory=dict)
    negatives: int = 30
    instruction_negatives: int = 3
    pick: Pick = "random"
    pool_negatives: int = 0
    keep_last: bool = True

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
        if self.steps is not None and self.steps < 1:
            raise SettingError(f"the number of steps is {self.steps}", fix="Give 1 or more steps")
        if len(self) < 1:
            raise SettingError(f"{self.epochs} epochs make no step", fix="Raise --epochs")

    @cached_property
    def _plain(self) -> list[int]:
        if self.plain_per_batch is None:
            return []
        return [number for number in range(len(self.topics.topics)) if self.topics.is_plain(number)]

    @cached_property
    def _main(self) -> list[int]:
        apart = set(self._plain)
        return [number for number in range(len(self.topics.topics)) if number not in apart]

    @property
    def epoch_size(self) -> int:
        """Topics in an epoch."""
        return len(self._main)

    @cached_property
    def _total(self) -> int:
        """How many topics the batches hold together."""
        if self.steps is not None:
            return self.steps * self.batch_size
        total = round(len(self._main) * self.epochs)
        return total if self.keep_last else total - total % self.batch_size

    def __len__(self) -> int:
        return -(-self._total // self.batch_size)

    @property
    def last_size(self) -> int:
        """Topics in the last batch."""
        return self._total - (len(self) - 1) * self.batch_size

    @property
    def left_out(self) -> int:
        """Topics that the run's end leaves out, because a batch of them would not be full."""
        if self.keep_last or self.steps is not None:
            return 0
        return round(len(self._main) * self.epochs) - self._total

    def seen(self, step: int) -> tuple[int, int]:
        """Returns how many whole epochs lie before a step, and how many topics of the next."""
        return divmod(min(step * self.batch_size, self._total), len(self._main))

    def _order(self, epoch: int) -> list[int]:
        """The topics of an epoch in their order, made when it is asked for.

        What an epoch leaves for a batch on the border is not among the first that the next epoch adds to it. So an
        order depends on the one before it, back to the last epoch that began with a batch of its own.
        """
        made = self._orders
        first = epoch
        while first not in made and self._begun(first):
            first -= 1
        for number in range(first, epoch + 1):
            if number not in made:
                made[number] = self._shuffled(number, made.get(number - 1, []))
            for old in [n for n in made if not number - 2 < n <= epoch]:
                del made[old]
        return made[epoch]

    def _shuffled(self, epoch: int, before: list[int]) -> list[int]:
        order = list(self._main)
        rng_for(self.seed, "epoch", epoch).shuffle(order)
        if begun := self._begun(epoch):
            waiting = set(before[-begun:])
            free = [number for number in order if number not in waiting]
            head = free[: self.batch_size - begun]
            first = set(head)
            order = head + [number for number in order if number not in first]
        return order

    def _begun(self, epoch: int) -> int:
        """How many topics the epochs before this one leave for its first batch."""
        return epoch * len(self._main) % self.batch_size

    @cached_property
    def _orders(self) -> dict[int, list[int]]:
        """The orders of two epochs at most, as a batch lies in no more."""
        return {}

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
        first = step * self.batch_size
        size = len(self._main)
        places = range(first, min(first + self.batch_size, self._total))
        epochs = [place // size for place in places]
        topics = [self._order(place // size)[place % size] for place in places]
        plain = self._plain_of(step)
        return Batch(step, (*topics, *plain), (*epochs, *epochs[:1] * len(plain)))

    def rows(self, batch: Batch) -> list[Row]:
        """Returns the rows of a batch: the chosen views of its topics."""
        return [
            row
            for topic, epoch in zip(batch.topics, batch.epochs, strict=True)
            for row in self._views(topic, epoch, batch.step)
        ]

    def _views(self, topic: int, epoch: int, step: int) -> list[Row]:
        rows = self.topics.rows[topic]
        instructed = [row for row in rows if not row.plain]
        name = self.topics.topics[topic].topic_id
        if not instructed or len(instructed) == len(rows):
            bare = bool(instructed)
        else:
            if not self._drawn_in(self._shares[1], "instructed", epoch, name, step):
                return [row for row in rows if row.plain]
            bare = not self._drawn_in(self._shares[0], "plain", epoch, name, step)
        if self.max_views is not None and len(instructed) > self.max_views:
            rng = rng_for(self.seed, "views", epoch, name)
            instructed = sorted(rng.sample(instructed, self.max_views), key=lambda row: row.view)
        kept = {row.view for row in instructed}
        return [row for row in rows if (row.plain and not bare) or row.view in kept]

    def _drawn_in(self, share: Course, what: str, epoch: int, name: str, step: int) -> bool:
        now = share.at(step, len(self))
        return now >= 1 or rng_for(self.seed, what, epoch, name).random() < now

    @cached_property
    def _shares(self) -> tuple[Course, Course]:
        return (
            course(self.plain_share, "plain share", most=1),
            course(self.instructed_share, "instructed share", most=1),
        )

    def weight(self, row: Row, step: int) -> float:
        """Returns the weight of a row's source in a step."""
        found = self._weights.get(row.source, self._weights.get(""))
        return 1.0 if found is None else found.at(step, len(self))

    @cached_property
    def _weights(self) -> dict[str, Course]:
        return {
            name: course(value, f"source weight of {name!r}")
            for name, value in self.source_weights.items()
        }

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
        times = dict(zip(batch.topics, batch.epochs, strict=True))
        return list(
            dict.fromkeys(uid for row in rows for uid in self.candidates(row, times[row.topic]))
        )

    def pool(self, batch: Batch, present: Sequence[int]) -> list[int]:
        """Returns further documents for a batch, from topics that are not in it, drawn by seed and step."""
        if not self.pool_negatives:
            return []
        there = set(present).union(*(self.topics.own[topic] for topic in batch.topics))
        others = [uid for uid in self.topics.docs if uid not in there]
        if self.pool_negatives >= len(others):
            return others
        return rng_for(self.seed, "pool", batch.step).sample(others, self.pool_negatives)
