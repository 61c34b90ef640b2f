"""Rows of Hugging Face data sets: ``hf:owner/name``, ``hf:owner/name:split``, or a folder that was saved to disk.

The rows then go to whichever reader their columns fit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from obverse.errors import InputError, MissingExtra
from obverse.log import say

PREFIX = "hf:"


def is_hugging_face(path: str | os.PathLike[str]) -> bool:
    """Whether a source is a data set of the hub, or a folder that ``save_to_disk`` wrote."""
    name = os.fspath(path)
    if name.startswith(PREFIX):
        return True
    folder = Path(name)
    return (folder / "state.json").is_file() or (folder / "dataset_dict.json").is_file()


def hugging_face_rows(path: str | os.PathLike[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields ``(row number, row)`` of a data set.

    Raises:
        MissingExtra: If datasets is not installed.
        InputError: If there is no such data set or split.
    """
    datasets = _datasets()
    name = os.fspath(path).removeprefix(PREFIX)
    name, _, split = name.partition(":") if not Path(name).exists() else (name, "", "")
    try:
        if Path(name).is_dir() and is_hugging_face(name):
            found = datasets.load_from_disk(name)
            if hasattr(found, "column_names") and isinstance(found, dict):
                first = next(iter(found))
                if not split and len(found) > 1:
                    others = ", ".join(map(str, found))
                    say(
                        f"{name}: read the split {first} of {others}; hf:{name}:SPLIT reads another"
                    )
                found = found[split or first]
        else:
            found = datasets.load_dataset(name, split=split or "train", streaming=True)
        yield from enumerate(found, start=1)
    except (FileNotFoundError, ValueError, KeyError, ConnectionError, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(
            f"cannot be loaded ({reason})",
            where=name,
            fix="Give a folder written by save_to_disk, or a hub name while the hub can be reached",
        ) from None


def _datasets() -> Any:
    try:
        import datasets
    except ImportError:
        raise MissingExtra("datasets", "train", "reading Hugging Face data sets") from None
    return datasets
