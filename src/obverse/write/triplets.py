"""Triplets and n-tuples for sentence-transformers: JSON Lines, CSV, TSV or Parquet by suffix."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.inputs import Template
from obverse.log import say
from obverse.records import Topic
from obverse.write.tables import write_table
from obverse.write.view_rows import ViewRow, view_rows


def write_triplets(
    path: str | os.PathLike[str], topics: Iterable[Topic], template: Template
) -> int:
    """Writes ``anchor, positive, negative``: one row for each pair of a positive and a negative of a view."""
    return write_table(path, _triplets(topics, template), ["anchor", "positive", "negative"])


def _triplets(topics: Iterable[Topic], template: Template) -> Iterator[dict[str, Any]]:
    without = count = 0
    for row in view_rows(topics, template):
        count += 1
        negatives = row.instruction_negatives + row.negatives
        without += not negatives
        for positive in row.positives:
            for negative in negatives:
                yield {
                    "anchor": row.query,
                    "positive": template.doc(positive),
                    "negative": template.doc(negative),
                }
    if without == count:
        raise _no_row()
    if without:
        say(f"write: {without:,} views without a negative left out")


def write_tuples(
    path: str | os.PathLike[str],
    topics: Iterable[Topic],
    template: Template,
    *,
    negatives: int = 5,
) -> int:
    """Writes ``anchor, positive, negative_1 ... negative_n``, instruction negatives first.

    Args:
        negatives: How many negative columns. A view with fewer is written again with those it has, as
            sentence-transformers wants equal columns in every row; one without any is left out. Of a view with
            more, the first are taken.

    Raises:
        SettingError: If there is to be no negative.
    """
    if negatives < 1:
        raise SettingError(f"--negatives is {negatives}", fix="Give at least 1")
    names = [f"negative_{number}" for number in range(1, negatives + 1)]
    return write_table(
        path, _tuples(view_rows(topics, template), template, names), ["anchor", "positive", *names]
    )


def _tuples(
    found: Iterable[ViewRow], template: Template, names: list[str]
) -> Iterator[dict[str, Any]]:
    short = without = over = count = 0
    for row in found:
        count += 1
        every = row.instruction_negatives + row.negatives
        docs = every[: len(names)]
        over += len(every) - len(docs)
        if not docs:
            without += 1
            continue
        short += len(docs) < len(names)
        texts = [template.doc(docs[at % len(docs)]) for at in range(len(names))]
        for positive in row.positives:
            yield {"anchor": row.query, "positive": template.doc(positive)} | dict(
                zip(names, texts, strict=True)
            )
    if without == count:
        raise _no_row()
    if short or without:
        say(
            f"write: {short:,} views have fewer than {len(names)} negatives and repeat theirs; "
            f"{without:,} without any left out"
        )
    if over:
        say(f"write: {over:,} negatives beyond the first {len(names)} left out (--negatives)")


def _no_row() -> InputError:
    return InputError(
        "no view has a negative, and every row of this form needs one",
        fix="Mine some first: obverse mine TOPICS --corpus CORPUS --out MINED",
    )
