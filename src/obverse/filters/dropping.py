"""How a filter takes views away from a topic."""

from __future__ import annotations

from collections.abc import Iterable

from obverse.records import Topic, View
from obverse.stages import Drops

NOTHING_LEFT = "no view left"


def keep_views(topic: Topic, kept: Iterable[View], drops: Drops) -> Topic | None:
    """Returns the topic with the views that are kept, or None where there is none.

    A topic without views cannot be written or trained on; it is noted as dropped. Its dropped views the filter notes
    itself.
    """
    views = tuple(kept)
    if not views:
        drops.add(topic.topic_id, NOTHING_LEFT)
        return None
    return topic if views == topic.views else topic.with_views(views)
