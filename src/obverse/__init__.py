"""Obverse: search that obeys what the user adds to a query."""

from __future__ import annotations

__version__ = "0.1.0"
