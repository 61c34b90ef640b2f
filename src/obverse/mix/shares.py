"""Sets of an exact size from several sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from obverse.errors import InputError, SettingError
from obverse.mix.sizes import Tally, token_counter
from obverse.records import Topic
from obverse.sampling import seed_for
from obverse.stages import Drops

CAPS = ("views", "queries", "documents", "tokens")
NOT_DRAWN = "not drawn into the mix"


def mix(
    sources: Mapping[str, Sequence[Topic]],
    *,
    size: int | None = None,
    unit: str = "topics",
    shares: Mapping[str, float] | None = None,
    caps: Mapping[str, int] | None = None,
    tokens: str = "words",
    seed: int = 0,
    drops: Drops | None = None,
) -> list[Topic]:
    """Returns topics drawn from the sources, in an order that depends on the seed and the topics alone.

    A topic's draw depends on (seed, source, topic_id): a larger set of the same seed, unit ``topics``, holds the
    smaller one. A cap is shared out among the sources as the size is; each source gives the topics of its draw up to
    the first one that would pass a cap.

    Args:
        sources: Topics by the name of their source.
        size: How large the set is; by default every topic of every source, or, with shares and without caps, as much
            as the shares allow.
        unit: What ``size`` counts: ``topics``, or ``views``, the rows of training.
        shares: The weight of each source; by default in proportion to what the sources hold. Counts are exact, by
            largest remainder.
        caps: At most so many ``views``, distinct ``queries``, distinct ``documents`` or ``tokens``.
        tokens: How tokens are counted: ``words``, or an encoder, by its tokenizer.
        seed: Chooses the topics.
        drops: Notes what is left out.

    Raises:
        SettingError: If a source cannot give its share, shares name other sources, or nothing fits.
        InputError: If two sources hold the same topic_id.
    """
    caps, drops = dict(caps or {}), Drops() if drops is None else drops
    _check(sources, size, unit, shares, caps)
    orders = {
        name: sorted(topics, key=lambda topic: seed_for(seed, name, topic.topic_id))
        for name, topics in sources.items()
    }
    drawn = _drawn(orders, size, unit, shares, unlimited=not caps)
    budgets = _shared_out(caps, drawn, shares)
    count = token_counter(tokens) if "tokens" in caps else None
    chosen: list[Topic] = []
    for name, order in orders.items():
        chosen += _within(drawn[name], budgets[name], Tally(count), name, drops)
        given = {topic.topic_id for topic in drawn[name]}
        for topic in order:
            if topic.topic_id not in given:
                drops.add(topic.topic_id, NOT_DRAWN, source=name)
    if not chosen:
        raise SettingError("no topic is left", fix="Raise the size, the shares or the caps")
    return sorted(chosen, key=lambda topic: seed_for(seed, "order", topic.topic_id))


def largest_remainder(total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Returns whole numbers in proportion to the weights that add up to ``total`` exactly.

    After Hamilton's method of apportionment: the floor of each exact share, then one more to the largest remainders;
    equal remainders go to the earlier name.

    Raises:
        SettingError: If a weight is negative or no number, or all are zero.
    """
    whole = sum(weights.values())
    if not (min(weights.values(), default=0.0) >= 0 and 0 < whole < float("inf")):
        raise SettingError("weights should be 0 or more, one of them above 0")
    exact = {name: total * weight / whole for name, weight in weights.items()}
    counts = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(
        exact, key=lambda name: (counts[name] - exact[name], list(exact).index(name))
    )
    for name in by_remainder[: total - sum(counts.values())]:
        counts[name] += 1
    return counts


def _check(
    sources: Mapping[str, Sequence[Topic]],
    size: int | None,
    unit: str,
    shares: Mapping[str, float] | None,
    caps: Mapping[str, int],
) -> None:
    _refuse_shared_ids(sources)
    if unit not in ("topics", "views"):
        raise SettingError(f"a size cannot be in {unit!r}", fix="Use topics or views")
    if size is not None and size < 1:
        raise SettingError(f"the size is {size}", fix="Give at least 1")
    if shares is not None and set(shares) != set(sources):
        raise SettingError(
            f"shares are given for {len(shares)} sources and there are {len(sources)}",
            fix="Give one share for each source",
        )
    for name, most in caps.items():
        if name not in CAPS:
            raise SettingError(f"there is no cap on {name!r}", fix=f"Use {', '.join(CAPS)}")
        if most < 1:
            raise SettingError(f"the cap on {name} is {most}", fix="Give at least 1")


