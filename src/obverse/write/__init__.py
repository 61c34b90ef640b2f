"""Topics out, in the forms of other trainers, so that nobody has to stay with ours."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from typing import Any

from obverse.errors import SettingError
from obverse.inputs import Template, template_named
from obverse.records import Topic

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
    said.

    Args:
        path: A file, or a folder for ``arctic``, ``beir`` and ``tevatron-ids``.
        topics: What to write.
        format: A name of :data:`FORMATS`.
        template: How query, instruction and document become strings.
        **options: What the format's writer takes.

    Raises:
        SettingError: If the format is unknown.
    """
    if format not in FORMATS:
        raise SettingError(
            f"cannot write the format {format!r}", fix=f"Use one of {', '.join(FORMATS)}"
        )
    module, _, name = FORMATS[format].partition(":")
    writer = getattr(importlib.import_module(module), name)
    chosen = template_named(template) if isinstance(template, str) else template
    return int(writer(path, topics, chosen, **options))


__all__ = ["FORMATS", "write"]
