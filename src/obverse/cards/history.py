"""How a set was made: the made-files of its stages, from the first input to the set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.errors import InputError
from obverse.files import digest, read_json

ATTRIBUTION = "ATTRIBUTION.md"


@dataclass(frozen=True, slots=True)
class Step:
    """One stage that a set has gone through.

    Attributes:
        file: What it wrote.
        made: Its made-file.
        changed: Whether the file is another one now than the stage after it has read.
    """

    file: str
    made: Mapping[str, Any]
    changed: bool = False

    @property
    def command(self) -> str:
        return str(self.made.get("command", "?"))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set to something."""
        given = self.made.get("parameters")
        return {
            key: value
            for key, value in (given if isinstance(given, dict) else {}).items()
            if value not in (None, "", [], {}, False)
        }

    @property
    def dropped(self) -> dict[str, int]:
        """What it took away, by reason."""
        found = self.made.get("dropped")
        return dict(found) if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class History:
    """All stages, first ones first, and the files that no stage has made.

    Attributes:
        steps: The stages.
        origins: Input files without a made-file, where they still lie.
    """

    steps: Sequence[Step]
    origins: Sequence[Path]

    @property
    def audit(self) -> tuple[str, Mapping[str, Any]] | None:
        """The last audit by people, with the file that was audited."""
        for step in reversed(self.steps):
            if isinstance(found := step.made.get("audit"), dict):
                return step.file, found
        return None

    @property
    def leak_filters(self) -> list[dict[str, Any]]:
        """The leak filters that ran: ``{"against", "levels", "dropped"}``."""
        found = []
        for step in self.steps:
            by = step.parameters.get("by") or []
            if step.command == "filter" and "leak" in by:
                dropped = {k: n for k, n in step.dropped.items() if k.startswith("leak")}
                found.append(
                    {
                        "against": [Path(str(p)).name for p in step.parameters.get("against", [])],
                        "levels": step.parameters.get("levels"),
                        "dropped": dropped,
                    }
                )
        return found

    @property
    def attributions(self) -> list[str]:
        """What an ATTRIBUTION.md beside the first inputs says of sources and licences, without its title."""
        found = []
        for folder in dict.fromkeys(origin.parent for origin in self.origins):
            if (path := folder / ATTRIBUTION).is_file():
                found.append(_without_title(path.read_text(encoding="utf-8")))
        return list(dict.fromkeys(found))


def history(*files: Path) -> History:
    """Returns how files were made, as far as made-files tell.

    Raises:
        InputError: If a made-file is no JSON object.
    """
    steps: dict[str, Step] = {}
    origins: dict[Path, None] = {}
    for file in files:
        _follow(file, None, steps, origins)
    return History(list(steps.values()), list(origins))


def _follow(
    file: Path,
    read: str | None,
    steps: dict[str, Step],
    origins: dict[Path, None],
    under_way: tuple[str, ...] = (),
) -> None:
    # A file that was made of itself, or of what was made of it, is followed once.
    made_file = Path(f"{file}.made.json")
    if str(file) in steps or str(file) in under_way:
        return
    if not made_file.is_file():
        if file.is_file():
            origins[file] = None
        return
    made = read_json(made_file)
    if not isinstance(made, dict):
        raise InputError("is no JSON object", where=str(made_file), fix="Make the file again")
    inputs = made.get("inputs")
    for name, then in (inputs if isinstance(inputs, dict) else {}).items():
        _follow(_found(name, file), str(then), steps, origins, (*under_way, str(file)))
    changed = read is not None and file.is_file() and digest(file) != read
    steps[str(file)] = Step(file.name, made, changed)


def _found(name: str, reader: Path) -> Path:
    """Where an input lies: as it was named then, or as seen from the file that was made of it, or beside that."""
    named = Path(name)
    places = (named, reader.parent / named, reader.parent / named.name)
    return next((place for place in places if place.is_file()), places[-1])


def _without_title(text: str) -> str:
    lines = text.strip().splitlines()
    return "\n".join(lines[1:] if lines and lines[0].startswith("#") else lines).strip()
