"""The processes of a run, as torchrun starts them."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator

from obverse.errors import SettingError
from obverse.training.gradient import Processes


def processes() -> Processes:
    """Returns who trains: this process's number and how many there are.

    Raises:
        SettingError: If several GPUs are visible to one process.
    """
    import torch

    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count > 1:
        return Processes(int(os.environ.get("RANK", "0")), count)
    if torch.cuda.device_count() > 1:
        raise SettingError(
            f"{torch.cuda.device_count()} GPUs are visible to one process",
            fix="Start with torchrun --nproc-per-node, or name one in CUDA_VISIBLE_DEVICES",
        )
    return Processes()


def own_device(device: str | None) -> str | None:
    """Returns where this process computes: each process of a machine has a GPU of its own.

    Raises:
        SettingError: If there is no such device.
    """
    import torch

    if device is not None:
        try:
            torch.empty(1, device=device)
        except Exception as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:120]
            raise SettingError(
                f"device {device!r} cannot be used ({reason})",
                fix="Use cpu, or leave --device away",
            ) from None
    if device is None and int(os.environ.get("WORLD_SIZE", "1")) > 1 and torch.cuda.is_available():
        return f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    return device


def connect(device: str) -> None:
    """Connects the processes, if there are several."""
    from accelerate import PartialState

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        PartialState(cpu=device == "cpu")


def wait() -> None:
    """Waits for all processes."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        dist.barrier()


@contextlib.contextmanager
def one_voice() -> Iterator[None]:
    """Lets the first process alone speak: all see the same data and would say the same."""
    if os.environ.get("RANK", "0") == "0":
        yield
        return
    with contextlib.redirect_stderr(io.StringIO()):
        yield
