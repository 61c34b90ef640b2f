"""How fast, and in how much memory, BM25 mining goes: passages of three sentences drawn from the packaged abstracts,
six words of a sentence as a query.

python benchmarks/mine_speed.py --docs 1000000 --queries 1000
"""

from __future__ import annotations

import argparse
import random
import resource
import time

from obverse.files import in_folder, read_corpus
from obverse.mine.bm25 import BM25Index
from obverse.records import Doc
from obverse.sample import sample_folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, default=100_000, help="Passages in the corpus.")
    parser.add_argument("--queries", type=int, default=200, help="Queries to rank for.")
    given = parser.parse_args()
    rng = random.Random(0)
    abstracts = read_corpus(in_folder(sample_folder(), "corpus.jsonl")).values()
    sentences = [part for doc in abstracts for part in doc.text.split(". ") if part]
    docs = [
        Doc(str(number), ". ".join(rng.choices(sentences, k=3))) for number in range(given.docs)
    ]
    queries = [" ".join(rng.choice(sentences).split()[:6]) for _ in range(given.queries)]
    before, start, since = _peak(), time.process_time(), time.perf_counter()
    index = BM25Index(docs)
    built, waited = time.process_time() - start, time.perf_counter() - since
    start = time.process_time()
    for _ in index.search_all(queries, 200):
        pass
    asked = time.process_time() - start
    print(
        "| passages | words | index, CPU s | index, s | queries per CPU s | MB before | peak MB |\n"
        "|---|---|---|---|---|---|---|"
    )
    rate = given.queries / asked
    words = sum(len(doc.text.split()) for doc in docs)
    print(
        f"| {given.docs:,} | {words:,} | {built:.1f} | {waited:.1f} | {rate:.0f} | {before:,.0f} | {_peak():,.0f} |"
    )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
