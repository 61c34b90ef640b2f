"""Do several processes train what one trains? A check on the user's own machines, in half a minute.

Each loss is computed in all processes together and by each process alone, with the encoder's own dropout. Compared are
the gradients of all weights after one step (the largest difference, as it is and as a share of the largest
gradient), and the weights after six steps of plain gradient descent.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from obverse.errors import SettingError
from obverse.log import say
from obverse.models import PACKAGED, locate
from obverse.records import Doc, Label, Topic, View
from obverse.training.gradient import Processes
from obverse.training.loss import Terms
from obverse.training.run import Run, prepare
from obverse.training.settings import Settings

TOLERANCE = 1e-6
LOSSES = {
    "info_nce": Terms(),
    "contrast_instructions": Terms(contrast_instructions=1.0),
    "contrast_queries": Terms(contrast_queries=1.0),
    "margin": Terms(margin_weight=1.0),
    "distill": Terms(distill=1.0),
    "keep_close": Terms(keep_close=1.0),
    "matryoshka": Terms(matryoshka=(16,)),
    "plain_weight": Terms(plain_weight=0.5),
    "all of them": Terms(
        contrast_instructions=0.5,
        contrast_queries=0.5,
        margin_weight=1.0,
        distill=0.5,
        keep_close=0.5,
        matryoshka=(16,),
        plain_weight=0.5,
    ),
}
"""The losses that are compared; a term is added to InfoNCE."""

_CHUNKED = ("info_nce", "all of them")
_STEPS, _RATE = 6, 1e-2
_LOCALLY, _SECONDS = 8, 600
_THINGS = ("bicycle", "lamp", "tent", "kettle", "violin", "jacket")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was compared.

    Attributes:
        name: What.
        apart: The largest difference.
        largest: The largest value among what was compared.
    """

    name: str
    apart: float
    largest: float

    @property
    def share(self) -> float:
        """The largest difference as a share of the largest value."""
        return self.apart / max(self.largest, 1e-12)

    @property
    def passed(self) -> bool:
        return self.share <= TOLERANCE

    def __str__(self) -> str:
        verdict = "ok  " if self.passed else "FAIL"
        return f"{verdict}  {self.name}: apart by {self.apart:.1e}, {self.share:.1e} of the largest"


def launch(processes: int, base: str, *, thorough: bool = False) -> int:
    """Starts the check in several local processes through torchrun and returns its exit status.

    Raises:
        SettingError: If there is nothing to compare, or more processes are asked for than processors (or 8, if that is
            more) can serve, or the check takes too long.
    """
    if processes < 2:
        raise SettingError(f"{processes} process is no comparison", fix="Use --processes 2 or more")
    if processes > (most := max(_LOCALLY, os.cpu_count() or 1)):
        raise SettingError(
            f"{processes} processes are too many for this machine", fix=f"Use up to {most}"
        )
    locate(base)
    command = [
        sys.executable,
        *("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"),
        *("-m", "obverse", "doctor", "dist", "--base", base),
        *(["--thorough"] if thorough else []),
    ]
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    running = subprocess.Popen(command, env=environment)
    try:
        return running.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        raise SettingError(
            f"the check took more than {_SECONDS} seconds", fix="Use fewer --processes"
        ) from None
    finally:
        if (
            running.poll() is None
        ):  # torchrun ends its workers when it is asked to, not when it is killed
            running.terminate()
            running.wait()


