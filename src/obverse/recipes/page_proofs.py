"""What a recipe's page proves and compares with: sizes from the ledger, and the papers' numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from obverse.files import read_json
from obverse.ledger import compare_ledgers
from obverse.recipes.blocks import Block, Heading, Points, Table, Words
from obverse.recipes.cells import Cell, ledger_of
from obverse.recipes.outcome import Outcome, distances

if TYPE_CHECKING:
    from obverse.recipes.prepared import Setup


def sizes(setup: Setup, cells: Sequence[Cell]) -> list[Block]:
    """Returns what each arm holds, and which pairs are equal in what."""
    first = {cell.arm.name: cell for cell in cells if cell.seed == setup.seeds[0]}
    books = {name: ledger_of(cell) for name, cell in first.items()}
    rows = []
    for name, cell in first.items():
        book = books[name]
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in book.kinds.items())
        steps = read_json(cell.made)["steps_made"]
        rows.append(
            [
                f"{name}: {cell.arm.says}",
                f"{book.topics:,}",
                f"{book.views:,} ({kinds})",
                f"{book.queries:,}",
                f"{book.documents:,}",
                f"{book.tokens:,}",
                str(steps),
                f"`{book.digest[:12]}`",
            ]
        )
    head = ["arm", "topics", "views", "queries", "documents", "tokens", "steps", "digest"]
    blocks: list[Block] = [Heading("Sizes, from the ledger"), Table(head, rows)]
    proofs = []
    for arm, against in dict.fromkeys((p.arm, p.against) for p in setup.recipe.pairs):
        if arm not in first or against not in first:
            continue
        found = compare_ledgers(books[against], books[arm])
        equal = [unit for unit, (a, b) in found.sizes.items() if a == b]
        taken, given = (
            ", ".join(f"{count:,} {what}" for what, count in views) or "nothing"
            for views in (found.taken, found.given)
        )
        same = first[arm].steps == first[against].steps
        proofs.append(
            f"{against} -> {arm}: {found.same:,} topics the same; taken {taken}; given {given}; equal in "
            f"{', '.join(equal + ['steps'] * same) or 'nothing'}."
        )
    note = f"Of seed {setup.seeds[0]}. Rows are counted and matched by {setup.recipe.matched_by}."
    return [*blocks, Words(note), Points(proofs)] if proofs else [*blocks, Words(note)]


def papers(setup: Setup, found: Outcome) -> list[Block]:
    """Returns the published numbers with ours, the distance and the reasons."""
    rows = [
        [
            f"{row['arm']} ({row['model']})",
            f"{row['benchmark']} {row['measure']}",
            f"{row['published']:.2f}",
            _number(row.get("ours")),
            f"{row['against']}: {row['published difference']:+.2f}" if "against" in row else "–",
            _number(row.get("our difference"), sign=True),
            _number(row.get("distance"), sign=True),
        ]
        for row in distances(setup.recipe, found)
    ]
    blocks: list[Block] = [Heading("The papers' numbers, and the distance")]
    if rows:
        head = [
            "arm",
            "published for",
            "published",
            "ours",
            "published against",
            "ours against it",
            "distance",
        ]
        blocks.append(Table(head, rows))
        blocks.append(
            Words(
                "Where the published benchmark was not measured here, the published difference between two arms is "
                "set against ours on the topics benchmark: for FollowIR and InstructIR, whose measures are alike."
            )
        )
    blocks.append(Points([f"Known reason to differ: {reason}" for reason in setup.recipe.reasons]))
    missing = [
        b for b in setup.recipe.benchmarks if not any(spec.startswith(b) for spec in setup.on)
    ]
    if missing:
        blocks.append(
            Words("Not measured here: " + ", ".join(f"`--on {b}=FOLDER`" for b in missing) + ".")
        )
    return blocks


def _number(value: float | None, *, sign: bool = False) -> str:
    return "–" if value is None else f"{value:{'+' if sign else ''}.2f}"
