"""Which of the documents that were shown and not clicked count as negatives: named rules.

``examined`` takes what stands above the last click of its session: a person who clicked the third result has
looked at the first two, and probably never at the fifth. After Joachims et al. (2005), Accurately Interpreting
Clickthrough Data as Implicit Feedback, https://doi.org/10.1145/1076034.1076063 ("click > skip above").
``all`` takes everything shown and not clicked.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from obverse.read.faults import Findings
from obverse.read.gathering import (
    CLICKED,
    NEGATIVE,
    NO_POSITION,
    POSITIVE,
    SHOWN,
    Judgements,
)


@dataclass(frozen=True, slots=True)
class ClickRule:
    """A rule and its limits, as the flags give them."""

    name: str
    max_position: int | None = None
    min_impressions: int = 1

    @property
    def origin(self) -> dict[str, Any]:
        """What is stored with every view that the rule made."""
        limits: dict[str, Any] = {"rule": self.name}
        if self.max_position is not None:
            limits["max_position"] = self.max_position
        if self.min_impressions > 1:
            limits["min_impressions"] = self.min_impressions
        return limits


@dataclass(slots=True)
class RuleJudge:
    """Applies a rule to one view's judgements, and counts what every rule would have kept."""

    rule: ClickRule
    findings: Findings
    plain: bool = False
    queries: int = 0
    shown: int = 0
    clicked: int = 0
    positions: bool = False
    with_negatives: Counter[str] = field(default_factory=Counter)
    negatives: Counter[str] = field(default_factory=Counter)

    def __call__(self, found: Judgements) -> dict[int, int]:
        if self.plain and CLICKED in found.kinds:
            return self._everything(found)
        return self._by_rule(found)

    def _everything(self, found: Judgements) -> dict[int, int]:
        """The rule ``all`` without limits and positions, as most logs without ranks are read."""
        kinds: dict[int, int] = {}
        for doc, kind in zip(found.docs, found.kinds, strict=True):
            if kind == CLICKED:
                kinds[doc] = POSITIVE
            else:
                kinds.setdefault(doc, NEGATIVE)
        positive = sum(kinds.values())
        negative = len(kinds) - positive
        self.queries += 1
        self.clicked += positive
        self.shown += found.kinds.count(SHOWN)
        for name in ("all", "in force"):
            self.with_negatives[name] += negative > 0
            self.negatives[name] += negative
        return kinds

    def _by_rule(self, found: Judgements) -> dict[int, int]:
        clicked = dict.fromkeys(
            doc for doc, kind in zip(found.docs, found.kinds, strict=True) if kind == CLICKED
        )
        if not clicked:
            return {}
        self.queries += 1
        self.clicked += len(clicked)
        last = _last_clicks(found)
        everything: Counter[int] = Counter()
        examined: Counter[int] = Counter()
        chosen: Counter[int] = Counter()
        limit, strict = self.rule.max_position, self.rule.name == "examined"
        for doc, kind, line, position, session in zip(
            found.docs, found.kinds, found.lines, found.positions, found.sessions, strict=True
        ):
            placed = position != NO_POSITION
            self.positions |= placed
            if kind == CLICKED:
                continue
            self.shown += 1
            if doc in clicked:
                continue
            everything[doc] += 1
            if strict and not placed:
                self.findings.note(
                    "rule_without_positions", line, "position", "no position: no negative"
                )
            above = placed and position < last.get(session, NO_POSITION)
            if above:
                examined[doc] += 1
            if (above or not strict) and (limit is None or (placed and position <= limit)):
                chosen[doc] += 1
        if self.rule.min_impressions > 1:
            least = self.rule.min_impressions
            chosen = Counter({doc: times for doc, times in chosen.items() if times >= least})
        for name, counts in (("all", everything), ("examined", examined), ("in force", chosen)):
            self.with_negatives[name] += bool(counts)
            self.negatives[name] += len(counts)
        return dict.fromkeys(clicked, POSITIVE) | dict.fromkeys(chosen, NEGATIVE)

    def table(self) -> list[str]:
        """Returns lines that say how many queries and negatives each rule keeps."""
        limits = ", ".join(f"{key} {value}" for key, value in self.rule.origin.items())
        self.findings.facts["rule"] = self.rule.origin
        self.findings.facts["kept_by_rule"] = {
            name: {"with_negatives": self.with_negatives[name], "negatives": self.negatives[name]}
            for name in ("all", "examined", "in force")
        }
        lines = [
            f"{self.queries:,} queries with a click, {self.clicked:,} clicked and {self.shown:,} unclicked documents",
            f"{'rule':<12} {'queries with negatives':>24} {'negatives':>12}",
        ]
        for name in ("all", "examined", "in force"):
            if name == "examined" and not self.positions:
                lines.append(f"{name:<12} {'no positions: cannot be applied':>37}")
                continue
            lines.append(f"{name:<12} {self.with_negatives[name]:>24,} {self.negatives[name]:>12,}")
        return [*lines, f"in force: {limits}"]


def kept_by_rule(rule: ClickRule, findings: Findings, *, positions: bool = True) -> RuleJudge:
    """Returns the function that judges a click log's views by a rule.

    Args:
        positions: Whether the log has any.
    """
    plain = not positions and rule == ClickRule("all")
    return RuleJudge(rule, findings, plain)


def _last_clicks(found: Judgements) -> dict[int, int]:
    """The position of each session's last click; rows of one session may stand in any order."""
    last: dict[int, int] = {}
    for kind, position, session in zip(found.kinds, found.positions, found.sessions, strict=True):
        if kind == CLICKED and position > last.get(session, NO_POSITION):
            last[session] = position
    return last
