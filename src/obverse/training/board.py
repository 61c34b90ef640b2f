"""TensorBoard files of a run, under ``OUT/tensorboard``: whatever ``training.jsonl`` says, as curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from obverse.errors import MissingExtra


class Board:
    """Writes the numbers of a step as curves; nested ones are named by their path (``share/in_batch``)."""

    def __init__(self, folder: Path, first: int) -> None:
        """Opens the files.

        Args:
            folder: Where they go.
            first: The step that training goes on from; later ones of an earlier try are struck out.

        Raises:
            MissingExtra: If tensorboard is not installed.
        """
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MissingExtra("tensorboard", "tensorboard", "writing TensorBoard files") from None
        self._writer: Any = SummaryWriter(str(folder), purge_step=first + 1 if first else None)

    def add(self, step: int, row: Mapping[str, Any]) -> None:
        """Writes the numbers of a step."""
        for name, value in _flat(row):
            self._writer.add_scalar(name, value, step)
        self._writer.flush()


def _flat(row: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}/")
        elif isinstance(value, int | float) and key != "step":
            yield f"{above}{key}", float(value)
