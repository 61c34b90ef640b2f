"""Parts that the cards of models and of data share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from obverse.cards.history import History

MARK = "<!-- written by obverse for {title}; written anew it loses what was changed -->"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a Markdown table; bars and line ends in cells do no harm."""
    lines = [head, ["---"] * len(head), *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def ledger_rows(book: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the rows of a ledger's table, from its JSON form."""
    rows = [
        ("topics", f"{book['topics']:,}"),
        ("views", f"{book['views']:,} ({_said(book['kinds'])})"),
        ("distinct queries", f"{book['queries']:,}"),
        ("distinct documents", f"{book['documents']:,}"),
        *((f"{label.replace('_', ' ')} labels", f"{n:,}") for label, n in book["labels"].items()),
    ]
    if book.get("tokens") is not None:
        rows.append(("tokens", f"{book['tokens']:,} (by {book['tokens_by']})"))
    return [*rows, ("digest", f"`{book['digest']}`")]


def origin_table(book: Mapping[str, Any]) -> str:
    """Returns the table of a ledger's views by kind, method and lever, from its JSON form."""
    rows = [
        (row["kind"], row["method"], row["lever"], f"{row['views']:,}") for row in book["origins"]
    ]
    return table(("kind", "method", "lever", "views"), rows)


def audit_section(made: History | None) -> str:
    """Says what people found valid."""
    found = made.audit if made is not None else None
    if found is None:
        return "Not yet: no sample of it was judged by people (`obverse audit`)."
    file, audit = found
    whole = audit.get("fully_valid") or {}
    rows = [("fully valid", *_share(whole))]
    for name, share in (audit.get("criteria") or {}).items():
        rows.append((name.replace("_", " "), *_share(share)))
    for name, share in (audit.get("by_method") or {}).items():
        rows.append((f"fully valid, {name}", *_share(share)))
    people = audit.get("people") or []
    return (
        f"{audit.get('judged', '?')} of {audit.get('sampled', '?')} views of a blind sample of `{file}` were judged, "
        f"by {len(people)} {'person' if len(people) == 1 else 'people'}; with 95 % intervals (Wilson):\n\n"
        + table(("", "share", "from", "to", "n"), rows)
    )


def _share(share: Mapping[str, Any]) -> tuple[str, str, str, str]:
    numbers = (share.get(name) for name in ("value", "low", "high"))
    low_high = [f"{100 * n:.1f} %" if isinstance(n, int | float) else "-" for n in numbers]
    return low_high[0], low_high[1], low_high[2], f"{share.get('n', '?')}"


def leak_section(made: History | None, leaks: Sequence[Mapping[str, Any]] = ()) -> str:
    """Says which test sets the data were held against, and what was found."""
    filtered = made.leak_filters if made is not None else []
    lines = [f"- taken out against {_checked(found)}" for found in filtered]
    lines += [f"- checked for this card against {_checked(found)}" for found in leaks]
    if not lines:
        return "Not checked: no test set was held against it (`obverse filter --by leak`, or `--against` here)."
    return "\n".join(lines)


def _checked(found: Mapping[str, Any]) -> str:
    names = ", ".join(f"`{name}`" for name in found.get("against") or ["?"])
    levels = ", ".join(found.get("levels") or ["id", "text", "ngram"])
    dropped = found.get("dropped") or {}
    said = "; ".join(
        f"{n:,} for {reason.removeprefix('leak: ')}" for reason, n in sorted(dropped.items())
    )
    return f"{names} by {levels}: {said or 'nothing found'}"


def licence_section(
    licence: str | None, sources: Mapping[str, str], made: History | None = None
) -> str:
    """Says whose texts they are and under which licences."""
    lines = [
        f"Licence of this work: {licence}."
        if licence
        else "No licence was stated. Decide on one before you pass this on (`--license`)."
    ]
    if sources:
        lines.append(table(("source", "licence"), list(sources.items())))
    lines += made.attributions if made is not None else []
    if len(lines) == 1:
        lines.append(
            "The licences of the sources are not known here; name them (`--source NAME=LICENCE`)."
        )
    return "\n\n".join(lines)


def _said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())
