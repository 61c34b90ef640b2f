"""Ledgers and their difference as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from obverse.ledger.counting import Ledger, origin_rows
from obverse.ledger.difference import Change, Difference
from obverse.text_table import text_table

_SHOWN = 10


def ledger_text(book: Ledger) -> str:
    """Returns a ledger as two tables, without the hashes of the topics."""
    rows: list[tuple[str, str]] = [
        ("topics", f"{book.topics:,}"),
        ("views", f"{book.views:,} ({_said(book.kinds.items())})"),
        ("distinct queries", f"{book.queries:,}"),
        ("distinct documents", f"{book.documents:,}"),
        ("labels", _said(book.labels.items())),
    ]
    if book.tokens is not None:
        rows.append(("tokens", f"{book.tokens:,} (by {book.counter})"))
    if (steps := book.steps) is not None:
        said = f"{steps.steps:,} of {steps.views_per_step:g} views"
        rows.append(
            ("steps", f"{said} ({steps.batch_size} topics a batch, {steps.epochs:g} epochs)")
        )
    rows.append(("digest", book.digest))
    width = max(len(name) for name, _ in rows)
    lines = [f"{name.ljust(width)}  {value}" for name, value in rows]
    return "\n".join([*lines, "", text_table(origin_rows(book.origins))])


def difference_text(found: Difference, units: Sequence[str] = ("views",)) -> str:
    """Returns what two sets have in common and what not; ends with whether they are size-matched by the units."""
    rows = [
        {"": unit.replace("_", " "), "A": _number(a), "B": _number(b), "size-matched": _yes(a == b)}
        for unit, (a, b) in found.sizes.items()
    ]
    lines = [text_table(rows), ""]
    lines.append(
        f"topics: {found.same:,} the same, {len(found.changes):,} changed, {len(found.only_a):,} only in A, "
        f"{len(found.only_b):,} only in B"
    )
    lines.append(f"views only in A: {_said(found.taken) or 'none'}")
    lines.append(f"views only in B: {_said(found.given) or 'none'}")
    lines += _some("changed", [_change(change) for change in found.changes])
    lines += _some("only in A", found.only_a)
    lines += _some("only in B", found.only_b)
    verdict = _yes(found.matched(units))
    named = ", ".join(unit.replace("_", " ") for unit in units)
    return "\n".join([*lines, "", f"size-matched by {named}: {verdict}"])


def _change(change: Change) -> str:
    if change.other_documents:
        return f"{change.topic_id}: other documents"
    taken, given = (
        ", ".join(" ".join(part for part in origin if part != "-") for origin in origins)
        for origins in (change.taken, change.given)
    )
    return f"{change.topic_id}: {taken or 'nothing'} -> {given or 'nothing'}"


def _some(title: str, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    rest = [f"  and {len(names) - _SHOWN:,} more (--json lists all)"] if len(names) > _SHOWN else []
    return ["", f"{title}:", *(f"  {name}" for name in names[:_SHOWN]), *rest]


def _said(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
