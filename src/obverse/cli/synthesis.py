"""Commands: synthesis."""

from __future__ import annotations

from obverse.cli import app  # noqa: F401
