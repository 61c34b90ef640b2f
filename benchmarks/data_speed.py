"""How fast, and in how much memory, data come in: obverse beside pandas and datasets, each in its own process.

Made-up files: a click log (flat impressions, one a row) and Promptriever-shaped rows with 30 negatives. The commands
``obverse read`` and ``obverse check`` are run whole, as a user would time them; pandas and datasets read the file, from
the import on. Run:

    python benchmarks/data_speed.py --clicks 2000000 --rows 100000 --folder made

Files that lie in the folder already are not made again.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = [
    "".join(random.Random(n).choices("abcdefghijklmnopqrstuvwxyz", k=2 + n % 9))
    for n in range(8_000)
]


def text(rng: random.Random, words: int) -> str:
    """Returns words drawn so that some are frequent."""
    return " ".join(WORDS[int(len(WORDS) * rng.random() ** 3)] for _ in range(words))


def make_clicks(path: Path, rows: int) -> None:
    """Writes flat impressions: ten shown documents a query, some of them clicked."""
    rng = random.Random(0)
    docs = [(f"d{n}", text(rng, 25)) for n in range(min(200_000, rows // 8))]
    with path.open("w") as stream:
        for number in range(rows):
            query = number // 10
            doc_id, body = docs[rng.randrange(len(docs))]
            row = {
                "session_id": f"s{query}",
                "query": f"{WORDS[query % 8_000]} {WORDS[query * 7 % 7_919]} {query % 97_000}",
                "doc_id": doc_id,
                "text": body,
                "position": number % 10 + 1,
                "clicked": rng.random() < 0.15,
                "timestamp": 1_700_000_000 + number,
            }
            stream.write(json.dumps(row) + "\n")


def make_promptriever(path: Path, rows: int) -> None:
    """Writes rows with one positive, 30 negatives and, every other row, an instruction with new negatives."""
    rng = random.Random(1)
    docs = [
        {"docid": str(n), "title": "", "text": text(rng, 55)}
        for n in range(min(300_000, 10 * rows))
    ]
    with path.open("w") as stream:
        for number in range(rows):
            query = f"{WORDS[number // 2 % 8_000]} {WORDS[number // 2 * 3 % 7_919]} {number // 2}"
            instruction = text(rng, 40) if number % 2 else ""
            row = {
                "query_id": str(number // 2) + ("-instruct" if number % 2 else ""),
                "query": f"{query} {instruction}".strip(),
                "only_query": query,
                "only_instruction": instruction,
                "has_instruction": bool(instruction),
                "positive_passages": [docs[rng.randrange(len(docs))]],
                "negative_passages": [docs[rng.randrange(len(docs))] for _ in range(30)],
                "new_negatives": [docs[rng.randrange(len(docs))] for _ in range(3 * (number % 2))],
            }
            stream.write(json.dumps(row) + "\n")


_COMMAND = """
import sys
sys.argv = ["obverse", *{arguments}]
from obverse.cli import main
try:
    main()
except SystemExit as end:
    assert end.code in (0, None), end.code
"""
CODE = {
    "obverse read to Parquet": _COMMAND.format(
        arguments="['read', path, '--out', out + '/topics.parquet']"
    ),
    "the same (one process)": _COMMAND.format(
        arguments="['read', path, '--out', out + '/topics.parquet', '--workers', '0']"
    ),
    "obverse check": _COMMAND.format(arguments="['check', path]"),
    "obverse check (one process)": _COMMAND.format(arguments="['check', path, '--workers', '0']"),
    "obverse read in Python": "from obverse.read import read, Findings\n"
    "print(sum(1 for _ in read(path, findings=Findings())))",
    "pandas": "import pandas\n"
    "print(sum(map(len, pandas.read_json(path, lines=True, chunksize=20_000))))",
    "datasets": "import datasets\n"
    "print(len(datasets.load_dataset('json', data_files=path, split='train', cache_dir=out)))",
}
"""What each does: topics as Parquet, the closer look of ``check``, topics as Python objects; and the two others, which
parse alone (datasets writes its cache)."""


def measure(code: str, path: Path, out: Path) -> tuple[float, float, float]:
    """Returns seconds, seconds of processor time and the most memory in MB, over all processes of a run."""
    prelude = f"path, out = {str(path)!r}, {str(out)!r}\n"
    start = time.perf_counter()
    child = subprocess.run(
        [sys.executable, "-c", prelude + code + _PEAK], capture_output=True, text=True
    )
    seconds = time.perf_counter() - start
    if child.returncode:
        print(child.stderr[-500:], file=sys.stderr)
        return seconds, float("nan"), float("nan")
    worked, peak = map(float, child.stdout.split()[-2:])
    return seconds, worked, peak


_PEAK = """
import os, resource
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
peak = used[0].ru_maxrss + used[1].ru_maxrss * min(4, os.cpu_count())
print(sum(each.ru_utime + each.ru_stime for each in used), peak / 1024)
"""
"""Each helper is counted with the memory of the largest."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=200_000, help="Rows of the click log.")
    parser.add_argument("--rows", type=int, default=10_000, help="Promptriever-shaped rows.")
    parser.add_argument("--tools", default=",".join(CODE), help="Which to run.")
    parser.add_argument("--repeats", type=int, default=1, help="Rounds; the tools take turns.")
    parser.add_argument("--folder", type=Path, help="Where the made files stay. [nowhere]")
    given = parser.parse_args()
    print(
        "| file | tool | seconds | CPU s | MB/s | MB/CPU s | peak MB |\n|---|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, make, rows in (
            ("clicks", make_clicks, given.clicks),
            ("promptriever", make_promptriever, given.rows),
        ):
            if not rows:
                continue
            path = (given.folder or Path(folder)) / f"{name}-{rows}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                make(path, rows)
            size = path.stat().st_size / 1e6
            for tool in [*filter(None, given.tools.split(","))] * given.repeats:
                with tempfile.TemporaryDirectory(dir=folder) as out:
                    seconds, worked, peak = measure(CODE[tool], path, Path(out))
                label = f"{name}, {rows:,} rows, {size:,.0f} MB"
                print(
                    f"| {label} | {tool} | {seconds:.1f} | {worked:.1f} | {size / seconds:.0f} "
                    f"| {size / worked:.0f} | {peak:,.0f} |",
                    flush=True,
                )
            if given.folder is None:
                path.unlink()


if __name__ == "__main__":
    main()
