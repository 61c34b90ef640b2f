"""A number that may move over training: 0.5, or 0.8:0.2, from 0.8 in the first step to 0.2 in the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from obverse.errors import SettingError


@dataclass(frozen=True, slots=True)
class Course:
    """A number that goes in a straight line from the first step to the last.

    Attributes:
        first: Its value in the first step.
        last: Its value in the last step.
    """

    first: float
    last: float

    def at(self, step: int, steps: int) -> float:
        """Returns the value in a step, counted from 0, of a run of ``steps``."""
        if self.first == self.last or steps < 2:
            return self.first
        return self.first + (self.last - self.first) * step / (steps - 1)

    @property
    def written(self) -> float | str:
        """The value as it is stored: a number, or ``0.8:0.2``."""
        return self.first if self.first == self.last else f"{self.first!r}:{self.last!r}"


def course(given: Any, name: str, *, most: float | None = None) -> Course:
    """Returns the course that a number, ``0.8:0.2`` or a pair describes.

    Args:
        given: What the user wrote.
        name: The setting, for the message.
        most: The highest value allowed; None for any.

    Raises:
        SettingError: If it is no number or pair of numbers, below 0, or above ``most``.
    """
    if isinstance(given, Course):
        parts: Sequence[Any] = (given.first, given.last)
    elif isinstance(given, str):
        parts = given.split(":")
    else:
        parts = given if isinstance(given, list | tuple) else (given,)
    try:
        values = [float(part) for part in parts]
    except (TypeError, ValueError):
        values = []
    if len(values) not in (1, 2):
        raise SettingError(
            f"{name} is {given!r}", fix="Write a number, or FIRST:LAST such as 0.8:0.2"
        )
    for value in values:
        if not 0 <= value < float("inf") or (most is not None and value > most):
            within = "0 or more" if most is None else f"a share between 0 and {most:g}"
            raise SettingError(f"{name} is {given}", fix=f"Give {within}")
    return Course(values[0], values[-1])
