"""The folder of a run: whose it is, who else writes there, and where a stopped run goes on."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from obverse.errors import SettingError
from obverse.files import hold
from obverse.inputs import FILE_NAME
from obverse.log import say
from obverse.models import locate
from obverse.training.checkpoints import last_whole, other_machine, refuse_other_run, remove_after
from obverse.training.model_names import (
    CHECKPOINTS,
    LOCK,
    LOG,
    foreign_parts,
    is_foreign_home,
    remove_run,
)
from obverse.training.processes import connect, processes, wait
from obverse.training.run import Run
from obverse.training.sides import refuse_file

_SHOWN = 3


def own_folder(out: Path, base: str) -> Path:
    """Returns the folder if a model may be written there.

    Raises:
        SettingError: If it or a folder above it is a file, if it is the base, or holds a model that obverse did not
            train, or files or a folder of the names that training writes and has not written.
        ModelError: If there is no such base.
    """
    refuse_file(out)
    if (out / "modules.json").is_file() and not (out / FILE_NAME).is_file():
        raise SettingError(
            "holds a model that was not trained here", where=str(out), fix="Give another --out"
        )
    if found := foreign_parts(out):
        raise SettingError(
            f"holds {_listed(found)}, which a model would replace and no training has written",
            where=str(out),
            fix="Give another --out, or move them away",
        )
    if is_foreign_home(home := out / CHECKPOINTS):
        raise SettingError(
            "holds no checkpoints of a run, and those of this one would go there",
            where=str(home),
            fix="Give another --out, or move it away",
        )
    if Path(locate(base)).resolve() == out.resolve():
        raise SettingError(
            "is the base itself, without which a stopped run could not go on",
            where=str(out),
            fix="Give another --out",
        )
    return out


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (
        f" and {len(names) - _SHOWN} more" if names[_SHOWN:] else ""
    )


def start_of(run: Run, *, restart: bool) -> Path | None:
    """Returns the checkpoint to go on from, the same in all processes, after clearing away what comes after it.

    Raises:
        SettingError: If the checkpoint belongs to other data or settings.
    """
    if processes().count > run.plan.batch_size:
        raise SettingError(
            f"{processes().count} processes share a batch of {run.plan.batch_size} topics",
            fix="Start fewer processes, or raise --batch-size",
        )
    connect(run.forward.device.type)
    first = processes().rank == 0
    if restart and first:
        remove_run(run.home)
    wait()
    start = last_whole(run.home)
    if start is not None:
        refuse_other_run(start, run.identity)
        say(f"train: going on from {start}")
        if changed := other_machine(start):
            say(
                f"train: {changed}: same topics in the same order, but weights that differ by rounding"
            )
    wait()
    if first:
        remove_after(run.home, start)
        run.home.mkdir(parents=True, exist_ok=True)
        if start is None:
            (run.home / "watch.json").unlink(missing_ok=True)
            # Emptied and not removed: it says whose folder this is.
            (run.home / LOG).write_bytes(b"")
    wait()
    return start


@contextlib.contextmanager
def alone(run: Run) -> Iterator[None]:
    """Keeps other runs out of the folder: processes may outlive the torchrun that started them."""
    if processes().rank != 0:
        yield
        return
    path = run.out / LOCK
    lock = hold(
        path, elsewhere="Give another --out", busy="Wait for it, stop it, or give another --out"
    )
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)
        with contextlib.suppress(OSError):  # it holds something
            run.out.rmdir()
