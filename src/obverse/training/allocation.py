"""Freed memory is kept for the next step rather than given back to the system page by page."""

from __future__ import annotations

import ctypes
import platform
from contextlib import suppress

_TRIM, _MAP, _ARENAS = -1, -3, -8
_LARGEST_MAP = 32 << 20


def keep_freed_memory() -> bool:
    """Tells glibc's malloc to keep what is freed; returns whether it does. Other C libraries are left alone.

    By default every matrix of some megabytes is a mapping of its own: the system fills it with zeros when it is first
    written, and takes it back when it is freed, in each layer of each micro-batch.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    # One arena: what a thread frees serves the others, and those of threads give their memory back.
    return all((mallopt(_MAP, _LARGEST_MAP), mallopt(_TRIM, 2**31 - 1), mallopt(_ARENAS, 1)))


def give_back_freed_memory() -> None:
    """Gives freed memory back to the system, if malloc is glibc's."""
    if platform.libc_ver()[0] == "glibc":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
