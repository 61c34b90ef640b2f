"""Fixtures that several areas use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows as a JSON Lines file and returns its path."""

    def write(*rows: Any, name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        lines = (
            row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows
        )
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="")
        return path

    return write
