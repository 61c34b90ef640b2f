"""Topics into parts without leaks: by topic, by the documents that connect them, or by time.

Whatever the rule, topics with the same query (:mod:`obverse.identity`) stay together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from obverse.errors import InputError, SettingError
from obverse.files import read_json
from obverse.identity import text_uid
from obverse.records import Label, Topic
from obverse.sampling import seed_for

RULES = ("topic", "documents", "time")


@dataclass(slots=True)
class Split:
    """Topics by part, and what the parts still share.

    Attributes:
        parts: The topics of each part, in their first order.
        shared_documents: Positive documents (by content) that stand in more than one part.
        largest_group: Topics in the largest group that had to stay together.
    """

    parts: dict[str, list[Topic]]
    shared_documents: int = 0
    largest_group: int = 0
    notes: list[str] = field(default_factory=list)


def split(
    topics: Sequence[Topic],
    shares: Mapping[str, float],
    *,
    by: str = "topic",
    seed: int = 0,
) -> Split:
    """Returns the topics in parts of the given shares.

    The order of the topics does not matter, only their content and the seed.

    Args:
        shares: The share of each part, such as ``{"train": 0.8, "dev": 0.1, "test": 0.1}``.
        by: ``topic``: only equal queries stay together. ``documents``: topics that share a positive or an
            instruction negative, directly or over others, stay together. ``time``: the parts follow each other in
            time, by the ``time`` in a view's origin that the click reader stores.
        seed: Decides which groups go where; without meaning for ``time``.

    Raises:
        SettingError: If a share or the rule makes no sense.
        InputError: If the split is by time and a topic has none.
    """
    if by not in RULES:
        raise SettingError(f"cannot split by {by!r}", fix=f"Use {', '.join(RULES)}")
    if not shares or any(not 0 < share <= 1 for share in shares.values()):
        raise SettingError("shares must lie above 0", fix="Write train=0.8,dev=0.1,test=0.1")
    if abs(sum(shares.values()) - 1) > 1e-6:
        raise SettingError(
            f"the shares add up to {sum(shares.values()):g}, not 1", fix="Write train=0.9,test=0.1"
        )
    groups = _groups(topics, _document_keys if by == "documents" else _query_key)
    place_all = _by_time if by == "time" else _by_chance
    place = place_all(topics, groups, shares, seed)
    parts: dict[str, list[Topic]] = {name: [] for name in shares}
    for number, topic in enumerate(topics):
        parts[place[number]].append(topic)
    made = Split(parts, _shared(parts), max(map(len, groups), default=0))
    times = {topic_time(topic) for topic in topics}
    _add_notes(made, shares, len(topics), by, len(times if by == "time" else groups))
    return made


def _query_key(topic: Topic) -> set[int]:
    return {text_uid(topic.query)}


def _document_keys(topic: Topic) -> set[int]:
    """The query, and the content of what is positive or an instruction negative in some view."""
    telling = {
        doc_id
        for view in topic.views
        for doc_id in view.ids(Label.POSITIVE, Label.INSTRUCTION_NEGATIVE)
    }
    texts = {doc.doc_id: f"{doc.title} {doc.text}" if doc.title else doc.text for doc in topic.docs}
    # A topics benchmark has no texts: then the ids of its corpus tell.
    keys = {text_uid(texts.get(doc_id, f"\0{doc_id}")) for doc_id in telling}
    return keys | _query_key(topic)


def _groups(topics: Sequence[Topic], keys: Callable[[Topic], set[int]]) -> list[list[int]]:
    """Returns the numbers of topics that share a key, directly or over others."""
    parent = list(range(len(topics)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    first: dict[int, int] = {}
    for number, topic in enumerate(topics):
        for key in keys(topic):
            a, b = root(first.setdefault(key, number)), root(number)
            parent[max(a, b)] = min(a, b)
    groups: dict[int, list[int]] = {}
    for number in range(len(topics)):
        groups.setdefault(root(number), []).append(number)
    return list(groups.values())


def _by_chance(
    topics: Sequence[Topic], groups: list[list[int]], shares: Mapping[str, float], seed: int
) -> dict[int, str]:
    """Large groups go first, so that small ones can even out the sizes; within a size, chance decides."""

    def order(group: list[int]) -> tuple[int, int]:
        name = min(topics[number].topic_id for number in group)
        return -len(group), seed_for(seed, "split", name)

    room = {name: share * len(topics) for name, share in shares.items()}
    place: dict[int, str] = {}
    singles = [group for group in groups if len(group) == 1]
    for group in sorted((group for group in groups if len(group) > 1), key=order):
        name = max(room, key=lambda part: room[part])
        room[name] -= len(group)
        place |= dict.fromkeys(group, name)
    names = iter(_filled(room, len(singles)))
    for (number,) in sorted(singles, key=order):
        place[number] = next(names)
    return place


def _filled(room: Mapping[str, float], count: int) -> list[str]:
    """Returns part names for ``count`` topics, as many of each as it has room."""
    names: list[str] = []
    left = dict(room)
    for name in room:
        take = min(count - len(names), max(0, round(left[name])))
        names += [name] * take
    fullest = max(room, key=lambda part: room[part])
    return names + [fullest] * (count - len(names))


def _by_time(
    topics: Sequence[Topic], groups: list[list[int]], shares: Mapping[str, float], seed: int
) -> dict[int, str]:
    times = [topic_time(topic) for topic in topics]
    missing = next((topics[n].topic_id for n, time in enumerate(times) if time is None), None)
    if missing is not None:
        raise InputError(
            f"topic {missing!r} has no time",
            fix="Read the log with a column timestamp (--map timestamp=...), or split by topic",
        )
    latest = sorted(groups, key=lambda group: max(times[number] or 0.0 for number in group))
    place: dict[int, str] = {}
    names = list(shares)
    filled, part = 0, 0
    bounds = [sum(list(shares.values())[: at + 1]) * len(topics) for at in range(len(names))]
    previous: float | None = None
    for group in latest:
        time = max(times[number] or 0.0 for number in group)
        while part < len(names) - 1 and filled >= round(bounds[part]) and time != previous:
            part += 1
        place |= dict.fromkeys(group, names[part])
        filled += len(group)
        previous = time
    return place


def topic_time(topic: Topic) -> float | None:
    """Returns when a topic was last seen, in seconds since 1970, or None."""
    times = [view.origin.get("time") for view in topic.views]
    known = [float(time) for time in times if isinstance(time, (int, float))]
    return max(known, default=None)


def _shared(parts: Mapping[str, Sequence[Topic]]) -> int:
    where: dict[int, set[str]] = {}
    for name, topics in parts.items():
        for topic in topics:
            positive = {doc_id for view in topic.views for doc_id in view.positives}
            for doc in topic.docs:
                if doc.doc_id in positive:
                    text = f"{doc.title} {doc.text}" if doc.title else doc.text
                    where.setdefault(text_uid(text), set()).add(name)
    return sum(len(names) > 1 for names in where.values())


def _add_notes(made: Split, shares: Mapping[str, float], count: int, by: str, apart: int) -> None:
    """``apart``: how many pieces of the topics could have gone to different parts."""
    sizes = ", ".join(f"{name} {len(topics):,}" for name, topics in made.parts.items())
    made.notes.append(f"split by {by}: {sizes}")
    empty = [name for name, topics in made.parts.items() if not topics]
    if empty:
        pieces = "times" if by == "time" else "groups that stay together"
        made.notes.append(
            f"no topic is left for {', '.join(empty)}: {count:,} topics, {pieces}: {apart:,}"
        )
    if made.shared_documents:
        made.notes.append(
            f"{made.shared_documents:,} positive documents stand in more than one part; "
            "--by documents keeps them apart"
        )
    if made.largest_group > 1 and made.largest_group > 1.1 * max(shares.values()) * count:
        made.notes.append(
            f"{made.largest_group:,} of {count:,} topics hang together and had to stay in one part"
        )


def earlier_parts(folder: str | os.PathLike[str], names: Iterable[str]) -> list[str]:
    """Returns the files of a folder that a split wrote under other names than these."""
    found = []
    for made in sorted(Path(folder).glob("*.made.json")):
        part = made.with_name(made.name.removesuffix(".made.json"))
        if part.stem in set(names) or not part.is_file():
            continue
        row = read_json(made)
        if isinstance(row, dict) and row.get("command") == "split":
            found.append(part.name)
    return found


def shares_from(text: str) -> dict[str, float]:
    """Returns ``{"train": 0.9, "test": 0.1}`` for ``train=0.9,test=0.1``.

    Raises:
        SettingError: If a part is no ``name=share``.
    """
    shares: dict[str, float] = {}
    for piece in text.split(","):
        name, _, share = (side.strip() for side in piece.partition("="))
        if name in shares or not name.strip(".") or set(name) & {"/", "\\"}:
            raise SettingError(
                f"--parts {text!r}: {name!r} cannot name a part"
                if name not in shares
                else f"--parts {text!r}: the part {name!r} stands twice",
                fix="Write train=0.9,test=0.1; each part becomes a file of its name",
            )
        try:
            shares[name] = float(share)
        except ValueError:
            raise SettingError(
                f"--parts {text!r}: {piece!r} is no name=share", fix="Write train=0.9,test=0.1"
            ) from None
    return shares
