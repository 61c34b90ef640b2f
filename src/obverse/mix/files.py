"""Mixing from files to a file: what was left out, how it was made and the ledger stand beside the output."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from obverse.errors import SettingError
from obverse.files import read_topics, write_topics
from obverse.ledger.counting import Ledger, ledger
from obverse.mix.replacing import append, replace
from obverse.mix.shares import mix
from obverse.records import Topic
from obverse.stages import Drops, finish_stage, refuse_own_input

Path = str | os.PathLike[str]


def mix_files(
    sources: Sequence[str],
    out: Path,
    *,
    share: Sequence[float] | None = None,
    size: int | None = None,
    unit: str = "topics",
    caps: Mapping[str, int] | None = None,
    tokens: str = "words",
    seed: int = 0,
) -> Ledger:
    """Writes a set drawn from several files, see :func:`obverse.mix.mix`, and returns its ledger.

    Args:
        sources: Topics files.
        out: Where the set goes.
        share: The weight of each source, in their order.
        size: How large the set is.
        unit: What ``size`` counts.
        caps: At most so many views, queries, documents, tokens.
        tokens: How tokens are counted.
        seed: Chooses the topics and their order.

    Raises:
        SettingError: If a source is named twice, or the shares do not fit the sources.
    """
    if len(set(sources)) < len(sources):
        raise SettingError("a source is named twice", fix="Name each file once")
    if share and len(share) != len(sources):
        raise SettingError(
            f"{len(share)} shares are given for {len(sources)} sources",
            fix="Give one --share for each",
        )
    drops, found = Drops(), {name: list(read_topics(name)) for name in sources}
    shares = dict(zip(sources, share, strict=True)) if share else None
    topics = mix(
        found,
        size=size,
        unit=unit,
        shares=shares,
        caps=caps,
        tokens=tokens,
        seed=seed,
        drops=drops,
    )
    settings = {
        "size": size,
        "unit": unit,
        "share": list(share) if share else None,
        "caps": dict(caps or {}),
        "tokens": tokens,
        "seed": seed,
    }
    return _finish("mix", out, topics, found, drops, settings, tokens=tokens)


def replace_files(
    base: str,
    other: str,
    out: Path,
    *,
    match: str = "topic_id",
    unit: str = "views",
    part: float = 1.0,
    tokens: str = "words",
    seed: int = 0,
) -> Ledger:
    """Writes the base with topics of another file in their place, see :func:`obverse.mix.replace`."""
    drops, found = Drops(), {name: list(read_topics(name)) for name in (base, other)}
    made = replace(found[base], found[other], match=match, unit=unit, part=part, seed=seed)
    made.note(drops)
    settings = {"replace": other, "match": match, "unit": unit, "part": part, "seed": seed}
    facts = {
        "swapped": len(made.swaps),
        "made_room": len(made.made_room),
        "came": len(made.came),
        "could_not_be_swapped": made.kept,
        "unused": made.unused,
    }
    return _finish("mix", out, made.topics, found, drops, settings, tokens=tokens, replaced=facts)


def append_files(
    base: str, others: Sequence[str], out: Path, *, match: str = "topic_id", tokens: str = "words"
) -> Ledger:
    """Writes the base with other files added, see :func:`obverse.mix.append`."""
    found = {name: list(read_topics(name)) for name in (base, *others)}
    topics = found[base]
    for other in others:
        topics = append(topics, found[other], match=match)
    settings = {"append": list(others), "match": match}
    return _finish("mix", out, topics, found, Drops(), settings, tokens=tokens)


def _finish(
    name: str,
    out: Path,
    topics: Sequence[Topic],
    found: Mapping[str, Sequence[Topic]],
    drops: Drops,
    settings: Mapping[str, Any],
    *,
    tokens: str = "words",
    **facts: Any,
) -> Ledger:
    refuse_own_input(out, *found)
    book = ledger(topics, tokens=tokens)
    write_topics(out, topics)
    came = ", ".join(f"{len(rows):,} topics from {source}" for source, rows in found.items())
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in book.kinds.items())
    left = f"{book.topics:,} topics, {book.views:,} views ({kinds}), {book.documents:,} documents"
    finish_stage(
        name,
        out,
        came,
        left,
        drops,
        inputs=list(found),
        parameters=settings,
        ledger=book.to_json(hashes=False),
        **facts,
    )
    return book
