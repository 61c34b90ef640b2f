"""Two ledgers side by side: equal in which units, and what was replaced by what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from obverse.errors import SettingError
from obverse.ledger.counting import Entry, Ledger, Origin, by_kind_and_method

UNITS = ("views", "topics", "queries", "documents", "tokens", "steps", "views_per_step")


@dataclass(frozen=True, slots=True)
class Change:
    """A topic of both sets whose views differ.

    Attributes:
        topic_id: Its id in A.
        taken: Origins of the views that B lacks.
        given: Origins of the views that A lacks.
        other_documents: Whether query and views are equal and the candidate documents are not.
    """

    topic_id: str
    taken: tuple[Origin, ...]
    given: tuple[Origin, ...]

    @property
    def other_documents(self) -> bool:
        return not self.taken and not self.given


@dataclass(frozen=True, slots=True)
class Difference:
    """What two sets have in common, and what not.

    Attributes:
        a: The first ledger.
        b: The second.
        same: How many topics are equal in both.
        changes: Topics of both with other views or documents.
        only_a: Ids of topics that B lacks.
        only_b: Ids of topics that A lacks.
    """

    a: Ledger
    b: Ledger
    same: int
    changes: list[Change]
    only_a: list[str]
    only_b: list[str]

    @property
    def sizes(self) -> dict[str, tuple[float, float]]:
        """The size of both by unit; tokens and steps where both ledgers have them."""
        found: dict[str, tuple[float, float]] = {
            unit: (getattr(self.a, unit), getattr(self.b, unit)) for unit in UNITS[:4]
        }
        if self.a.tokens is not None and self.b.tokens is not None:
            found["tokens"] = (self.a.tokens, self.b.tokens)
        if self.a.steps is not None and self.b.steps is not None:
            found["steps"] = (self.a.steps.steps, self.b.steps.steps)
            found["views_per_step"] = (self.a.steps.views_per_step, self.b.steps.views_per_step)
        return found

    def matched(self, units: Iterable[str] = ("views",)) -> bool:
        """Whether the sets are equal in all of the units.

        Raises:
            SettingError: If there is no such unit, or it was not counted.
        """
        sizes, units = self.sizes, list(units)
        if not units:
            raise SettingError("no unit is named", fix=f"Use {', '.join(UNITS)}")
        for unit in units:
            if unit not in UNITS:
                raise SettingError(f"there is no unit {unit!r}", fix=f"Use {', '.join(UNITS)}")
            if unit not in sizes:
                raise SettingError(
                    f"{unit} were not counted", fix="Give a batch size or count tokens"
                )
        return all(sizes[unit][0] == sizes[unit][1] for unit in units)

    @property
    def taken(self) -> list[tuple[str, int]]:
        """Views that A alone has, by kind and method."""
        return by_kind_and_method(
            [
                *(o for change in self.changes for o in change.taken),
                *_origins(self.a.entries, self.only_a),
            ]
        )

    @property
    def given(self) -> list[tuple[str, int]]:
        """Views that B alone has, by kind and method."""
        return by_kind_and_method(
            [
                *(o for change in self.changes for o in change.given),
                *_origins(self.b.entries, self.only_b),
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the difference as JSON values, without the hashes of the topics."""
        return {
            "size_matched": {unit: a == b for unit, (a, b) in self.sizes.items()},
            "sizes": {unit: list(pair) for unit, pair in self.sizes.items()},
            "same_topics": self.same,
            "changed_topics": [
                {
                    "topic_id": change.topic_id,
                    "taken": [list(origin) for origin in change.taken],
                    "given": [list(origin) for origin in change.given],
                }
                for change in self.changes
            ],
            "only_a": self.only_a,
            "only_b": self.only_b,
            "views_taken": dict(self.taken),
            "views_given": dict(self.given),
            "a": self.a.to_json(hashes=False),
            "b": self.b.to_json(hashes=False),
        }


def compare_ledgers(a: Ledger, b: Ledger) -> Difference:
    """Returns what two sets have in common, and what not: topics are matched by id, the rest by query."""
    same, changes, only_a = 0, list[Change](), list[str]()
    by_query = {
        entry.query: topic_id for topic_id, entry in b.entries.items() if topic_id not in a.entries
    }
    met = set()
    for topic_id, entry in a.entries.items():
        other_id = topic_id if topic_id in b.entries else by_query.pop(entry.query, None)
        if other_id is None:
            only_a.append(topic_id)
            continue
        met.add(other_id)
        other = b.entries[other_id]
        if entry.digest == other.digest:
            same += 1
        else:
            changes.append(_change(topic_id, entry, other))
    return Difference(a, b, same, changes, only_a, [t for t in b.entries if t not in met])


def _change(topic_id: str, a: Entry, b: Entry) -> Change:
    taken = tuple(origin for view, origin in a.views.items() if view not in b.views)
    given = tuple(origin for view, origin in b.views.items() if view not in a.views)
    return Change(topic_id, taken, given)


def _origins(entries: Mapping[str, Entry], topic_ids: Iterable[str]) -> list[Origin]:
    return [origin for topic_id in topic_ids for origin in entries[topic_id].views.values()]
