"""What a recipe is: arms made from the same source topics, what each is held against, and what a paper published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from obverse.recipes.source import Source
from obverse.records import Topic

Make = Callable[[Source, int], Sequence[Topic]]
"""Makes an arm's training topics from the source and a seed."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One set to train on, and how.

    Attributes:
        name: Names its cells and its row in the table.
        says: What it is, in one line.
        make: Makes its topics from the source topics and the cell's seed.
        settings: What differs from the recipe's training settings.
        steps_of: The arm whose number of steps it takes, where its own rows would make fewer or more.
    """

    name: str
    says: str
    make: Make
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps_of: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """An arm and the arm that it is held against, and what is expected of the difference.

    Attributes:
        arm: The arm.
        against: The other one; ``base`` is the encoder before training.
        matched: Whether both must hold equally many views and train equally many steps.
        expected: By measure, 1 where the arm should be better, -1 where it should be worse.
        says: The expectation in words.
    """

    arm: str
    against: str
    matched: bool = True
    expected: Mapping[str, int] = field(default_factory=dict)
    says: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """A value from a paper.

    Attributes:
        model: The paper's model.
        arm: The recipe's arm that it belongs to, or another system's name.
        benchmark: As ``--on`` names it.
        measure: Its key.
        value: As published, mostly times 100.
    """

    model: str
    arm: str
    benchmark: str
    measure: str
    value: float


@dataclass(frozen=True, slots=True)
class Recipe:
    """An experiment, declared.

    Attributes:
        name: As the command line has it.
        says: What it asks, in one line.
        full: How many source topics 100 % are.
        full_says: What that number counts.
        arms: The arms, in the table's order.
        pairs: What is held against what.
        settings: Training settings of every arm at small scale; ``batch_rows`` is the number of views a step.
        full_settings: What changes at full scale.
        two_sided: Whether the scale counts topics with both instructed views, instead of all source topics.
        matched_by: What makes a row when sizes and steps are matched: every view, or instructed views alone.
        development: How many two-sided topics are held back and measured too, for whoever chooses settings.
        benchmarks: What the paper measured on, as ``--on`` names it.
        published: The paper's values.
        reasons: Why ours must differ from them.
        limits: What the small scale can and cannot say.
        more: Further benchmarks of the recipe's own, made from the source.
        command: How the command line calls it, where that is not ``recipe NAME``.
    """

    name: str
    says: str
    full: int
    full_says: str
    arms: Sequence[Arm]
    pairs: Sequence[Pair]
    settings: Mapping[str, Any] = field(default_factory=dict)
    full_settings: Mapping[str, Any] = field(default_factory=dict)
    two_sided: bool = True
    matched_by: Literal["views", "instructed views"] = "views"
    development: int = 0
    benchmarks: Sequence[str] = ()
    published: Sequence[Published] = ()
    reasons: Sequence[str] = ()
    limits: Sequence[str] = ()
    more: Sequence[Callable[[Source], Any]] = ()
    command: str = ""

    def arm(self, name: str) -> Arm:
        """Returns an arm by its name."""
        return next(arm for arm in self.arms if arm.name == name)

    def rows(self, topics: Sequence[Topic]) -> int:
        """Returns how many rows the topics count as when sizes are matched."""
        if self.matched_by == "views":
            return sum(len(topic.views) for topic in topics)
        return sum(len(topic.instructed_views) for topic in topics)
