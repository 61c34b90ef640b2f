"""Sets of an exact size: drawn by shares and caps, one put in the place of another, or added, views chosen by kind."""

from __future__ import annotations

from obverse.mix.replacing import Replaced, Swap, append, replace
from obverse.mix.shares import CAPS, largest_remainder, mix
from obverse.mix.sizes import Tally, token_counter
from obverse.mix.views import KINDS, cut_views, kind_of

__all__ = [
    "CAPS",
    "KINDS",
    "Replaced",
    "Swap",
    "Tally",
    "append",
    "cut_views",
    "kind_of",
    "largest_remainder",
    "mix",
    "replace",
    "token_counter",
]
