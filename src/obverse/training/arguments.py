"""What a caller gives, looked at before anything is read, loaded or written: empty names, sizes beyond any use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from obverse.errors import SettingError

_NAMES = {
    "topics": "the name of the topics",
    "source": "the name of the file",
    "model": "the name of the model",
    "base": "--base",
    "out": "--out",
    "template": "--template",
    "device": "--device",
    "held_out": "--held-out",
}
"""Names of files, folders and the like. An empty one would be taken for the folder where the command runs, or for
nothing having been said."""

MOST: Mapping[str, int] = {
    "steps": 1_000_000_000,
    "epochs": 1_000_000,
    "lora": 4096,
    "seed": 2**63 - 1,
}
_MOST_OF_ANY = 10**12
"""Above it a whole number no longer fits where libraries put it."""


def need_names(given: Mapping[str, Any]) -> None:
    """Raises SettingError if a name among a function's parameters is empty."""
    for name, words in _NAMES.items():
        value = given.get(name)
        if isinstance(value, str | os.PathLike) and not os.fspath(value).strip():
            raise SettingError(f"{words} is empty", fix="Give a name")


def need_sizes(given: Mapping[str, Any]) -> None:
    """Raises SettingError if a number among a function's parameters is above what can be meant."""
    for name, value in given.items():
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole and not (name in MOST and isinstance(value, float)):
            continue
        if abs(value) > (most := MOST.get(name, _MOST_OF_ANY)):
            # A whole number may have more digits than Python prints.
            shown = f"{value:g}" if not whole else value if abs(value) < 10**30 else "far too large"
            raise SettingError(f"{name.replace('_', ' ')} is {shown}", fix=f"Give at most {most:,}")
