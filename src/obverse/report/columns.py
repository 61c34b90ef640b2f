"""How a measure is shown: its name, its scale, and one plain sentence on what it says."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from obverse.report.page_data import Score

OBEYING, FLIP, GUARD = "p_mrr", "flip_rate", "guard_ndcg@10"
MINUS, NO_VALUE = "\N{MINUS SIGN}", "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Column:
    """A measure as a column of a table.

    Attributes:
        key: The key in the scores: ``robustness@10``.
        heading: What the reader sees: ``Robustness@10``.
        scale: Factor from the unscaled value to the shown one.
        digits: Decimals shown.
        meaning: One plain sentence.
    """

    key: str
    heading: str
    scale: float = 1.0
    digits: int = 3
    meaning: str = ""

    def number(self, value: float | None, *, sign: bool = False) -> str:
        """Returns the scaled value as text, with a true minus sign; an en dash where there is no value."""
        if value is None or not math.isfinite(value):
            return NO_VALUE
        text = f"{value * self.scale:{'+' if sign else ''}.{self.digits}f}"
        if not text.strip("+-0."):
            text = text.lstrip("+-")  # no "-0.0"
        return text.replace("-", MINUS)

    def interval(self, low: float | None, high: float | None, *, sign: bool = False) -> str:
        """Returns ``[low, high]`` as text; nothing where either end is missing."""
        if low is None or high is None:
            return ""
        return f"[{self.number(low, sign=sign)}, {self.number(high, sign=sign)}]"

    def score(self, score: Score | None) -> str:
        """Returns value and interval as text."""
        if score is None:
            return NO_VALUE
        return f"{self.number(score.value)} {self.interval(score.low, score.high)}".strip()


COLUMNS: dict[str, Column] = {
    column.key: column
    for column in (
        Column(
            OBEYING,
            "Symmetric p-MRR",
            100,
            1,
            "How far documents move the right way when the instruction is turned round: "
            "0 is not at all, 100 is all the way, below 0 is the wrong way.",
        ),
        Column(
            FLIP,
            "Flip rate",
            1,
            2,
            "The share of topics in which, under each instruction, the document it asks for "
            "stands above the one that the opposite instruction asks for.",
        ),
        Column(
            "robustness@10",
            "Robustness@10",
            100,
            1,
            "Each topic counts by its worst instruction alone, so obeying one and ignoring the other earns little.",
        ),
        Column(
            "ndcg@10",
            "nDCG@10, instructed",
            100,
            1,
            "How near the top of the first ten the documents asked for stand, over all instructions; 100 is perfect.",
        ),
        Column(
            "plain_ndcg@10",
            "nDCG@10, no instruction",
            100,
            1,
            "The same for the same queries asked alone, without any instruction.",
        ),
        Column(
            GUARD,
            "Plain search, nDCG@10",
            100,
            1,
            "The guard: ordinary queries without instructions (the SciFact test), which should not get worse.",
        ),
    )
}

_HUNDREDFOLD = ("ndcg", "mrr", "map", "recall", "robustness", "score", "accuracy")


def column_for(key: str) -> Column:
    """Returns how a measure is shown; a key may name its benchmark first (``followir/p_mrr``).

    Unknown measures of the families that the field prints x 100 are shown so; all others unscaled.
    """
    if key in COLUMNS:
        return COLUMNS[key]
    prefix, _, measure = key.rpartition("/")
    if prefix and measure in COLUMNS:
        known = COLUMNS[measure]
        return replace(known, key=key, heading=f"{prefix} {known.heading}", meaning="")
    family = measure.lower().replace("-", "_")
    if any(name in family for name in _HUNDREDFOLD):
        return Column(key, key, 100, 1)
    return Column(key, key)
