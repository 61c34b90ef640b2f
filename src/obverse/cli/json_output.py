"""JSON on stdout, as every command with --json prints it."""

from __future__ import annotations

import sys
from typing import Any


def print_json(value: Any) -> None:
    """Prints a value as indented JSON, whatever the terminal's encoding."""
    from obverse.files import to_json

    sys.stdout.buffer.write(to_json(value, indent=True) + b"\n")
    sys.stdout.buffer.flush()
