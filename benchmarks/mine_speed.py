"""How fast, and in how much memory, BM25 mining goes: a made-up corpus of 60-word passages, six-word queries.

python benchmarks/mine_speed.py --docs 1000000 --queries 1000
"""

from __future__ import annotations

import argparse
import random
import resource
import time

from data_speed import text

from obverse.mine.bm25 import BM25Index
from obverse.records import Doc


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, default=100_000, help="Passages in the corpus.")
    parser.add_argument("--queries", type=int, default=200, help="Queries to rank for.")
    given = parser.parse_args()
    rng = random.Random(0)
    docs = [Doc(str(number), text(rng, 60)) for number in range(given.docs)]
    queries = [text(rng, 6) for _ in range(given.queries)]
    before, start = _peak(), time.process_time()
    index = BM25Index(docs)
    built = time.process_time() - start
    start = time.process_time()
    for _ in index.search_all(queries, 200):
        pass
    asked = time.process_time() - start
    print(
        "| passages | index, CPU s | queries per CPU s | MB before | peak MB |\n|---|---|---|---|---|"
    )
    rate = given.queries / asked
    print(f"| {given.docs:,} | {built:.1f} | {rate:.0f} | {before:,.0f} | {_peak():,.0f} |")


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
