"""One set's topics in the place of another's at exactly equal size, or added to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from obverse.dedup import merged_topics
from obverse.errors import InputError, SettingError
from obverse.identity import text_uid
from obverse.records import Topic, View
from obverse.sampling import seed_for
from obverse.stages import Drops

GAVE_WAY = "gave way to the other set's topic"
MADE_ROOM = "left to make room for the other set's views"


@dataclass(frozen=True, slots=True)
class Swap:
    """One topic that gave way.

    Attributes:
        old: The base's topic.
        new: What stands in its place.
        by: The topic_id of the other set.
    """

    old: Topic
    new: Topic
    by: str

    @property
    def taken(self) -> tuple[View, ...]:
        """The views that are gone."""
        return _without(self.old, self.new)

    @property
    def given(self) -> tuple[View, ...]:
        """The views that have come."""
        return _without(self.new, self.old)

    @property
    def grows(self) -> int:
        """By how many views the set grows."""
        return len(self.new.views) - len(self.old.views)


@dataclass(frozen=True, slots=True)
class Replaced:
    """A set with topics of another in the place of its own.

    Attributes:
        topics: The set, in the base's order.
        swaps: What gave way to what.
        made_room: Topics that left because others have more views now, or have come.
        came: Topics that stand in no other's place, with ``match="any"``.
        unused: Topics of the other set that have no place in the base.
        kept: Topics that could have given way and did not: by the part, or because equal size forbade it.
    """

    topics: list[Topic]
    swaps: list[Swap]
    made_room: list[Topic]
    came: list[Topic]
    unused: int
    kept: int

    def note(self, drops: Drops) -> None:
        """Notes every view that is gone."""
        for swap in self.swaps:
            for view in swap.taken:
                drops.add(swap.old.topic_id, GAVE_WAY, view=view, by=swap.by)
        for topic in self.made_room:
            for view in topic.views:
                drops.add(topic.topic_id, MADE_ROOM, view=view)


def replace(
    base: Sequence[Topic],
    other: Sequence[Topic],
    *,
    match: str = "topic_id",
    unit: str = "views",
    part: float = 1.0,
    seed: int = 0,
) -> Replaced:
    """Returns the base with topics of the other set in their place, of exactly the same size.

    A base topic gives way to the other set's topic of the same id (or query). Counted in views, a topic that comes
    with more views than the one it replaces is paid for with other topics of the base, which leave: first those
    without a counterpart, then the last ones of the draw. So one-sided rows over n queries become two-sided rows over
    n / 2 queries, and plain rows beside instructed ones become reversed rows of the same queries, one for one. These
    are the strict replacements of Zeng et al. (2026), *Dual-View Training for Instruction-Following Information
    Retrieval*, https://arxiv.org/abs/2604.18845.

    Args:
        base: The set that keeps its size.
        other: Where the topics come from.
        match: ``topic_id``, ``query`` (compared by content; the base's id stays), or ``any``: topics whose ids the base
            lacks come, and as much of the base leaves, whatever the queries.
        unit: What stays equal: ``views``, or ``topics`` whatever their views.
        part: The part of the possible swaps that is made; a larger part holds the smaller one.
        seed: Draws which topics give way and which make room.

    Raises:
        SettingError: If a setting is unknown, or nothing can be replaced at equal size.
        InputError: If a query or topic_id stands twice, or one id has two queries.
    """
    if match not in ("topic_id", "query", "any"):
        raise SettingError(f"cannot match by {match!r}", fix="Use topic_id, query or any")
    if unit not in ("views", "topics"):
        raise SettingError(f"the size cannot stay equal in {unit!r}", fix="Use views or topics")
    if not 0 < part <= 1:
        raise SettingError(f"the part is {part:g}", fix="Give a number above 0 and at most 1")
    if match == "any":
        return _exchange(base, other, unit, part, seed)
    pairs, unused = _pairs(base, other, match)
    possible = [Swap(old, new, by) for old, new, by in pairs if not _same(old, new)]
    possible.sort(key=lambda swap: seed_for(seed, "replace", swap.old.topic_id))
    if not possible:
        raise SettingError(
            f"no topic of the base can give way: none has a counterpart that differs, by {match}",
            fix="Name sets over the same queries, or match by query or any",
        )
    if unit == "topics":
        swaps, leaving = possible[: _count(len(possible), part)], list[Topic]()
    else:
        swaps, leaving = _even(base, possible, part, seed)
    if not swaps:
        raise SettingError(
            "no topic can give way at an equal number of views",
            fix="Cut the sets to fitting numbers of views, or keep --unit topics equal",
        )
    new = {swap.old.topic_id: swap.new for swap in swaps}
    gone = {topic.topic_id for topic in leaving}
    topics = [new.get(t.topic_id, t) for t in base if t.topic_id not in gone]
    return Replaced(topics, swaps, leaving, [], unused, len(possible) - len(swaps))


def append(
    base: Sequence[Topic], other: Iterable[Topic], *, match: str = "topic_id"
) -> list[Topic]:
    """Returns the base with the other set added: new views to topics that it has, other topics at the end.

    Views of equal instructions become one; where their labels differ, the stronger stays, as in ``dedup``.

    Raises:
        SettingError: If there is no such way to match.
        InputError: If a query or topic_id stands twice, or one id has two queries.
    """
    if match not in ("topic_id", "query"):
        raise SettingError(f"cannot match by {match!r}", fix="Use topic_id or query")
    grown = {topic.topic_id: topic for topic in base}
    place = _places(base, match, "the base")
    for key, topic in _places(list(other), match, "the other set").items():
        if key in place:
            known = grown[place[key].topic_id]
            _refuse_other_query(known, topic)
            grown[known.topic_id] = merged_topics(known, topic)
        elif topic.topic_id in grown:
            raise InputError(
                "the id stands for another query in the base",
                where=f"topic {topic.topic_id}",
                fix="Give every topic an id of its own",
            )
        else:
            grown[topic.topic_id] = topic
    return list(grown.values())


def _even(
    base: Sequence[Topic], possible: Sequence[Swap], part: float, seed: int
) -> tuple[list[Swap], list[Topic]]:
    """The swaps at an equal number of views, and the topics that leave for them."""
    even = [swap for swap in possible if swap.grows == 0]
    growing = [swap for swap in possible if swap.grows > 0]
    shrinking = [swap for swap in possible if swap.grows < 0]
    swapped = {swap.old.topic_id for swap in possible}
    idle = [topic for topic in base if topic.topic_id not in swapped]
    idle.sort(key=lambda topic: seed_for(seed, "room", topic.topic_id))
    balanced = [(0, 0, 0)]  # growing, shrinking, leaving topics at each point of equal size
    owed, paid_by_swap, left = 0, 0, 0
    leavers = [*idle, *(swap.old for swap in reversed(growing))]
    for taken, swap in enumerate(growing, start=1):
        if taken + left > len(leavers):
            break
        owed += swap.grows
        while owed > 0 and paid_by_swap < len(shrinking):
            owed += shrinking[paid_by_swap].grows
            paid_by_swap += 1
        while owed > 0 and (left < len(idle) or taken + left < len(leavers)):
            owed -= len(leavers[left].views)
            left += 1
        if owed == 0:
            balanced.append((taken, paid_by_swap, left))
    most = _count(balanced[-1][0], part)
    taken, paid_by_swap, left = [point for point in balanced if point[0] <= most][-1]
    swaps = [*even[: _count(len(even), part)], *growing[:taken], *shrinking[:paid_by_swap]]
    return swaps, leavers[:left]


def _count(whole: int, part: float) -> int:
    return max(min(whole, 1), round(whole * part))


def _exchange(
    base: Sequence[Topic], other: Sequence[Topic], unit: str, part: float, seed: int
) -> Replaced:
    """As many topics, or views, of the other set come as leave the base."""
    place = _places(base, "topic_id", "the base")
    new = [t for key, t in _places(other, "topic_id", "the other set").items() if key not in place]
    new.sort(key=lambda topic: seed_for(seed, "coming", topic.topic_id))
    old = sorted(base, key=lambda topic: seed_for(seed, "leaving", topic.topic_id))
    points = _equal_points([_size(t, unit) for t in old], [_size(t, unit) for t in new])
    if len(points) == 1:
        raise SettingError(
            f"no topics of the other set come to as many {unit} as topics of the base",
            fix="Name another set, or cut the sets to fitting numbers of views",
        )
    most = _count(points[-1][1], part)
    left, came = next(point for point in reversed(points) if point[1] <= most or point == points[1])
    gone = {topic.topic_id for topic in old[:left]}
    kept = [topic for topic in base if topic.topic_id not in gone]
    unused = len(other) - came
    return Replaced([*kept, *new[:came]], [], old[:left], new[:came], unused, len(kept))


def _equal_points(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """How many of the first of each come to equal sums."""
    points, sums = [(0, 0)], [0, 0]
    left = came = 0
    while True:
        if sums[1] > sums[0]:
            if left == len(old):
                return points
            sums[0] += old[left]
            left += 1
        elif came == len(new):
            return points
        else:
            sums[1] += new[came]
            came += 1
        if sums[0] == sums[1]:
            points.append((left, came))


def _size(topic: Topic, unit: str) -> int:
    return 1 if unit == "topics" else len(topic.views)


def _pairs(
    base: Sequence[Topic], other: Sequence[Topic], by: str
) -> tuple[list[tuple[Topic, Topic, str]], int]:
    """``(base topic, what would stand in its place, the other's topic_id)``, and how many have no place."""
    place, coming = _places(base, by, "the base"), _places(other, by, "the other set")
    pairs = []
    for key, old in place.items():
        if (new := coming.get(key)) is None:
            continue
        _refuse_other_query(old, new)
        pairs.append((old, dataclasses.replace(new, topic_id=old.topic_id), new.topic_id))
    return pairs, len(coming.keys() - place.keys())


def _places(topics: Sequence[Topic], by: str, what: str) -> dict[str | int, Topic]:
    found: dict[str | int, Topic] = {}
    for topic in topics:
        key = topic.topic_id if by == "topic_id" else text_uid(topic.query)
        if key in found:
            raise InputError(
                f"has the {by} of topic {found[key].topic_id} in {what}",
                where=f"topic {topic.topic_id}",
                fix="Run obverse dedup first",
            )
        found[key] = topic
    return found


def _refuse_other_query(a: Topic, b: Topic) -> None:
    if text_uid(a.query) != text_uid(b.query):
        raise InputError(
            f"has another query in the other set: {b.query[:60]!r}",
            where=f"topic {a.topic_id}",
            fix="Match by query",
        )


def _row(view: View) -> tuple[str, tuple[tuple[str, str], ...]]:
    return view.instruction, tuple(sorted((d, str(label)) for d, label in view.labels.items()))


def _without(topic: Topic, other: Topic) -> tuple[View, ...]:
    there = set(map(_row, other.views))
    return tuple(view for view in topic.views if _row(view) not in there)


def _same(a: Topic, b: Topic) -> bool:
    return a.docs == b.docs and sorted(map(_row, a.views)) == sorted(map(_row, b.views))
