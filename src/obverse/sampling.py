"""Chance as a function of the item, never of order or process."""

from __future__ import annotations

import hashlib
import random


def seed_for(seed: int, *keys: object) -> int:
    """Returns a 64-bit seed that depends on ``seed`` and the keys alone."""
    text = "\x1f".join([str(seed), *map(str, keys)])
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )


def rng_for(seed: int, *keys: object) -> random.Random:
    """Returns a generator whose draws depend on ``seed`` and the keys alone.

    Use the item's own names as keys (``rng_for(seed, "dual_view", topic.topic_id)``): then the same item gets
    the same draws in any order, shard or process.
    """
    return random.Random(seed_for(seed, *keys))
