"""Topics out, in the forms of other trainers, so that nobody has to stay with ours."""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Iterable
from typing import Any

from obverse.errors import SettingError
from obverse.inputs import Template, template_named
from obverse.log import say
from obverse.records import Topic
from obverse.write.losses import Losses

FORMATS: dict[str, str] = {
    "triplets": "obverse.write.triplets:write_triplets",
    "n-tuples": "obverse.write.triplets:write_tuples",
    "tevatron": "obverse.write.tevatron:write_tevatron",
    "tevatron-ids": "obverse.write.tevatron:write_tevatron_ids",
    "promptriever": "obverse.write.tevatron:write_promptriever",
    "flag_embedding": "obverse.write.flag_embedding:write_flag_embedding",
    "swift": "obverse.write.swift:write_swift",
    "arctic": "obverse.write.arctic:write_arctic",
    "beir": "obverse.write.beir:write_beir",
}
"""Writers by format: ``module:function`` of ``(path, topics, template, **options) -> rows``."""
FOLDERS: dict[str, tuple[str, ...]] = {
    "tevatron-ids": ("train.jsonl", "corpus.jsonl"),
    "arctic": ("queries.parquet", "documents.parquet", "labels.parquet"),
    "beir": ("corpus.jsonl", "queries.jsonl"),
}
"""The formats that are folders, with files of theirs."""


def write(
    path: str | os.PathLike[str],
    topics: Iterable[Topic],
    format: str,
    *,
    template: Template | str = "default",
    **options: Any,
) -> int:
    """Writes topics in another trainer's form and returns the number of rows.

    Where the form has no place for an instruction, query and instruction are joined by the template, as our own
    training and search join them. Views without what the form needs (a negative in a triplet) are left out and
    said, and so is whatever else the form cannot hold.

    Args:
        path: A file, or a folder for ``arctic``, ``beir`` and ``tevatron-ids``.
        topics: What to write.
        format: A name of :data:`FORMATS`.
        template: How query, instruction and document become strings.
        **options: What the format's writer takes: ``negatives`` (n-tuples), ``split`` (beir).

    Raises:
        SettingError: If the format is unknown, does not take an option, or is a folder and the path standard output.
    """
    if format not in FORMATS:
        raise SettingError(
            f"cannot write the format {format!r}", fix=f"Use one of {', '.join(FORMATS)}"
        )
    module, _, name = FORMATS[format].partition(":")
    writer = getattr(importlib.import_module(module), name)
    for option in options.keys() - inspect.signature(writer).parameters.keys():
        raise SettingError(
            f"--{option} means nothing for the format {format}", fix=f"Leave out --{option}"
        )
    if format in FOLDERS and os.fspath(path) == "-":
        raise SettingError(f"{format} is a folder of files", fix="Name a folder with --out")
    chosen = template_named(template) if isinstance(template, str) else template
    losses = Losses(format)
    count = int(writer(path, losses.watch(topics), chosen, **options))
    if lost := str(losses):
        say(f"write: {format} has no place for {lost}")
    if losses.without and format not in ("triplets", "n-tuples"):
        say(f"write: {losses.without:,} views have no negative, which a trainer may stop at")
    return count


__all__ = ["FOLDERS", "FORMATS", "write"]
