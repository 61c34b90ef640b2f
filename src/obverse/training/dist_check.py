"""Do several processes train what one trains? A check on the user's own machines, in half a minute."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.errors import SettingError
from obverse.log import say
from obverse.models import PACKAGED
from obverse.records import Doc, Label, Topic, View
from obverse.training.gradient import Processes
from obverse.training.loss import Terms
from obverse.training.run import Run, prepare
from obverse.training.settings import Settings

TOLERANCE = 1e-5
_THINGS = ("bicycle", "lamp", "tent", "kettle", "violin", "jacket", "camera", "boat")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was compared.

    Attributes:
        name: What.
        apart: The largest difference, as a share of the largest gradient.
    """

    name: str
    apart: float

    @property
    def passed(self) -> bool:
        return self.apart <= TOLERANCE


def launch(processes: int, base: str) -> int:
    """Starts the check in several local processes through torchrun and returns its exit status."""
    if processes < 2:
        raise SettingError(f"{processes} process is no comparison", fix="Use --processes 2 or more")
    command = [
        sys.executable,
        *("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"),
        *("-m", "obverse", "doctor", "dist", "--base", base),
    ]
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    return subprocess.run(command, env=environment, timeout=600, check=False).returncode


def check_processes(base: str = PACKAGED) -> list[Check]:
    """Compares, in every process of a torchrun, the gradient of all processes with that of this one alone.

    Returns:
        One check for each loss and for chunked encoding; the same in every process.

    Raises:
        SettingError: If it does not run under torchrun.
    """
    import torch
    import torch.distributed as dist

    if "WORLD_SIZE" not in os.environ:
        raise SettingError("there is one process alone", fix="Start it by torchrun")
    on_gpu = torch.cuda.is_available()
    device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if on_gpu else "cpu"
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if on_gpu else "gloo")
    try:
        everyone = Processes(dist.get_rank(), dist.get_world_size())
        began, found = time.monotonic(), []
        for name, terms, chunked in (
            ("info_nce", Terms(), False),
            ("info_nce, chunked", Terms(), True),
            ("all terms", _every_term(), False),
        ):
            run = prepare(
                _topics(),
                Settings(
                    batch_size=8, max_tokens=32, terms=terms, chunked=chunked, precision="fp32"
                ),
                base=base,
                out=Path(),
                device=device,
            )
            found.append(Check(name, _apart(run, everyone)))
        if everyone.rank == 0:
            say(
                f"doctor: {everyone.count} processes, {device.partition(':')[0]}, {time.monotonic() - began:.0f} s"
            )
        return found
    finally:
        dist.destroy_process_group()


def _every_term() -> Terms:
    return Terms(contrast_instructions=0.5, contrast_queries=0.5, margin_weight=1.0, keep_close=0.5)


def _apart(run: Run, everyone: Processes) -> float:
    import torch
    import torch.distributed as dist

    for module in run.learner.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    together, alone = (_gradient(run, who) for who in (everyone, Processes()))
    most = max(float(value.abs().max()) for value in alone)
    apart = max(float((a - b).abs().max()) for a, b in zip(together, alone, strict=True)) / max(
        most, 1e-12
    )
    worst = torch.tensor(apart, device=alone[0].device)
    dist.all_reduce(worst, op=dist.ReduceOp.MAX)
    return float(worst)


def _gradient(run: Run, who: Processes) -> list[Any]:
    from obverse.training.steps import StepLoss

    for p in run.learner.parameters():
        p.grad = None
    StepLoss(run, who)(run.collator([0]))
    return [p.grad.clone() for p in run.learner.parameters() if p.grad is not None]


def _topics() -> list[Topic]:
    """Topics of different lengths: texts cannot be shared out evenly."""
    found = []
    for number, thing in enumerate(_THINGS):
        docs = (
            Doc("red", f"A red {thing}" + " in good order" * number),
            Doc("blue", f"A blue {thing}" + " for a child" * (number % 3)),
            Doc("none", f"How to mend a {thing}"),
        )
        red = {"red": Label.POSITIVE, "blue": Label.INSTRUCTION_NEGATIVE, "none": Label.NEGATIVE}
        blue = red | {"red": Label.INSTRUCTION_NEGATIVE, "blue": Label.POSITIVE}
        views = (
            View("", {"red": Label.POSITIVE, "blue": Label.POSITIVE, "none": Label.NEGATIVE}),
            View("Only red ones.", red),
            View("Only blue ones.", blue),
        )
        found.append(Topic(thing, f"buy a {thing}", docs, views[: 1 + number % 3]))
    return found
