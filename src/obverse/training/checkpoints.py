"""Checkpoints: which run they belong to, whether they are whole, and which to go on from."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.files import read_json, write_json
from obverse.log import say
from obverse.training.processes import processes

STATE = "data_state.json"


def write_state(folder: Path, run: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
    """Writes ``data_state.json`` into a checkpoint, last of all: with it, and all files it names, it is whole.

    Args:
        folder: The checkpoint.
        run: What the run is made of: data, base, settings.
        seen: How far it is.
    """
    files = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != STATE
    }
    write_json(folder / STATE, {**run, **seen, "files": files})


def is_whole(folder: Path) -> bool:
    """Whether everything that ``data_state.json`` names is there in full."""
    try:
        files = read_json(folder / STATE)["files"]
        return all((folder / name).stat().st_size == size for name, size in files.items())
    except (InputError, OSError, KeyError, TypeError, AttributeError):
        return False


def last_whole(home: Path) -> Path | None:
    """Returns the latest whole checkpoint of a folder, or None; says which half-written ones it passes over."""
    found = sorted(home.glob("checkpoint-*"), key=_step, reverse=True)
    broken: list[str] = []
    for folder in found:
        if is_whole(folder):
            if broken:
                say(
                    f"train: {', '.join(broken)} is half-written; going on from {folder.name}, the last whole one"
                )
            return folder
        broken.append(folder.name)
    if broken:
        say(f"train: {', '.join(broken)} is half-written, and there is no whole one; starting anew")
    return None


def remove_after(home: Path, kept: Path | None) -> None:
    """Removes the checkpoints after the one that a run goes on from: it writes them again."""
    for folder in home.glob("checkpoint-*"):
        if kept is None or _step(folder) > _step(kept):
            shutil.rmtree(folder, ignore_errors=True)


def _step(folder: Path) -> int:
    number = folder.name.rpartition("-")[2]
    return int(number) if number.isdigit() else -1


def differences(before: Mapping[str, Any], run: Mapping[str, Any]) -> list[str]:
    """Returns in words how the data and settings of a run differ from those of an earlier one."""
    found = []
    for key, value in run.items():
        old = before.get(key)
        if key == "settings":
            found += [
                f"{name} was {(old or {}).get(name)!r} and is {now!r}"
                for name, now in value.items()
                if (old or {}).get(name) != now
            ]
        elif old != value:
            name = "watch on held-out topics" if key == "held_out" else key
            found.append(f"the {name} was {old!r} and is {value!r}")
    return found


def refuse_other_run(folder: Path, run: Mapping[str, Any]) -> None:
    """Raises SettingError, naming every difference, if a checkpoint belongs to other data or settings."""
    found = differences(read_json(folder / STATE), run)
    if found:
        raise SettingError(
            f"cannot go on from this checkpoint: {'; '.join(found)}",
            where=str(folder),
            fix="Give what it was begun with, another --out, or --restart to begin anew",
        )


def how_computed() -> dict[str, int]:
    """Returns what moves the last digits of the weights: how many processes there are, and threads in each."""
    import torch

    return {"processes": processes().count, "threads": torch.get_num_threads()}


def other_machine(folder: Path) -> str:
    """Returns in words how a checkpoint was computed, if it was with other processes or threads than there are now."""
    before = read_json(folder / STATE)
    return "; ".join(
        f"{name} were {before[name]} and are {now}"
        for name, now in how_computed().items()
        if before.get(name, now) != now
    )
