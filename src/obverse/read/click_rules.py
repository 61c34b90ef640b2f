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
from obverse.read.judgements import (
    CLICKED,
    NEGATIVE,
    NO_POSITION,
    POSITIVE,
    Labels,
    Mask,
    Numbers,
    Part,
    grouped,
    grouped_runs,
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
class Judging:
    """Applies a rule to judgements, and counts what every rule would have kept."""

    rule: ClickRule
    findings: Findings
    queries: int = 0
    shown: int = 0
    clicked: int = 0
    positions: bool = False
    with_negatives: Counter[str] = field(default_factory=Counter)
    negatives: Counter[str] = field(default_factory=Counter)

    def __call__(self, part: Part) -> Labels:
        """Returns the labels of every view with a click: the clicked documents, then the negatives."""
        views = grouped_runs(part.views)
        docs = grouped(part.views, part.docs)
        click = part.kinds == CLICKED
        answered = views.any(click)
        here = answered[views.each]
        clicked = docs.first_of(click)
        passed_over = ~click & here & ~docs.any(click)[docs.each]
        placed = part.positions != NO_POSITION
        above = placed & (part.positions < _last_clicks(part, click))
        self.queries += int(answered.sum())
        self.clicked += len(clicked)
        self.shown += int((~click & here).sum())
        self.positions |= bool(placed[here].any())
        chosen = passed_over
        if self.rule.name == "examined":
            self._note_unplaced(part, passed_over & ~placed)
            chosen = passed_over & above
        if self.rule.max_position is not None:
            chosen = chosen & placed & (part.positions <= self.rule.max_position)
        if self.rule.min_impressions > 1:
            often = docs.count(chosen) >= self.rule.min_impressions
            chosen = chosen & often[docs.each]
        negatives = docs.first_of(chosen)
        for name, rows in (
            ("all", docs.first_of(passed_over)),
            ("examined", docs.first_of(passed_over & above)),
            ("in force", negatives),
        ):
            self.with_negatives[name] += len(grouped_runs(part.views[rows]).first)
            self.negatives[name] += len(rows)
        rows = np.concatenate([clicked, negatives])
        kinds = np.repeat([POSITIVE, NEGATIVE], [len(clicked), len(negatives)])
        order = np.argsort(views.each[rows], kind="stable")
        rows = rows[order]
        return Labels(
            part.topics[rows], part.views[rows], part.docs[rows], kinds[order], part.lines[rows]
        )

    def _note_unplaced(self, part: Part, rows: Mask) -> None:
        for at in np.flatnonzero(rows).tolist():
            self.findings.note(
                "rule_without_positions",
                int(part.lines[at]),
                "position",
                "no position: no negative",
            )

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


def _last_clicks(part: Part, click: Mask) -> Numbers:
    """Returns for each judgement the position of its session's last click; a session's rows stand in any order."""
    sessions = grouped(part.views, part.sessions)
    last = np.full(len(sessions.first), NO_POSITION, dtype=np.int64)
    np.maximum.at(last, sessions.each[click], part.positions[click])
    return last[sessions.each]
