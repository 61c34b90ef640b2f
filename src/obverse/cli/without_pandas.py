"""Arrow without pandas: it would import it, where it is installed, to ask whether a list is one of its columns."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

_BUILT_ON_IT = {"datasets", "ir_datasets"}


class _Refusing:
    """Says that pandas is not there, but to those who cannot do without."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas" and sys.modules.keys().isdisjoint(_BUILT_ON_IT):
            raise ModuleNotFoundError("pandas is not needed here", name=name)


@contextlib.contextmanager
def without_pandas() -> Iterator[None]:
    """Keeps pandas from being imported, which takes half a second, until the block ends."""
    refusing = _Refusing()
    sys.meta_path.insert(0, refusing)
    try:
        yield
    finally:
        sys.meta_path.remove(refusing)
