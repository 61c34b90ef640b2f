"""Does this model follow instructions at all? A minute on a CPU, one screen, anybody's documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from obverse.errors import InputError
from obverse.measures.measured import Measured, over_topics
from obverse.measures.p_mrr import p_mrr, rank_change
from obverse.probe_kinds import KINDS, Demand, Shelf
from obverse.rankers import Ranker
from obverse.records import Ask, Doc, Run

TOP = 10
_CLEAR = 0.05  # less is no effect that anybody would see, however sure it is


@dataclass(frozen=True, slots=True)
class Example:
    """A document that an instruction rules out, and where it stood before and stands after."""

    query: str
    instruction: str
    doc_id: str
    title: str
    before: int
    after: int

    @property
    def fall(self) -> float:
        return rank_change(self.before, self.after)


@dataclass(frozen=True, slots=True)
class Probed:
    """What one kind of instruction does to the first ten.

    Attributes:
        kind: ``exclusion``, ``negation``, ``audience``, ``format`` or ``length``.
        obeyed: How much further the documents that the instructions rule out fall than the others of the first ten, in
            (-2, 2): 0 is no effect, below 0 they rise. Whatever stands on top can only fall when an order is stirred,
            so a fall alone would prove nothing.
        fell: p-MRR of the ruled-out documents, from the ranking without to that with, in (-1, 1).
        others_fell: The same of the others of the first ten.
        moved: The share of the first ten that is not in the first ten any more, in [0, 1].
        unmoved: How many instructions leave the order of the first ten exactly as it was.
        asked: How many instructions were tried.
        worst: The documents that rose the most although they are ruled out.
    """

    kind: str
    obeyed: Measured
    fell: Measured
    others_fell: Measured
    moved: Measured
    unmoved: int
    asked: int
    worst: Sequence[Example]

    @property
    def verdict(self) -> str:
        """One phrase: obeys, obeys a little, no clear effect, does the opposite, ignores the instruction."""
        if self.asked and self.unmoved * 2 >= self.asked:
            return "ignores the instruction"
        if self.obeyed.value is None or self.obeyed.low is None or self.obeyed.high is None:
            return "not measured"
        if abs(self.obeyed.value) < _CLEAR:
            return "no clear effect"
        if self.obeyed.high < 0:
            return "does the opposite"
        if self.obeyed.low > 0:
            return "obeys" if self.obeyed.value >= 0.3 else "obeys a little"
        return "no clear effect"

    def to_json(self) -> dict[str, Any]:
        """Returns the kind as a JSON object."""
        return {
            "kind": self.kind,
            "verdict": self.verdict,
            "obeyed": self.obeyed.brief(),
            "fell": self.fell.brief(),
            "others_fell": self.others_fell.brief(),
            "moved": self.moved.brief(),
            "unmoved": self.unmoved,
            "asked": self.asked,
            "worst": [
                {
                    "query": e.query,
                    "instruction": e.instruction,
                    "doc_id": e.doc_id,
                    "title": e.title,
                    "rank_without": e.before,
                    "rank_with": e.after,
                }
                for e in self.worst
            ],
        }


def probe(
    ranker: Ranker,
    docs: Sequence[Doc],
    queries: Sequence[str],
    *,
    top: int = TOP,
    show: int = 2,
    seed: int = 0,
) -> list[Probed]:
    """Returns what five kinds of instructions do to the first ten of each query.

    Every query is asked without instruction; then instructions are made from what it found, whose keeping a program
    can check (:mod:`obverse.probe_kinds`), and the query is asked again with each.

    Args:
        ranker: The model.
        docs: The documents, at least as many as ``top`` and better ten times that.
        queries: What is asked of them.
        top: How many documents are looked at.
        show: How many of the worst examples are kept by kind.
        seed: Seed of the intervals.

    Raises:
        InputError: If there are no queries, or fewer documents than are looked at.
    """
    if len(docs) < top or not queries:
        raise InputError(
            f"there are {len(docs)} documents and {len(queries)} queries",
            where="probe",
            fix=f"Give at least {top} documents and one query",
        )
    shelf = Shelf(docs)
    plain = _search(ranker, [Ask(str(n), text) for n, text in enumerate(queries)], docs)
    demands: dict[str, list[tuple[str, str, Demand]]] = {}
    for kind, maker in KINDS.items():
        for number, text in enumerate(queries):
            first = list(plain[str(number)])[:top]
            for which, demand in enumerate(maker(text, first, shelf)):
                if demand.ruled_out and len(demand.ruled_out) < len(first):
                    demands.setdefault(kind, []).append((f"{number}/{kind}/{which}", text, demand))
    asks = [
        Ask(key, text, demand.instruction)
        for rows in demands.values()
        for key, text, demand in rows
    ]
    instructed = _search(ranker, asks, docs) if asks else {}
    return [
        _probed(kind, demands.get(kind, []), plain, instructed, shelf, top, show, seed)
        for kind in KINDS
    ]


def _search(ranker: Ranker, asks: Sequence[Ask], docs: Sequence[Doc]) -> Run:
    return ranker.rank(asks, ranker.inputs(asks, None), docs, depth=len(docs))


def _probed(
    kind: str,
    rows: Sequence[tuple[str, str, Demand]],
    plain: Run,
    instructed: Run,
    shelf: Shelf,
    top: int,
    show: int,
    seed: int,
) -> Probed:
    before = {key: plain[key.split("/")[0]] for key, _, _ in rows}
    out = {key: list(demand.ruled_out) for key, _, demand in rows}
    kept = {key: [d for d in list(before[key])[:top] if d not in out[key]] for key in out}
    fell = p_mrr(before, instructed, out, seed=seed).counted
    others_fell = p_mrr(before, instructed, kept, seed=seed).counted
    by_query: dict[str, dict[str, list[float]]] = {}
    unmoved, examples = 0, []
    for key, text, demand in rows:
        old, new = list(before[key]), list(instructed[key])
        values = {
            "obeyed": fell[key] - others_fell[key],
            "fell": fell[key],
            "others": others_fell[key],
            "moved": 1 - len({*old[:top]} & {*new[:top]}) / top,
        }
        for name, value in values.items():
            by_query.setdefault(name, {}).setdefault(key.split("/")[0], []).append(value)
        unmoved += old[:top] == new[:top]
        places_old = {d: n for n, d in enumerate(old, start=1)}
        places_new = {d: n for n, d in enumerate(new, start=1)}
        for d in demand.ruled_out:
            title = shelf.docs[d].title or shelf.docs[d].text[:80]
            examples.append(
                Example(
                    text,
                    demand.instruction,
                    d,
                    title,
                    places_old.get(d, len(old) + 1),
                    places_new.get(d, len(new) + 1),
                )
            )
    examples.sort(key=lambda e: (e.fall, e.after, e.query, e.doc_id))
    return Probed(
        kind,
        _mean("p-MRR of ruled-out less that of other documents", by_query.get("obeyed", {}), seed),
        _mean("p-MRR of ruled-out documents", by_query.get("fell", {}), seed),
        _mean("p-MRR of the others", by_query.get("others", {}), seed),
        _mean(f"share of the first {top} replaced", by_query.get("moved", {}), seed),
        unmoved,
        len(rows),
        [example for example in examples if example.fall <= 0][:show],
    )


def _mean(measure: str, rows: Mapping[str, Sequence[float]], seed: int) -> Measured:
    return over_topics(
        measure,
        {query: fmean(values) for query, values in rows.items()},
        reason="no query found documents that such an instruction rules out",
        seed=seed,
    )


def screen(name: str, probed: Sequence[Probed], *, width: int = 110) -> str:
    """Returns the probe of one model as one screen of text."""
    lines = [
        name,
        f"{'kind':10} {'ruled out fall further by':26} {'top 10 replaced':16} {'unmoved':9} verdict",
    ]
    for row in probed:
        value = row.obeyed
        shown = (
            "-"
            if value.value is None
            else f"{value.value:+.2f} [{value.low:+.2f}, {value.high:+.2f}] n={value.n}"
        )
        replaced = "-" if row.moved.value is None else f"{row.moved.value:.0%}"
        lines.append(
            f"{row.kind:10} {shown:26} {replaced:16} {f'{row.unmoved}/{row.asked}':9} {row.verdict}"
        )
    lines.append("worst: ruled out, and yet (rank without -> with the instruction)")
    for row in probed:
        for example in row.worst[:1]:
            said = f"  {row.kind}: {_cut(example.query, 44)!r} + {_cut(example.instruction, 44)!r}"
            lines.append(said[:width])
            lines.append(
                f"    {example.before:>3} -> {example.after:<3} {_cut(example.title, width - 15)}"
            )
    return "\n".join(lines)


def _cut(text: str, size: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= size else f"{flat[: size - 3]}..."
