"""Measures by name: how each is written, and what it needs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from obverse.errors import SettingError


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure as a value that prints as written: ``nDCG@10``.

    Attributes:
        name: The key: ``ndcg``, ``p_mrr``, ...
        k: The cutoff, where it has one.
    """

    name: str
    k: int | None = None

    def __str__(self) -> str:
        written = MEASURES[self.name].written
        return f"{written}@{self.k}" if self.k else written

    @property
    def key(self) -> str:
        """The measure as it is asked for: ``ndcg@10``."""
        return f"{self.name}@{self.k}" if self.k else self.name


@dataclass(frozen=True, slots=True)
class Kind:
    """What is known of a measure: how it is written, its cutoff by default (None: it takes none), what it says."""

    written: str
    cutoff: int | None
    says: str


MEASURES: dict[str, Kind] = {
    "p_mrr": Kind(
        "p-MRR", None, "do ruled-out documents fall when the instruction changes? (FollowIR)"
    ),
    "symmetric_p_mrr": Kind(
        "symmetric p-MRR", None, "the same over every ordered pair of a topic's instructions (ours)"
    ),
    "flip_rate": Kind(
        "flip rate",
        None,
        "share of topics where every instruction puts its own documents on top (ours)",
    ),
    "infosearch_p_mrr": Kind(
        "InfoSearch p-MRR",
        None,
        "p-MRR from no instruction to an instruction, over the whole corpus",
    ),
    "wise": Kind(
        "WISE",
        None,
        "do relevant documents rise with the instruction and fall with its reverse? (InfoSearch)",
    ),
    "sicr": Kind(
        "SICR", None, "share of them that do so strictly, by rank and by score (InfoSearch)"
    ),
    "robustness": Kind(
        "Robustness", 10, "the worst instruction of each query, by nDCG (InstructIR)"
    ),
    "followir_score": Kind(
        "FollowIR Score", None, "MAP@1000 of the original instructions (nDCG@5 on News21)"
    ),
    "ndcg": Kind("nDCG", 10, "graded quality of the first k"),
    "map": Kind("MAP", 1_000, "precision at every relevant document"),
    "mrr": Kind("MRR", 10, "how far up the first relevant document stands"),
    "msmarco_mrr": Kind("MS MARCO MRR", 10, "by rank column, over all reference queries"),
    "recall": Kind("Recall", 100, "share of the relevant documents within the first k"),
    "precision": Kind("P", 10, "share of relevant documents within the first k"),
    "nevir": Kind(
        "NevIR pairwise accuracy", None, "both queries of a pair put their own document first"
    ),
    "excluir": Kind("ExcluIR RR", None, "the excluded document stands below the wanted one"),
    "compliance": Kind("compliance", 10, "share of the first k that no list of violations names"),
}


_FORM = re.compile(r"([a-z_\-]+)(?:@(\d+))?")


def as_listed() -> list[str]:
    """Returns a line a measure: the name that is asked for, the name that is printed, what it says."""
    asked = {name: f"{name}@K" if kind.cutoff else name for name, kind in MEASURES.items()}
    rows = [
        (asked[name], str(Measure(name, kind.cutoff)), kind.says) for name, kind in MEASURES.items()
    ]
    widths = [max(len(row[place]) for row in rows) for place in (0, 1)]
    return [f"{a:{widths[0]}}  {b:{widths[1]}}  {says}" for a, b, says in rows]


def measure_named(text: str) -> Measure:
    """Returns the measure that a text such as ``ndcg@10`` names; the cutoff may be left out.

    Raises:
        SettingError: If there is no such measure, or it takes no cutoff.
    """
    match = _FORM.fullmatch(text.strip().lower())
    name = match[1].replace("-", "_") if match else ""
    name = "precision" if name == "p" else name
    if match is None or name not in MEASURES:
        known = ", ".join(f"{key}@K" if kind.cutoff else key for key, kind in MEASURES.items())
        raise SettingError(f"unknown measure {text!r}", fix=f"Use one of {known}")
    cutoff = MEASURES[name].cutoff
    if match[2] is None:
        return Measure(name, cutoff)
    if cutoff is None or int(match[2]) < 1:
        raise SettingError(
            f"{name} takes no cutoff {match[2]}",
            fix=f"Write {name} alone" if cutoff is None else "Use 1 or more",
        )
    return Measure(name, int(match[2]))
