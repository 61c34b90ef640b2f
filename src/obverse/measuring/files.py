"""The files of one measurement: runs, judgements and lists, with what was odd about them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.files import read_json
from obverse.measures.judged import Missing
from obverse.measures.ranks import Ties
from obverse.measures.wise import Variant
from obverse.records import Qrels, Run
from obverse.trec import RunFile, merge_notes, read_qrels, read_run

PathLike = str | os.PathLike[str]
_MADE = ("model", "benchmark", "joining", "template_digest", "max_tokens", "scope", "candidates")


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one measurement and its rules; see :func:`obverse.measuring.measure`."""

    run: PathLike
    qrels: PathLike | None = None
    run_changed: PathLike | None = None
    run_reversed: PathLike | None = None
    qrels_changed: PathLike | None = None
    changed: PathLike | None = None
    groups: PathLike | None = None
    queries: PathLike | None = None
    corpus: PathLike | None = None
    topics: PathLike | None = None
    violations: PathLike | None = None
    group_by: str | None = None
    ties: Ties | None = None
    variant: Variant = "code"
    missing: Missing = "count"
    same_ids: bool = True
    news: bool = False
    seed: int = 0
    notes: dict[str, Any] = field(default_factory=dict)

    def need(self, option: str, why: str) -> PathLike:
        """Returns an option's path.

        Raises:
            SettingError: If the option was not given.
        """
        value: PathLike | None = getattr(self, option)
        if value is None:
            raise SettingError(why, fix=f"Give --{option.replace('_', '-')} FILE")
        return value

    def read_run(self, option: str, why: str = "there is no run") -> RunFile:
        """Returns the run of an option; what is odd about it joins the notes."""
        found = read_run(self.need(option, why))
        self.notes.update(merge_notes(self.notes, found.notes))
        return found

    def read_qrels(self, option: str = "qrels", why: str = "there are no judgements") -> Qrels:
        """Returns the judgements of an option; what is odd about them joins the notes."""
        found = read_qrels(self.need(option, why))
        self.notes.update(merge_notes(self.notes, found.notes))
        return found.qrels

    def judged_run(self) -> tuple[Run, Qrels]:
        """Returns run and judgements of the same queries.

        Raises:
            InputError: If they have no query in common: then they are not of one set.
        """
        run, qrels = self.read_run("run").run, self.read_qrels()
        if not any(query_id in qrels for query_id in run):
            raise InputError(
                f"has no query in common with {os.fspath(self.qrels or '')} (first {next(iter(run))!r} here, "
                f"{next(iter(qrels))!r} there)",
                where=os.fspath(self.run),
                fix="Check that both are of the same set, and that the ids are spelled alike",
            )
        return run, qrels


def how_made(run: PathLike) -> dict[str, Any]:
    """Returns how a run was made, as ``evaluate`` wrote it beside the run; empty for anyone else's run."""
    path = Path(f"{os.fspath(run)}.made.json")
    if not path.is_file():
        return {}
    row = read_json(path)
    return {key: row[key] for key in _MADE if key in row} if isinstance(row, Mapping) else {}


def lists_by_id(path: PathLike, what: str) -> dict[str, list[str]]:
    """Returns a JSON object of lists of ids: ``{"q1": ["d2", ...], ...}``.

    Raises:
        InputError: If the file holds anything else, with the key.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        raise InputError(
            f"is no object of {what}", where=os.fspath(path), fix='Write {"q1": ["d2"], ...}'
        )
    for key, ids in value.items():
        if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
            raise InputError(
                "should be a list of ids in quotes",
                where=f"{os.fspath(path)}, {key}",
                fix=f'Write "{key}": ["d2", ...]',
            )
    return value
