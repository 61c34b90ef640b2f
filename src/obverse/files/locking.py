"""One writer at a time: a lock that goes when its process does, however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from obverse.errors import SettingError


def hold(path: Path, *, elsewhere: str, busy: str) -> int:
    """Takes a lock file and returns its descriptor: the lock is held until that is closed or the process ends.

    Args:
        path: The file; its folder is made.
        elsewhere: What to do where it cannot be written.
        busy: What to do where another process holds it.

    Raises:
        SettingError: If it cannot be written, or another process holds it.
    """
    folder = str(path.parent)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise SettingError(
            f"the run's folder cannot be written: {error.strerror}", where=folder, fix=elsewhere
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
        os.close(descriptor)
        raise SettingError(
            f"another run is writing here (process {owner})", where=folder, fix=busy
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor
