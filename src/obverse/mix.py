"""Sets of an exact size from several sources, and the ledger that says what is in a set."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.identity import text_uid
from obverse.records import Topic
from obverse.sampling import seed_for


def mix(
    sources: Mapping[str, Sequence[Topic]],
    *,
    size: int | None = None,
    shares: Mapping[str, float] | None = None,
    seed: int = 0,
) -> list[Topic]:
    """Returns topics drawn from the sources, in an order that depends on the seed and the topics alone.

    A topic's draw depends on (seed, source, topic_id): a larger set of the same seed holds the smaller one.

    Args:
        sources: Topics by the name of their source.
        size: How many topics in all; by default every topic of every source.
        shares: The weight of each source in ``size``; by default in proportion to what the sources hold. Counts are
            exact, by largest remainder.
        seed: Chooses the topics.

    Raises:
        SettingError: If a source cannot give its share, or shares name other sources.
        InputError: If two sources hold the same topic_id.
    """
    _refuse_shared_ids(sources)
    counts = {name: len(topics) for name, topics in sources.items()}
    if size is not None:
        weights = shares or {name: float(count) for name, count in counts.items()}
        if set(weights) != set(sources):
            raise SettingError(
                f"shares are given for {len(weights)} sources and there are {len(sources)}",
                fix="Give one share for each source",
            )
        counts = largest_remainder(size, weights)
    elif shares:
        raise SettingError("shares need a size", fix="Add --size")
    chosen: list[Topic] = []
    for name, topics in sources.items():
        if counts[name] > len(topics):
            raise SettingError(
                f"should give {counts[name]:,} topics and holds {len(topics):,}",
                where=name,
                fix="Lower --size or the source's share",
            )
        order = sorted(topics, key=lambda topic: seed_for(seed, name, topic.topic_id))
        chosen += order[: counts[name]]
    return sorted(chosen, key=lambda topic: seed_for(seed, "order", topic.topic_id))


def largest_remainder(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Returns whole numbers in proportion to the weights that add up to ``total`` exactly.

    After Hamilton's method of apportionment: the floor of each exact share, then one more to the largest remainders;
    equal remainders go to the earlier name.

    Raises:
        SettingError: If a weight is negative or all are zero.
    """
    if min(weights.values(), default=0.0) < 0 or not sum(weights.values()):
        raise SettingError("weights should be 0 or more, one of them above 0")
    exact = {name: total * weight / sum(weights.values()) for name, weight in weights.items()}
    counts = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(
        exact, key=lambda name: (counts[name] - exact[name], list(exact).index(name))
    )
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is in a set: enough to prove two sets size-matched.

    Attributes:
        topics: Information needs.
        views: Views by method of origin; ``plain`` for those without instruction.
        queries: Distinct queries, compared by content.
        docs: Distinct documents, compared by content.
        labels: Judgements by label.
        digest: Equal for equal sets, whatever their order.
    """

    topics: int
    views: Mapping[str, int]
    queries: int
    docs: int
    labels: Mapping[str, int]
    digest: str

    def to_json(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in self.__slots__}


def ledger(topics: Iterable[Topic]) -> Ledger:
    """Returns the ledger of a set of topics."""
    views: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    queries: set[int] = set()
    docs: set[int] = set()
    digests: list[str] = []
    for topic in topics:
        queries.add(text_uid(topic.query))
        docs |= {text_uid(f"{doc.title} {doc.text}") for doc in topic.docs}
        for view in topic.views:
            views["plain" if view.is_plain else str(view.origin.get("method", "unknown"))] += 1
            labels.update(str(label) for label in view.labels.values())
        content = repr(
            (
                topic.topic_id,
                topic.query,
                [(v.instruction, sorted(v.labels.items())) for v in topic.views],
            )
        )
        digests.append(hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest())
    whole = hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()
    return Ledger(len(digests), dict(views), len(queries), len(docs), dict(labels), whole)


def _refuse_shared_ids(sources: Mapping[str, Sequence[Topic]]) -> None:
    home: dict[str, str] = {}
    for name, topics in sources.items():
        for topic in topics:
            if home.setdefault(topic.topic_id, name) != name:
                raise InputError(
                    f"topic_id {topic.topic_id!r} stands in {home[topic.topic_id]} too",
                    where=name,
                    fix="Give every topic an id of its own",
                )
