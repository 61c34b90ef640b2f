"""The ledger: what is in a set, and whether two sets are of one size and what was replaced by what."""

from __future__ import annotations

from obverse.ledger.counting import Entry, Ledger, Steps, ledger
from obverse.ledger.difference import UNITS, Change, Difference, compare_ledgers
from obverse.ledger.text import difference_text, ledger_text

__all__ = [
    "UNITS",
    "Change",
    "Difference",
    "Entry",
    "Ledger",
    "Steps",
    "compare_ledgers",
    "difference_text",
    "ledger",
    "ledger_text",
]
