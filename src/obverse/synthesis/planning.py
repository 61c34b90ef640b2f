"""What a run will ask and cost, before it is paid for: from the journal of a pilot, extrapolated with an interval."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any

from obverse.files import read_topics
from obverse.llm.journal import Journal
from obverse.llm.lanes import Lane
from obverse.llm.money import Price, price_of, read_prices
from obverse.llm.reply import Usage, reply_from_row
from obverse.stages import Drops
from obverse.synthesis.engine import synthesize

_WIDE = 1.96


@dataclass(slots=True)
class StagePlan:
    """What is known of one stage from the pilot.

    Attributes:
        calls: Calls by topic; a topic of the pilot that did not get here has none.
        prompt_tokens, completion_tokens: By topic.
        costs: By topic; empty without a price.
        seconds: Of each reply.
        without_usage: Replies whose tokens the server did not say.
    """

    calls: Counter[str] = field(default_factory=Counter)
    prompt_tokens: Counter[str] = field(default_factory=Counter)
    completion_tokens: Counter[str] = field(default_factory=Counter)
    costs: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    seconds: list[float] = field(default_factory=list)
    without_usage: int = 0

    def add(self, topic_id: str, usage: Usage, cost: float | None, seconds: float | None) -> None:
        """Adds one reply of the pilot."""
        self.calls[topic_id] += 1
        if usage.prompt is None or usage.completion is None:
            self.without_usage += 1
        else:
            self.prompt_tokens[topic_id] += usage.prompt
            self.completion_tokens[topic_id] += usage.completion
            self.costs[topic_id] += cost or 0.0
        if seconds is not None:
            self.seconds.append(seconds)


def plan(
    topic_ids: Sequence[str],
    journal: Journal,
    *,
    method: str,
    price: Price | None = None,
    at_once: int = 64,
) -> dict[str, Any]:
    """Returns what remains to be asked for these topics.

    Args:
        topic_ids: All topics of the run.
        journal: Of the run; the topics that it has replies for are the pilot and cost nothing more.
        method: The method's name.
        price: Of the model; without it no cost is said.
        at_once: Requests at once, for the hours.

    Returns:
        By stage and in all: topics, replies that stand in the journal, calls to come, tokens, cost and hours. What is
        extrapolated is ``[low, high]``, a 95 % interval over the pilot's topics, or None where there was no pilot.
    """
    wanted = set(topic_ids)
    stages = _stages(journal.records(), method, wanted, price)
    pilot = sorted({topic for stage in stages.values() for topic in stage.calls})
    to_come = len(wanted) - len(pilot)
    rows = {name: _row(stage, pilot, to_come, price, at_once) for name, stage in stages.items()}
    return {
        "method": method,
        "topics": len(wanted),
        "pilot_topics": len(pilot),
        "topics_to_come": to_come,
        "stages": rows,
        "calls": _sum(rows, "calls"),
        "cost": _sum(rows, "cost"),
        "currency": price.currency if price is not None else None,
        "hours": _sum(rows, "hours"),
        "at_once": at_once,
    }


def _stages(
    records: Iterable[Mapping[str, Any]], method: str, wanted: set[str], price: Price | None
) -> dict[str, StagePlan]:
    stages: dict[str, StagePlan] = {}
    seen: set[str] = set()
    for record in records:
        tags = record.get("tags", {})
        if record["kind"] != "done" or tags.get("method") != method:
            continue
        if tags["topic_id"] not in wanted or record["key"] in seen:
            continue
        seen.add(record["key"])
        reply = reply_from_row(record["reply"])
        cost = price.of(reply.usage, reply.lane) if price is not None else None
        stage = stages.setdefault(tags["stage"], StagePlan())
        stage.add(tags["topic_id"], reply.usage, cost, reply.seconds)
    return stages


def _row(
    stage: StagePlan, pilot: Sequence[str], to_come: int, price: Price | None, at_once: int
) -> dict[str, Any]:
    calls = _range([stage.calls[topic] for topic in pilot], to_come)
    known = not stage.without_usage
    each = fmean(stage.seconds) if stage.seconds else None
    return {
        "in_journal": stage.calls.total(),
        "calls": calls,
        "prompt_tokens": _range([stage.prompt_tokens[t] for t in pilot], to_come)
        if known
        else None,
        "completion_tokens": (
            _range([stage.completion_tokens[t] for t in pilot], to_come) if known else None
        ),
        "cost": (
            _range([stage.costs[t] for t in pilot], to_come)
            if known and price is not None
            else None
        ),
        "seconds_per_reply": None if each is None else round(each, 3),
        "hours": (
            None
            if each is None or calls is None
            else [number * each / at_once / 3_600 for number in calls]
        ),
    }


def _range(values: Sequence[float], to_come: int) -> list[float] | None:
    """Returns the 95 % interval of the sum over the topics to come; None with fewer than two topics to go by."""
    if to_come == 0:
        return [0.0, 0.0]
    if len(values) < 2:
        return None
    error = _WIDE * stdev(values) * math.sqrt(to_come**2 / len(values) + to_come)
    middle = fmean(values) * to_come
    return [max(0.0, middle - error), middle + error]


def _sum(rows: Mapping[str, Mapping[str, Any]], what: str) -> list[float] | None:
    """Adds intervals up; unknown where one is unknown or there is none."""
    found = [row[what] for row in rows.values()]
    if not found or any(one is None for one in found):
        return None
    return [sum(one[0] for one in found), sum(one[1] for one in found)]


def plan_file(
    source: str | os.PathLike[str],
    run_dir: str | os.PathLike[str],
    *,
    method: str,
    llm: Lane | None = None,
    pilot: int = 0,
    model: str | None = None,
    prices: str | os.PathLike[str] | None = None,
    at_once: int = 64,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns the plan for a topics file, after a pilot where one is asked for; see :func:`plan`.

    Args:
        source: The topics.
        run_dir: The run's folder; the pilot's replies are the first ones of the run.
        method: The method's name.
        llm: Answers the pilot.
        pilot: How many topics it takes, spread evenly over the file.
        model: Whose price is meant.
        prices: A TOML file with prices by model.
        at_once: Requests at once, for the hours.
        seed: As for the run.
        options: As for the run.
    """
    price = price_of(read_prices(prices), model or "") if prices is not None else None
    topic_ids = [topic.topic_id for topic in read_topics(source)]
    if llm is not None and pilot:
        step = max(1, len(topic_ids) // pilot)
        chosen = set(topic_ids[::step][:pilot])
        some = (topic for topic in read_topics(source) if topic.topic_id in chosen)
        for _ in synthesize(
            some, Drops(), method=method, llm=llm, run_dir=run_dir, seed=seed, options=options
        ):
            pass
    with Journal(run_dir) as journal:
        return plan(topic_ids, journal, method=method, price=price, at_once=at_once)


def plan_table(row: Mapping[str, Any]) -> str:
    """Returns a plan for people."""
    currency = row["currency"] or ""
    lines = [
        f"{row['topics']:,} topics; the journal has replies for {row['pilot_topics']:,} of them",
        f"{'stage':<16}{'in journal':>12}{'calls':>20}{'tokens in':>24}{'tokens out':>24}{'cost ' + currency:>22}",
    ]
    for name, stage in row["stages"].items():
        cells = [_span(stage[key]) for key in ("calls", "prompt_tokens", "completion_tokens")]
        lines.append(
            f"{name:<16}{stage['in_journal']:>12,}{cells[0]:>20}{cells[1]:>24}{cells[2]:>24}"
            f"{_span(stage['cost'], 2):>22}"
        )
    lines.append(f"calls to come: {_span(row['calls'])}")
    lines.append(f"cost to come: {_span(row['cost'], 2)} {currency}".rstrip())
    lines.append(f"hours at {row['at_once']} requests at once: {_span(row['hours'], 2)}")
    if not row["stages"]:
        lines.append("nothing to go by yet: ask some topics first with --pilot 50")
    return "\n".join(lines)


def _span(values: Sequence[float] | None, digits: int = 0) -> str:
    if values is None:
        return "unknown"
    low, high = (f"{value:,.{digits}f}" for value in values)
    return low if low == high else f"{low} to {high}"
