"""Prompts per benchmark: a model that wants to be asked differently on different benchmarks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.files import read_json
from obverse.inputs import Template, template_named
from obverse.rankers import EncoderRanker, Ranker

_SLOTS = ("instructed", "plain", "document")


def prompts_by_benchmark(path: str | os.PathLike[str]) -> dict[str, Template]:
    """Returns templates by benchmark from a JSON file.

    A key is a benchmark's name (``followir:core17``), its family (``followir``) or ``*`` for all others; a value is a
    template's name (``e5``) or its patterns: ``{"instructed": "query: {query} {instruction}", "plain": "query:
    {query}", "document": "{title} {text}"}``, of which those that are left out are the default's.

    Raises:
        InputError: If the file holds anything else, with the key.
    """
    value, name = read_json(path), os.fspath(path)
    if not isinstance(value, dict) or not value:
        raise InputError("holds no prompts", where=name, fix='Write {"followir": "e5"}')
    return {key: _template(entry, f"{name}, {key}") for key, entry in value.items()}


def _template(entry: Any, where: str) -> Template:
    try:
        if isinstance(entry, str):
            return template_named(entry)
        if (
            isinstance(entry, dict)
            and entry
            and entry.keys() <= set(_SLOTS)
            and all(isinstance(pattern, str) for pattern in entry.values())
        ):
            return Template(**entry)
    except SettingError as error:
        raise InputError(error.what, where=where, fix=error.fix) from None
    raise InputError(
        "is neither a template's name nor its patterns",
        where=where,
        fix=f"Write a name, or an object with {', '.join(_SLOTS)}",
    )


def with_prompts(ranker: Ranker, benchmark: str, prompts: Mapping[str, Template]) -> Ranker:
    """Returns the model as a benchmark wants it asked; the same model where nothing is said of the benchmark.

    Raises:
        SettingError: If the model is none that reads prompts.
    """
    family = benchmark.partition(":")[0]
    template = next((prompts[key] for key in (benchmark, family, "*") if key in prompts), None)
    if template is None:
        return ranker
    if not isinstance(ranker, EncoderRanker):
        raise SettingError(f"{ranker.name} reads no prompts", fix="Leave --prompts away")
    if template == ranker.encoder.template:
        return ranker
    return EncoderRanker(ranker.encoder.with_template(template))
