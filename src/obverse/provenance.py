"""Which versions made a number."""

from __future__ import annotations

import importlib.metadata
import platform

from obverse import __version__

_NAMED = ("numpy", "torch", "sentence-transformers", "transformers", "bm25s")


def versions() -> dict[str, str]:
    """Returns the versions of Python, this package and the libraries that numbers depend on."""
    found = {"obverse": __version__, "python": platform.python_version()}
    for name in _NAMED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
