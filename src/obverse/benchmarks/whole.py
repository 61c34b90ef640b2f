"""Half-present data: what a benchmark needs and the folder lacks is found before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from obverse.errors import InputError
from obverse.records import Doc, Qrels


def refuse_half_present(
    faults: Mapping[str, list[Any]], where: str, *, partial: bool
) -> dict[str, Any]:
    """Returns the faults that there are, for the result's notes, where that is allowed.

    Args:
        faults: What is missing, by a fixed phrase.
        where: The folder.
        partial: Whether the benchmark may be computed all the same.

    Raises:
        InputError: If something is missing and ``partial`` is not said.
    """
    there = {phrase: items for phrase, items in faults.items() if items}
    if there and not partial:
        phrase, items = next(iter(there.items()))
        first = " ".join(map(str, items[0])) if isinstance(items[0], (list, tuple)) else items[0]
        raise InputError(
            f"{len(items):,} {phrase}, first {first}",
            where=where,
            fix="Complete the data, or say --partial: the number is then not the benchmark's",
        )
    if not there:
        return {}
    return {
        "partial": {
            phrase: {
                "count": len(items),
                "first": [list(i) if isinstance(i, tuple) else i for i in items[:50]],
            }
            for phrase, items in there.items()
        }
    }


def unknown_docs(
    by_query: Mapping[str, Iterable[str]], docs: Mapping[str, Doc]
) -> list[tuple[str, str]]:
    """Returns the (query_id, doc_id) pairs whose document is not in the corpus."""
    return [(q, d) for q, ids in by_query.items() for d in ids if d not in docs]


def without_unknown(qrels: Qrels, known: Iterable[str]) -> dict[str, Mapping[str, int]]:
    """Returns the judgements of the known queries."""
    wanted = set(known)
    return {q: grades for q, grades in qrels.items() if q in wanted}
