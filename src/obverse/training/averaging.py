"""Averages of weights: over the last part of a run, and with the base."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = "average.safetensors"


@dataclass(slots=True)
class Averages:
    """The weights to be averaged.

    Averaging along the way is after Izmailov et al. (2018), *Averaging Weights Leads to Wider Optima*,
    https://arxiv.org/abs/1803.05407; mixing with the base after Wortsman et al. (2022), *Robust fine-tuning of
    zero-shot models*, https://arxiv.org/abs/2109.01903.

    Attributes:
        model: The encoder.
        with_base: The base's share in the final weights.
        first: The first step whose weights are averaged; None averages none.
    """

    model: Any
    with_base: float
    first: int | None
    _base: dict[str, Any] = field(default_factory=dict)
    _sum: dict[str, Any] = field(default_factory=dict)
    _count: int = 0
    _last: int = 0

    def __post_init__(self) -> None:
        if self.with_base:
            self._base = {name: p.detach().clone() for name, p in self._learned()}

    def _learned(self) -> list[tuple[str, Any]]:
        return [(name, p) for name, p in self.model.named_parameters() if p.requires_grad]

    def after(self, step: int) -> None:
        """Takes the weights after a step; the same step twice counts once."""
        if self.first is None or step < self.first or step == self._last:
            return
        self._last, self._count = step, self._count + 1
        for name, p in self._learned():
            if name in self._sum:
                self._sum[name].add_(p.detach().double())
            else:
                self._sum[name] = p.detach().double().clone()

    def save(self, folder: Path) -> None:
        """Writes what has been summed up into a checkpoint."""
        import torch
        from safetensors.torch import save_file

        if self._count:
            counts = torch.tensor([self._count, self._last])
            save_file({**self._sum, "_counts": counts}, str(folder / FILE))

    def load(self, folder: Path) -> None:
        """Goes on from a checkpoint."""
        from safetensors.torch import load_file

        if (folder / FILE).is_file():
            self._sum = load_file(str(folder / FILE))
            self._count, self._last = map(int, self._sum.pop("_counts"))

    def apply(self) -> None:
        """Puts the averages in the place of the weights."""
        import torch

        with torch.no_grad():
            for name, p in self._learned():
                value = self._sum[name] / self._count if self._count else p.double()
                if self.with_base:
                    value = (
                        self.with_base * self._base[name].double() + (1 - self.with_base) * value
                    )
                p.copy_(value.to(p.dtype))
