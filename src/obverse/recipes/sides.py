"""The sides of a topic, told by labels alone: which view keeps the plain positive, and which one rules it out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from obverse.records import Label, Topic, View
from obverse.sampling import seed_for


def kept(topic: Topic) -> View | None:
    """Returns the first instructed view under which the plain positive stays right: an original instruction."""
    return next((v for v in topic.instructed_views if set(v.positives) & _plain(topic)), None)


def turned(topic: Topic) -> View | None:
    """Returns the first instructed view that rules the plain positive out: a promoted or reversed one."""
    return next(
        (
            view
            for view in topic.instructed_views
            if not set(view.positives) & _plain(topic)
            and any(view.labels.get(d) == Label.INSTRUCTION_NEGATIVE for d in _plain(topic))
        ),
        None,
    )


def plain(topic: Topic) -> View | None:
    """Returns the view without instruction."""
    return topic.plain_view


def _plain(topic: Topic) -> set[str]:
    view = topic.plain_view
    return set(view.positives) if view is not None else set()


Side = Callable[[Topic], View | None]


def with_sides(topics: Iterable[Topic], *sides: Side) -> list[Topic]:
    """Returns the topics with the named views alone, in the sides' order; topics that lack one are left out."""
    made = []
    for topic in topics:
        views = [side(topic) for side in sides]
        if all(view is not None for view in views):
            made.append(topic.with_views([view for view in views if view is not None]))
    return made


def drawn(topics: Sequence[Topic], size: int, seed: int, *keys: object) -> list[Topic]:
    """Returns ``size`` topics, drawn by seed and topic alone, in their order; a larger draw holds a smaller."""
    order = sorted(topics, key=lambda topic: seed_for(seed, *keys, topic.topic_id))
    chosen = {topic.topic_id for topic in order[:size]}
    return [topic for topic in topics if topic.topic_id in chosen]


def relabelled(view: View, change: Callable[[str, Label], Label]) -> View:
    """Returns the view with every label changed by a function of document and label."""
    return replace(view, labels={d: change(d, label) for d, label in view.labels.items()})
