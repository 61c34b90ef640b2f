"""Rankings without and with an instruction, side by side: what moved, and what breaks the instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from obverse.benchmarks.benchmark import Benchmark
from obverse.benchmarks.constraints import SHOWN, violations_of
from obverse.evaluate import Scores
from obverse.records import Ask


@dataclass(frozen=True, slots=True)
class Move:
    """One document of the ranking with the instruction.

    Attributes:
        rank: Its place with the instruction.
        before: Its place without; None where it was not found.
        doc_id: Its id.
        text: Title or beginning.
        violates: Whether it breaks the instruction.
    """

    rank: int
    before: int | None
    doc_id: str
    text: str
    violates: bool


@dataclass(frozen=True, slots=True)
class Moves:
    """One instructed query: its ranking with the moves, and the violations among the first k."""

    ask: Ask
    rows: Sequence[Move]
    violations: int
    violations_before: int
    same_order: bool


def moves_of(
    scores: Scores, benchmark: Benchmark, home: Path, *, shown: int = SHOWN, depth: int = 10
) -> list[Moves]:
    """Returns the moves of every instructed query of a constraints benchmark.

    Args:
        scores: A model on the benchmark.
        benchmark: The benchmark.
        home: Its folder, for violations.json.
        shown: Among how many of the first documents violations are counted.
        depth: How many rows are kept.
    """
    violations = violations_of(home)
    found = []
    for ask in benchmark.searches[0].asks:
        plain = list(scores.runs["plain"][ask.query_id])
        order = list(scores.runs["instructed"][ask.query_id])
        bad = set(violations.get(ask.query_id, ()))
        before = {doc_id: n for n, doc_id in enumerate(plain, start=1)}
        rows = [
            Move(n, before.get(d), d, benchmark.docs[d].title or benchmark.docs[d].text, d in bad)
            for n, d in enumerate(order[:depth], start=1)
        ]
        found.append(
            Moves(
                ask,
                rows,
                sum(d in bad for d in order[:shown]),
                sum(d in bad for d in plain[:shown]),
                order == plain,
            )
        )
    return found


def moves_text(
    name: str, moves: Sequence[Moves], scores: Scores, *, shown: int = SHOWN, rows: int = 5
) -> str:
    """Returns the moves as text: one block a query, violations marked ``!``."""
    lines = [f"{name}: violations among the first {shown}, without -> with the instruction"]
    for each in moves:
        note = "  IGNORES THE INSTRUCTION: the order is the same" if each.same_order else ""
        head = f"{each.ask.query_id} {each.ask.query!r} + {each.ask.instruction!r}"
        lines.append(f"{head}  {each.violations_before} -> {each.violations}{note}")
        for row in each.rows[:rows]:
            lines.append(
                f"  {row.rank:>2} {_arrow(row):>5} {'!' if row.violates else ' '} {row.doc_id:6} {row.text[:80]}"
            )
    lines += [f"ignores the instruction: {said}" for said in ignored(scores)]
    plain = scores["plain_ndcg@10"]
    total = sum(each.violations for each in moves)
    lines.append(
        f"in all {total} violations among the first {shown} of {len(moves)} queries "
        f"({sum(each.violations_before for each in moves)} without instruction); plain search without instruction: "
        + (
            f"nDCG@10 {plain.value:.3f} n={plain.n}"
            if plain.value is not None
            else f"not measured ({plain.reason})"
        )
    )
    return "\n".join(lines)


def ignored(scores: Scores) -> list[str]:
    """Returns who ignores the instruction: queries whose order does not change, pairs with one order for two."""
    notes = scores["moved"].notes.get("ignores_the_instruction", [])
    return [
        f"{item[0]} and {item[1]} get their judged documents in one order under two instructions"
        if isinstance(item, list)
        else f"{item} has the same order with and without"
        for item in notes
    ]


def lost_plain(all_scores: Mapping[str, Scores]) -> list[str]:
    """Returns a line for every model whose plain search is worse than the first model's."""
    names = list(all_scores)
    first = all_scores[names[0]]["plain_ndcg@10"].value if names else None
    lines = []
    for name in names[1:]:
        value = all_scores[name]["plain_ndcg@10"].value
        if first is not None and value is not None and value < first:
            lines.append(
                f"{name}: plain search DROPPED from {first:.3f} to {value:.3f} (against {names[0]})"
            )
    return lines


def _arrow(row: Move) -> str:
    if row.before is None:
        return "new"
    by = row.before - row.rank
    return "=" if not by else f"\u2191{by}" if by > 0 else f"\u2193{-by}"