def check_processes(base: str = PACKAGED, *, thorough: bool = False) -> list[Check]:
    """Compares, in every process of a torchrun, the gradient of all processes with that of this one alone.

    Args:
        base: The encoder to check with.
        thorough: Whether every loss is computed chunked as well, and not two of them alone.

    Returns:
        One check for each gradient, and one for the weights after six steps; the same in every process.

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
        began = time.monotonic()
        found = list(_checks(base, device, everyone, thorough))
        if everyone.rank == 0:
            say(
                f"doctor: {everyone.count} processes, {device.partition(':')[0]}, {time.monotonic() - began:.0f} s"
            )
        return found
    finally:
        dist.destroy_process_group()


def _checks(base: str, device: str, everyone: Processes, thorough: bool) -> Iterator[Check]:
    # Enough micro-batches for all to get whole ones; keep-close on, so that the base's vectors are at hand.
    topics = _topics(max(len(_THINGS), everyone.count))
    settings = Settings(
        batch_size=len(topics),
        max_tokens=32,
        terms=LOSSES["keep_close"],
        precision="fp32",
        micro_tokens=64,
    )
    run = prepare(topics, settings, base=base, out=Path(), device=device)
    for name, terms in LOSSES.items():
        run.settings = replace(settings, terms=terms)
        alone = _gradient(run, Processes())
        yield _check(f"gradient, {name}", _gradient(run, everyone), alone)
        if thorough or name in _CHUNKED:
            run.settings = replace(settings, terms=terms, chunked=True)
            yield _check(f"gradient, {name}, chunked", _gradient(run, everyone), alone)
    run.settings = replace(settings, terms=terms)
    before = [p.detach().clone() for p in run.learner.parameters()]
    ends = []
    for who in (everyone, Processes()):
        _put(run, before)
        for _ in range(_STEPS):
            _gradient(run, who)
            _descend(run)
        ends.append([p.detach().clone() for p in run.learner.parameters()])
    yield _check(f"weights after {_STEPS} steps, all of them", *ends)


def _check(name: str, together: list[Any], alone: list[Any]) -> Check:
    import torch
    import torch.distributed as dist

    apart = max(float((a - b).abs().max()) for a, b in zip(together, alone, strict=True))
    worst = torch.tensor(apart, device=alone[0].device)
    dist.all_reduce(worst, op=dist.ReduceOp.MAX)
    return Check(name, float(worst), max(float(value.abs().max()) for value in alone))


def _gradient(run: Run, who: Processes) -> list[Any]:
    from obverse.training.steps import StepLoss

    for p in run.learner.parameters():
        p.grad = None
    StepLoss(run, who)(run.collator([0]))
    return [p.grad.clone() for p in run.learner.parameters() if p.grad is not None]


def _put(run: Run, weights: list[Any]) -> None:
    import torch

    with torch.no_grad():
        for p, value in zip(run.learner.parameters(), weights, strict=True):
            p.copy_(value)


def _descend(run: Run) -> None:
    import torch

    with torch.no_grad():
        for p in run.learner.parameters():
            if p.grad is not None:
                p.sub_(_RATE * p.grad)


def _topics(count: int) -> list[Topic]:
    """Topics of different lengths: texts cannot be shared out evenly."""
    found = []
    for number in range(count):
        thing = f"{_THINGS[number % len(_THINGS)]} {number}"
        docs = (
            Doc("red", f"A red {thing}" + " in good order" * (number % 8)),
            Doc("blue", f"A blue {thing}" + " for a child" * (number % 3)),
            Doc("none", f"How to mend a {thing}"),
        )
        red = {"red": Label.POSITIVE, "blue": Label.INSTRUCTION_NEGATIVE, "none": Label.NEGATIVE}
        blue = red | {"red": Label.INSTRUCTION_NEGATIVE, "blue": Label.POSITIVE}
        views = (
            View("", {"red": Label.POSITIVE, "blue": Label.POSITIVE, "none": Label.NEGATIVE}),
            View("Only red ones.", red, checks=_teacher(3.0, 1.0)),
            View("Only blue ones.", blue, checks=_teacher(1.0, 3.0)),
        )
        found.append(Topic(thing, f"buy a {thing}", docs, views[: 1 + number % 3]))
    return found


def _teacher(red: float, blue: float) -> dict[str, Any]:
    return {"teacher": {"red": red, "blue": blue, "none": 0.0}}