def _drawn(
    orders: Mapping[str, Sequence[Topic]],
    size: int | None,
    unit: str,
    shares: Mapping[str, float] | None,
    *,
    unlimited: bool,
) -> dict[str, Sequence[Topic]]:
    """What each source gives before the caps."""
    held = {name: _held(topics, unit) for name, topics in orders.items()}
    if size is None:
        if not shares or not unlimited:
            return dict(orders)
        wanted = _largest_set(held, shares)
    else:
        wanted = largest_remainder(size, shares or held)
    for name, count in wanted.items():
        if count > held[name]:
            raise SettingError(
                f"should give {count:,} {unit} and holds {held[name]:,}",
                where=name,
                fix="Lower the size or the source's share",
            )
    if unit == "views":
        return {name: _exactly(topics, wanted[name], name) for name, topics in orders.items()}
    return {name: topics[: wanted[name]] for name, topics in orders.items()}


def _held(topics: Sequence[Topic], unit: str) -> int:
    return len(topics) if unit == "topics" else sum(len(topic.views) for topic in topics)


def _largest_set(held: Mapping[str, int], shares: Mapping[str, float]) -> dict[str, int]:
    """The counts of the largest set in which the shares are exact."""
    largest_remainder(0, shares)  # refuses shares that are no weights
    whole = sum(shares.values())
    total = min(int((held[name] + 1) * whole / w) for name, w in shares.items() if w)
    wanted = largest_remainder(total, shares)
    while any(count > held[name] for name, count in wanted.items()):
        total -= 1
        wanted = largest_remainder(total, shares)
    return wanted


def _exactly(topics: Sequence[Topic], views: int, name: str) -> list[Topic]:
    """Topics in their order with so many views together; one that would be too many is passed over."""
    taken, left = [], views
    for topic in topics:
        if len(topic.views) <= left:
            taken.append(topic)
            left -= len(topic.views)
    if left:
        raise SettingError(
            f"its topics do not add up to {views:,} views; {views - left:,} is what they come to",
            where=name,
            fix="Choose another size, or cut the topics to equal numbers of views first",
        )
    return taken


def _shared_out(
    caps: Mapping[str, int],
    drawn: Mapping[str, Sequence[Topic]],
    shares: Mapping[str, float] | None,
) -> dict[str, dict[str, int]]:
    weights = shares or {name: float(len(topics)) for name, topics in drawn.items()}
    parts = {unit: largest_remainder(most, weights) for unit, most in caps.items()}
    return {name: {unit: part[name] for unit, part in parts.items()} for name in drawn}


def _within(
    topics: Sequence[Topic], budget: Mapping[str, int], tally: Tally, name: str, drops: Drops
) -> Sequence[Topic]:
    """The first topics that stay within the caps; the rest is noted."""
    if not budget:
        return topics
    for place, topic in enumerate(topics):
        size = tally.with_topic(topic)
        over = next((unit for unit, room in budget.items() if size[unit] > room), None)
        if over is not None:
            for left in topics[place:]:
                drops.add(left.topic_id, f"over the cap on {over}", source=name)
            return topics[:place]
        tally.add(topic)
    return topics


def _refuse_shared_ids(sources: Mapping[str, Sequence[Topic]]) -> None:
    home: dict[str, str] = {}
    for name, topics in sources.items():
        for topic in topics:
            if home.setdefault(topic.topic_id, name) != name:
                raise InputError(
                    f"topic_id {topic.topic_id!r} stands in {home[topic.topic_id]} too",
                    where=name,
                    fix="Give every topic an id of its own, or put one set in the other's place (--replace) "
                    "or add its views (--append)",
                )
