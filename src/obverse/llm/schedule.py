"""How many requests at once by day and hour: for servers that belong to others in office hours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from obverse.errors import SettingError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ENTRY = re.compile(r"^(?:([a-z]{3})(?:-([a-z]{3}))?\s+)?(?:(\d{1,2})-(\d{1,2})|\*)=(\d+)$")
_FIX = "Write entries such as Mon-Fri 08-19=3,*=64; the first that fits counts"


@dataclass(frozen=True, slots=True)
class Span:
    """Some hours of some days and their cap; ``hours`` from 22 to 6 go over midnight."""

    days: frozenset[int]
    hours: frozenset[int]
    cap: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """Caps by local time; the first span that fits counts, and none leaves the cap as it is."""

    spans: tuple[Span, ...] = ()

    def cap(self, now: datetime, otherwise: int) -> int:
        """Returns the cap at a time; 0 asks for nothing."""
        for span in self.spans:
            if now.weekday() in span.days and now.hour in span.hours:
                return min(span.cap, otherwise)
        return otherwise


def read_schedule(text: str | None) -> Schedule:
    """Returns the schedule that a text such as ``Mon-Fri 08-19=3,*=64`` says.

    Raises:
        SettingError: If it says none.
    """
    return Schedule(tuple(_span(entry) for entry in text.split(",")) if text else ())


def _span(entry: str) -> Span:
    found = _ENTRY.match(entry.strip().lower())
    if found is None:
        raise SettingError(f"{entry!r} is no entry of a schedule", fix=_FIX)
    first, last, begin, end, cap = found.groups()
    for day in (first, last):
        if day is not None and day not in DAYS:
            raise SettingError(f"{entry!r}: there is no day {day!r}", fix=_FIX)
    if begin is not None and (int(begin) > 23 or int(end) > 24):
        raise SettingError(f"{entry!r}: hours go from 0 to 24", fix=_FIX)
    days = _round(DAYS.index(first), DAYS.index(last or first) + 1, 7) if first else range(7)
    hours = _round(int(begin), int(end), 24) if begin is not None else range(24)
    return Span(frozenset(days), frozenset(hours), int(cap))


def _round(begin: int, end: int, size: int) -> list[int]:
    """Returns the places from begin to before end, around the end of the week or day where end comes first."""
    steps = (end - begin) % size or size
    return [(begin + step) % size for step in range(steps)]
