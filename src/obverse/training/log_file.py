"""The log of a run, a line a step."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from obverse.files import to_json, whole_file
from obverse.log import say
from obverse.training.board import Board
from obverse.training.gradient import Processes
from obverse.training.model_names import LOG
from obverse.training.run import Run


class LogFile:
    """``training.jsonl``: a line a step, written at once, for people and plots."""

    def __init__(self, run: Run, who: Processes) -> None:
        self.path, self.run, self.silent = run.home / LOG, run, who.rank != 0
        self.began, self.first = time.monotonic(), 0
        self.tensorboard, self._board = False, None  # type: bool, Board | None
        if not self.silent:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()

    def go_back(self, step: int, losses: list[float]) -> None:
        """Forgets the lines after a step, from which training goes on."""
        import orjson

        self.first = step
        if self.silent:
            return
        kept = []
        for line in self.path.read_bytes().splitlines():
            # Suppressed: a line that was not written to its end, the last one.
            with contextlib.suppress(orjson.JSONDecodeError):
                kept += [row for row in [orjson.loads(line)] if row["step"] <= step]
        losses[:] = [row["loss"] for row in kept if "loss" in row]
        with whole_file(self.path) as stream:
            stream.write(b"".join(to_json(row) + b"\n" for row in kept))

    def add(self, step: int, logs: dict[str, float], seen: dict[str, Any]) -> None:
        """Writes a step's line, and says every tenth of the run how it stands."""
        if self.silent:
            return
        total = len(self.run.plan)
        spent = time.monotonic() - self.began
        epoch, topics = self.run.plan.seen(step)
        row = {
            "step": step,
            "epoch": round(epoch + topics / self.run.plan.epoch_size, 4),
            "loss": logs["loss"],
            "learning_rate": logs["learning_rate"],
            "gradient_norm": logs.get("grad_norm"),
            "seconds": round(spent, 2),
        }
        with self.path.open("ab") as stream:
            stream.write(to_json(row | seen) + b"\n")
        self.draw(step, row | seen)
        if step * 10 // total > (step - 1) * 10 // total:
            left = spent / max(1, step - self.first) * (total - step)
            say(f"train: step {step:,} of {total:,}, loss {logs['loss']:.3f}, {left:.0f} s left")

    def draw(self, step: int, row: dict[str, Any]) -> None:
        """Writes a row's numbers into TensorBoard files too, if they are asked for."""
        if self.tensorboard and not self.silent:
            self._board = self._board or Board(self.run.out / "tensorboard", self.first)
            self._board.add(step, row)
