"""How fast, and in how much memory, BM25 mining goes: passages of three sentences drawn from the packaged abstracts,
six words of a sentence as a query.

    python benchmarks/mine_speed.py --docs 1000000 --queries 1000
    python benchmarks/mine_speed.py --docs 200000 --engines memory tantivy

Each engine runs in a process of its own. With more than one, the last column is the share of the first one's hits that
an engine finds among its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import time
from typing import Any

DEPTH = 200


def made(count: int, asked: int) -> tuple[list[Any], list[str]]:
    """Returns passages and queries, the same in every process."""
    from obverse.files import in_folder, read_corpus
    from obverse.records import Doc
    from obverse.sample import sample_folder

    rng = random.Random(0)
    abstracts = read_corpus(in_folder(sample_folder(), "corpus.jsonl")).values()
    sentences = [part for doc in abstracts for part in doc.text.split(". ") if part]
    docs = [Doc(str(number), ". ".join(rng.choices(sentences, k=3))) for number in range(count)]
    return docs, [" ".join(rng.choice(sentences).split()[:6]) for _ in range(asked)]


def measured(engine: str, count: int, asked: int) -> tuple[list[float], list[list[int]]]:
    """Returns an engine's figures, as the table has them, and the numbers of the documents that it finds."""
    from obverse.mine.bm25 import BM25Index
    from obverse.mine.tantivy_index import TantivyIndex

    docs, queries = made(count, asked)
    before, start, since = _peak(), time.process_time(), time.perf_counter()
    index = TantivyIndex(docs) if engine == "tantivy" else BM25Index(docs)
    built, waited = time.process_time() - start, time.perf_counter() - since
    start = time.process_time()
    hits = [[number for number, _ in found] for found in index.search_all(queries, DEPTH)]
    rate = asked / (time.process_time() - start)
    return [built, waited, rate, before, _peak()], hits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, default=100_000, help="Passages in the corpus.")
    parser.add_argument("--queries", type=int, default=200, help="Queries to rank for.")
    parser.add_argument("--engines", nargs="+", default=["memory"], choices=("memory", "tantivy"))
    given = parser.parse_args()
    print(
        "| engine | passages | index, CPU s | index, s | queries per CPU s | MB before | peak MB | hits shared |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    first: list[list[int]] = []
    for engine in given.engines:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            figures, hits = pool.apply(measured, (engine, given.docs, given.queries))
        first = first or hits
        built, waited, rate, before, peak = figures
        shared = sum(len(set(one) & set(other)) for one, other in zip(first, hits, strict=True))
        share = shared / sum(map(len, first))
        print(
            f"| {engine} | {given.docs:,} | {built:.1f} | {waited:.1f} | {rate:.0f} | {before:,.0f} | {peak:,.0f} "
            f"| {share:.4f} |",
            flush=True,
        )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
