"""What is left after each filter, by method and lever: one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from obverse.records import Topic, View
from obverse.text_table import text_table


@dataclass(slots=True)
class Yields:
    """Counts of instructed views by method and lever, before the first filter and after each.

    Attributes:
        steps: ``in``, then the filters' names.
        counts: For each step, views by (method, lever).
    """

    steps: list[str] = field(default_factory=list)
    counts: list[Counter[tuple[str, str]]] = field(default_factory=list)

    def watch(self, step: str, topics: Iterable[Topic]) -> Iterator[Topic]:
        """Passes topics through and counts their instructed views."""
        counter: Counter[tuple[str, str]] = Counter()
        self.steps.append(step)
        self.counts.append(counter)
        return self._count(topics, counter)

    @staticmethod
    def _count(topics: Iterable[Topic], counter: Counter[tuple[str, str]]) -> Iterator[Topic]:
        for topic in topics:
            counter.update(map(source_of, topic.instructed_views))
            yield topic

    def rows(self) -> list[dict[str, Any]]:
        """Returns one row for each method and lever, one for each method, and one for all."""
        keys = sorted({key for counter in self.counts for key in counter})
        methods = sorted({method for method, _ in keys})
        rows = []
        for method in methods:
            levers = [key for key in keys if key[0] == method]
            if len(levers) > 1:
                rows += [self._row(method, lever, [(method, lever)]) for _, lever in levers]
            rows.append(self._row(method, "all" if len(levers) > 1 else levers[0][1], levers))
        if len(methods) > 1:
            rows.append(self._row("all", "all", keys))
        return rows

    def _row(self, method: str, lever: str, keys: list[tuple[str, str]]) -> dict[str, Any]:
        numbers = [sum(counter[key] for key in keys) for counter in self.counts]
        kept = round(numbers[-1] / numbers[0], 4) if numbers[0] else None
        steps = [f"{n}. {step}" if n else step for n, step in enumerate(self.steps)]
        return {
            "method": method,
            "lever": lever,
            **dict(zip(steps, numbers, strict=True)),
            "kept": kept,
        }

    def table(self) -> str:
        """Returns the rows as a table of plain text."""
        rows = self.rows()
        if not rows:
            return "no instructed views"
        return text_table(rows, percent=("kept",))


def source_of(view: View) -> tuple[str, str]:
    """Returns what a view's origin says of method and lever; ``-`` where it says nothing."""
    return str(view.origin.get("method") or "-"), str(view.origin.get("lever") or "-")
