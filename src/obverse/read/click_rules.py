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

import numpy as np

from obverse.read.faults import Findings
from obverse.read.gathering import CLICKED, NEGATIVE, NO_POSITION, POSITIVE, Judgements


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
    queries: int = 0
    shown: int = 0
    clicked: int = 0
    positions: bool = False
    with_negatives: Counter[str] = field(default_factory=Counter)
    negatives: Counter[str] = field(default_factory=Counter)

    def __call__(self, found: Judgements) -> dict[int, int]:
        clicked = dict.fromkeys(found.docs[found.kinds == CLICKED].tolist())
        if not clicked:
            return {}
        kinds = dict.fromkeys(clicked, POSITIVE)
        self.queries += 1
        self.clicked += len(clicked)
        unclicked = found.kinds != CLICKED
        self.positions |= bool((found.positions != NO_POSITION).any())
        self.shown += int(unclicked.sum())
        within = unclicked & _within(found, self.rule.max_position)
        examined = _examined(found)
        steps = {
            "all": unclicked,
            "examined": unclicked & examined,
            "in force": within & (examined if self.rule.name == "examined" else True),
        }
        chosen: dict[int, int] = {}
        for name, mask in steps.items():
            counts = Counter(doc for doc in found.docs[mask].tolist() if doc not in clicked)
            if name == "in force":
                counts = Counter(
                    {d: n for d, n in counts.items() if n >= self.rule.min_impressions}
                )
                chosen = dict(counts)
            self.with_negatives[name] += bool(counts)
            self.negatives[name] += len(counts)
        return kinds | dict.fromkeys(chosen, NEGATIVE)

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


def kept_by_rule(rule: ClickRule, findings: Findings) -> RuleJudge:
    """Returns the function that judges a click log's views by a rule."""
    return RuleJudge(rule, findings)


def _within(found: Judgements, max_position: int | None) -> Any:
    if max_position is None:
        return np.ones(len(found.docs), dtype=bool)
    return (found.positions != NO_POSITION) & (found.positions <= max_position)


def _examined(found: Judgements) -> Any:
    """Whether each document stands above the last click of its session; without a position, never."""
    last: dict[int, int] = {}
    placed = found.positions != NO_POSITION
    clicks = placed & (found.kinds == CLICKED)
    for session, position in zip(
        found.sessions[clicks].tolist(), found.positions[clicks].tolist(), strict=True
    ):
        last[session] = max(last.get(session, NO_POSITION), position)
    limits = np.array([last.get(session, NO_POSITION) for session in found.sessions.tolist()])
    return placed & (found.positions < limits) if len(limits) else placed
