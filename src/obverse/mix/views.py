"""The views of a topic by kind, and sets that keep some kinds alone: one-sided and two-sided ones of equal size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from obverse.errors import SettingError
from obverse.records import Topic, View
from obverse.sampling import rng_for
from obverse.stages import Drops

KINDS = ("plain", "original", "reversed")
_INSTRUCTED = KINDS[1:]
_OF_SIDE = {"keep": "original", "promote": "reversed", "reversed": "reversed"}


def kind_of(topic: Topic, view: View) -> str:
    """Returns ``plain``, ``original`` or ``reversed``.

    An instructed view is original where a positive of the plain view stays one, and reversed where none does. In a
    topic without a plain view, what the view's origin says of its side counts, or else its first instructed view is
    the original.
    """
    if view.is_plain:
        return "plain"
    noted = view.origin.get("kind")
    if noted in _INSTRUCTED:
        return str(noted)
    plain = topic.plain_view
    side = view.origin.get("side")
    if plain is None and side in _OF_SIDE:
        return _OF_SIDE[side]
    seed = plain or topic.instructed_views[0]
    return "original" if set(seed.positives) & set(view.positives) else "reversed"


def cut_views(
    topics: Iterable[Topic],
    kinds: Sequence[str] = KINDS,
    *,
    each: int | None = None,
    per_topic: int | None = None,
    whole: bool = True,
    seed: int = 0,
    drops: Drops | None = None,
) -> Iterator[Topic]:
    """Yields the topics with their views of some kinds alone.

    ``cut_views(topics, ["original"])`` is a one-sided set, ``["original", "reversed"]`` a two-sided one,
    ``["plain", "original"]`` one with plain rows; all three are over the same queries if they are cut from topics that
    have all kinds. ``per_topic=1`` with both instructed kinds keeps one side of each query, now this, now that one.

    Args:
        topics: The topics.
        kinds: What is kept, of :data:`KINDS`; ``instructed`` is original or reversed.
        each: Views of each kind at most, the first ones.
        per_topic: Exactly so many views of each topic, drawn by seed and topic_id among those kept.
        whole: Whether a topic that lacks one of the kinds is left out; else only one that lacks all.
        seed: Of the draw.
        drops: Notes the topics that are left out.

    Raises:
        SettingError: If there is no such kind, or a number is below 1.
    """
    _check(kinds, each, per_topic)
    return _cut(topics, kinds, each, per_topic, whole, seed, Drops() if drops is None else drops)


def _cut(
    topics: Iterable[Topic],
    kinds: Sequence[str],
    each: int | None,
    per_topic: int | None,
    whole: bool,
    seed: int,
    drops: Drops,
) -> Iterator[Topic]:
    for topic in topics:
        kept = _of_kinds(topic, kinds, each)
        found = {kind for kind, _ in kept}
        lacking = [kind for kind in kinds if not found & _meant(kind)]
        if not kept or (whole and lacking):
            drops.add(topic.topic_id, f"has no {lacking[0]} view")
        elif per_topic is not None and len(kept) < per_topic:
            drops.add(topic.topic_id, f"has fewer than {per_topic} views of the kinds kept")
        else:
            if per_topic is not None:
                rng = rng_for(seed, "cut views", topic.topic_id)
                places = sorted(rng.sample(range(len(kept)), per_topic))
                kept = [kept[place] for place in places]
            yield topic.with_views(view for _, view in kept)


def _of_kinds(topic: Topic, kinds: Sequence[str], each: int | None) -> list[tuple[str, View]]:
    """The views kept, each with its kind, which is noted in its origin: without the plain view it would be lost."""
    meant = set().union(*map(_meant, kinds))
    count: Counter[str] = Counter()
    kept = []
    for view in topic.views:
        kind = kind_of(topic, view)
        count[kind] += kind in meant
        if kind in meant and (each is None or count[kind] <= each):
            noted = view if view.is_plain else replace(view, origin={**view.origin, "kind": kind})
            kept.append((kind, noted))
    return kept


def _meant(kind: str) -> set[str]:
    return set(_INSTRUCTED) if kind == "instructed" else {kind}


def _check(kinds: Sequence[str], each: int | None, per_topic: int | None) -> None:
    known = (*KINDS, "instructed")
    unknown = [kind for kind in kinds if kind not in known]
    if unknown or not kinds:
        raise SettingError(
            f"there is no kind of views {unknown[0]!r}" if unknown else "no kind of views is named",
            fix=f"Use {', '.join(known)}",
        )
    for name, number in (("each", each), ("per topic", per_topic)):
        if number is not None and number < 1:
            raise SettingError(f"{number} views {name}", fix="Give at least 1")
