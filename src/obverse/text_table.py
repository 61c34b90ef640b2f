"""Rows as aligned columns of plain text."""

from __future__ import annotations

from typing import Any


def text_table(rows: list[dict[str, Any]], percent: tuple[str, ...] = ()) -> str:
    """Returns rows of equal keys as aligned columns; numbers stand right."""
    names = list(rows[0])
    cells = [[_cell(row[name], name in percent) for name in names] for row in rows]
    widths = [max(len(line[i]) for line in [names, *cells]) for i in range(len(names))]
    right = [isinstance(rows[0][name], int | float) or name in percent for name in names]
    lines = [
        "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in [names, *cells]
    ]
    return "\n".join(lines)


def _cell(value: Any, percent: bool) -> str:
    if value is None:
        return "-"
    if percent:
        return f"{100 * value:.1f} %"
    return f"{value:,}" if isinstance(value, int) else str(value)
