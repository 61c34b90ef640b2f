"""Exact search over memory-mapped shards: time and memory, beside faiss Flat where it is installed.

    python benchmarks/search_speed.py [--docs 1000000] [--width 384] [--queries 1000] [--repeats 4] ...

Writes random unit vectors as shards into a scratch folder first. Memory is the highest anonymous resident size (mapped
files do not count), less that before the search. Each repeat times both, one after the other; printed are means with
95 % t intervals over repeats. Set OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to the same number as
--threads before the start.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from intervals import shown

from obverse.search import top_docs


def write_shards(home: Path, docs: int, width: int, size: int = 100_000) -> list[Path]:
    """Writes random unit vectors as float32 shards."""
    rng = np.random.default_rng(0)
    paths = []
    for start in range(0, docs, size):
        part = rng.random((min(size, docs - start), width), dtype=np.float32) - 0.5
        part /= np.linalg.norm(part, axis=1, keepdims=True)
        paths.append(home / f"{start:09}.npy")
        np.save(paths[-1], part)
    return paths


class Memory:
    """Watches the anonymous memory of the process, which mapped files do not count in, in MB."""

    def __init__(self) -> None:
        self.start = self.highest = self._now()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _now(self) -> float:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("RssAnon:")[2].split()[0]) / 1024

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self.highest = max(self.highest, self._now())

    def grown(self) -> float:
        """Returns how far memory rose above its start."""
        self._stop.set()
        self._thread.join()
        return self.highest - self.start


class Clock:
    """Collects wall and processor times of one way to search."""

    def __init__(self, work: Callable[[], tuple[np.ndarray, np.ndarray]]) -> None:
        self.work, self.wall, self.processor = work, [], []

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns what the search returns."""
        wall, processor = time.perf_counter(), time.process_time()
        found = self.work()
        self.wall.append(time.perf_counter() - wall)
        self.processor.append(time.process_time() - processor)
        return found

    def __str__(self) -> str:
        return f"wall {shown(self.wall)} s, processor {shown(self.processor)} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--folder", default=None, help="where the scratch shards go")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    queries = rng.standard_normal((options.queries, options.width), dtype=np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        paths = write_shards(Path(folder), options.docs, options.width)
        shards = [np.load(path, mmap_mode="r") for path in paths]
        ours = Clock(lambda: top_docs(queries, shards, options.depth))
        memory = Memory()
        rows, scores = ours.run()
        grown = memory.grown()
        print(
            f"{options.docs:,} x {options.width}, {options.queries:,} queries, depth {options.depth}, "
            f"threads {os.environ.get('OMP_NUM_THREADS', 'default')}, {options.repeats} repeats"
        )
        try:
            import faiss
        except ImportError:
            print(f"obverse top_docs   {ours}; faiss is not installed")
            return
        faiss.omp_set_num_threads(options.threads)
        index = faiss.IndexFlatIP(options.width)
        for shard in shards:
            index.add(np.ascontiguousarray(shard))
        theirs = Clock(lambda: index.search(queries, options.depth))
        their_scores, their_rows = theirs.run()
        for _ in range(options.repeats - 1):
            ours.run()
            theirs.run()
        print(f"obverse top_docs   {ours}; beyond the mapped file {grown:.0f} MB at most")
        print(f"faiss IndexFlatIP  {theirs}; all vectors in memory")
        same = np.mean(
            [len(set(a) & set(b)) / len(a) for a, b in zip(rows, their_rows, strict=True)]
        )
        print(
            f"same documents {same:.6f}, largest difference of scores {np.abs(scores - their_scores).max():.1e}"
        )


if __name__ == "__main__":
    main()
