"""Which topics stand in which batch: a pure function of topics, batch size, seed and epoch.

The plan is computed, never estimated: every topic stands in exactly one batch of every epoch, whole, and batch sizes
differ by one at the most. A batch of topics is one optimiser step, whatever the number of processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from obverse.errors import SettingError
from obverse.records import Label, Topic, View
from obverse.sampling import rng_for, seed_for


@dataclass(frozen=True, slots=True)
class Plan:
    """The batches of a training run.

    Attributes:
        topic_ids: The topics, by id; their order in the data has no effect on the batches.
        batch_size: Topics per batch, at the most.
        epochs: How often every topic is seen.
        seed: Of the shuffles.
    """

    topic_ids: tuple[str, ...]
    batch_size: int
    epochs: int
    seed: int

    def __post_init__(self) -> None:
        for name, value in (("batch_size", self.batch_size), ("epochs", self.epochs)):
            if value < 1:
                raise SettingError(f"{name} is {value}", fix="Give 1 or more")
        if not self.topic_ids:
            raise SettingError(
                "there is no topic to train on", fix="Give topics with at least one view"
            )

    @property
    def steps_per_epoch(self) -> int:
        return ceil(len(self.topic_ids) / self.batch_size)

    def __len__(self) -> int:
        """The number of steps of the whole run."""
        return self.steps_per_epoch * self.epochs

    def epoch_of(self, step: int) -> int:
        return step // self.steps_per_epoch

    def epoch(self, epoch: int) -> list[list[str]]:
        """Returns the batches of an epoch, each a list of topic ids."""
        order = sorted(
            self.topic_ids, key=lambda topic_id: seed_for(self.seed, "plan", epoch, topic_id)
        )
        steps, count = self.steps_per_epoch, len(order)
        return [order[count * step // steps : count * (step + 1) // steps] for step in range(steps)]

    def batch(self, step: int) -> list[str]:
        """Returns the topic ids of one step of the run, counted from 0."""
        epoch, place = divmod(step, self.steps_per_epoch)
        return self.epoch(epoch)[place]


def chosen_negatives(
    view: View, limit: int | None, *, seed: int, epoch: int, topic_id: str
) -> list[str]:
    """Returns the negatives of a view that a step uses: all instruction negatives first, then hard ones up to a limit.

    Which hard negatives stand beyond the limit depends on (seed, epoch, topic_id, instruction) alone, so every one
    gets its turn. None is padded, none is repeated.
    """
    hardest, hard = view.ids(Label.INSTRUCTION_NEGATIVE), view.ids(Label.NEGATIVE)
    if limit is None or len(hardest) + len(hard) <= limit:
        return hardest + hard
    room = max(0, limit - len(hardest))
    rng_for(seed, "negatives", epoch, topic_id, view.instruction).shuffle(hard)
    return hardest + hard[:room]


def check_topics(topics: Sequence[Topic]) -> None:
    """Refuses topics that cannot be trained on.

    Raises:
        SettingError: If a topic does not hold its documents, as in a topics benchmark.
    """
    for topic in topics:
        if not topic.docs:
            raise SettingError(
                "holds no documents",
                where=f"topic {topic.topic_id!r}",
                fix="Train on topics that hold their documents (key docs)",
            )
