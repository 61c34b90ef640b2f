"""Costs: what every stage asked, what that cost, and what of it came to nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from obverse.llm.money import Price
from obverse.llm.reply import Usage, reply_from_row

_TOKENS = ("prompt", "cached", "completion", "reasoning")


@dataclass(slots=True)
class StageCosts:
    """Sums over the replies of one stage.

    Attributes:
        replies: Replies that were read.
        rejected: Those that were unusable.
        without_usage: Those whose tokens the server did not say; they are in no sum.
        tokens: Sums of prompt, cached, completion and reasoning tokens.
        wasted_tokens: Prompt and completion tokens of the rejected ones.
        cost: In the price's currency.
        seconds: Sum of the replies' times.
    """

    replies: int = 0
    rejected: int = 0
    without_usage: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    wasted_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    def add(
        self, usage: Usage, cost: float | None, *, rejected: bool, seconds: float | None
    ) -> None:
        """Adds one reply."""
        self.replies += 1
        self.rejected += rejected
        self.seconds += seconds or 0.0
        if usage.prompt is None or usage.completion is None:
            self.without_usage += 1
            return
        for kind in _TOKENS:
            self.tokens[kind] += getattr(usage, kind) or 0
        if rejected:
            self.wasted_tokens += usage.prompt + usage.completion
        self.cost += cost or 0.0

    def row(self, priced: bool) -> dict[str, Any]:
        return {
            "replies": self.replies,
            "rejected": self.rejected,
            "without_usage": self.without_usage,
            **{f"{kind}_tokens": self.tokens[kind] for kind in _TOKENS},
            "wasted_tokens": self.wasted_tokens,
            "cost": round(self.cost, 6) if priced and not self.without_usage else None,
            "mean_seconds": round(self.seconds / self.replies, 3) if self.replies else None,
        }


@dataclass(slots=True)
class Costs:
    """Costs by stage, and per accepted view. Without a price every cost is None."""

    price: Price | None = None
    stages: dict[str, StageCosts] = field(default_factory=dict)
    accepted_views: int = 0

    def add(
        self, stage: str, usage: Usage, *, lane: str, rejected: bool, seconds: float | None = None
    ) -> None:
        """Adds one reply that was read."""
        cost = self.price.of(usage, lane) if self.price is not None else None
        self.stages.setdefault(stage, StageCosts()).add(
            usage, cost, rejected=rejected, seconds=seconds
        )

    @property
    def cost(self) -> float | None:
        """What the replies cost, or None where a price or the tokens of any of them are not known."""
        if self.price is None or any(costs.without_usage for costs in self.stages.values()):
            return None
        return sum(costs.cost for costs in self.stages.values())

    def row(self) -> dict[str, Any]:
        """Returns the costs as they are written to ``<run>/costs.json``."""
        cost = self.cost
        each = cost / self.accepted_views if cost is not None and self.accepted_views else None
        return {
            "stages": {
                name: self.stages[name].row(self.price is not None) for name in sorted(self.stages)
            },
            "accepted_views": self.accepted_views,
            "cost": None if cost is None else round(cost, 6),
            "cost_per_accepted_view": None if each is None else round(each, 8),
            "currency": self.price.currency if self.price is not None else None,
        }


def waste(
    records: Iterable[Mapping[str, Any]], used: set[bytes], price: Price | None
) -> dict[str, Any]:
    """Returns what a journal holds beside the replies in use.

    Args:
        records: The journal's records.
        used: The first eight bytes of the keys whose replies were read.
        price: Of the model.

    Returns:
        Failed attempts by code; attempts that may have been billed all the same (time-outs, and those in flight when
        a run was killed) with their worst case in completion tokens; replies that no question asked for any more, and
        second replies to one request, with their tokens and cost.
    """
    failed: Counter[str] = Counter()
    starts: dict[str, list[int]] = {}
    open_tokens, maybe, tokens, unused, twice = 0, 0, 0, 0, 0
    cost, done = 0.0, set[str]()
    for record in records:
        kind, key = record["kind"], str(record.get("key", ""))
        if kind == "start":
            starts.setdefault(key, []).append(int(record.get("max_tokens") or 0))
        elif kind in ("done", "fail") and starts.get(key):
            limit = starts[key].pop()
            if kind == "fail" and record.get("maybe_billed"):
                maybe, open_tokens = maybe + 1, open_tokens + limit
        if kind == "fail":
            failed[record["code"]] += 1
        elif kind == "done":
            again = key in done
            done.add(key)
            if again or bytes.fromhex(key)[:8] not in used:
                reply = reply_from_row(record["reply"])
                twice, unused = twice + again, unused + (not again)
                tokens += (reply.usage.prompt or 0) + (reply.usage.completion or 0)
                cost += (price.of(reply.usage, reply.lane) or 0.0) if price is not None else 0.0
    lost = [limit for limits in starts.values() for limit in limits]
    return {
        "failed_attempts": dict(failed.most_common()),
        "possibly_billed": {
            "requests": maybe + len(lost),
            "completion_tokens_at_most": open_tokens + sum(lost),
        },
        "unused_replies": unused,
        "replies_paid_twice": twice,
        "unused_tokens": tokens,
        "unused_cost": round(cost, 6) if price is not None else None,
    }
