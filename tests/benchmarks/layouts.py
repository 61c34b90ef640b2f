"""Small benchmark folders in the documented layouts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Writes rows as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    """Writes rows as Parquet, as a hub data set is downloaded."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def corpus(home: Path, ids: str) -> None:
    lines(home / "corpus.jsonl", [{"_id": d, "title": "", "text": f"text {d}"} for d in ids])


def followir_folder(home: Path) -> Path:
    """mteb's layout: two topics, ids ending in -og and -changed, three candidates each."""
    corpus(home, "abcdef")
    asks = [(q, s) for q in ("1", "2") for s in ("og", "changed")]
    lines(home / "queries.jsonl", [{"_id": f"{q}-{s}", "text": f"query {q}"} for q, s in asks])
    lines(
        home / "instruction.jsonl",
        [{"query-id": f"{q}-{s}", "instruction": f"{s} rule"} for q, s in asks],
    )
    docs = {"1": ["a", "b", "c"], "2": ["d", "e", "f"]}
    parquet(
        home / "top_ranked/test-00000.parquet",
        [{"query-id": f"{q}-{s}", "corpus-ids": docs[q]} for q, s in asks],
    )
    grades = {"1-og": "ab", "1-changed": "b", "2-og": "d", "2-changed": "d"}
    lines(
        home / "qrels/test.jsonl",
        [{"query-id": q, "corpus-id": d, "score": 1} for q, ids in grades.items() for d in ids],
    )
    lines(
        home / "qrel_diff.jsonl",
        [{"query-id": "1", "corpus-ids": ["a"]}, {"query-id": "2", "corpus-ids": []}],
    )
    return home


def older_followir_folder(home: Path) -> Path:
    """The first layout: both instructions in one row, two sets of judgements, candidates a pair a row."""
    corpus(home, "abc")
    lines(
        home / "queries.jsonl",
        [{"_id": "1", "text": "query 1", "instruction_og": "old", "instruction_changed": "new"}],
    )
    rows = [{"query-id": "1", "corpus-id": d, "score": 1.0} for d in "ab"]
    lines(home / "qrels_og.jsonl", rows)
    lines(home / "qrels_changed.jsonl", [{**rows[0], "score": 0.0}, rows[1]])
    lines(home / "top_ranked.jsonl", [{"qid": "1", "pid": d} for d in "abc"])
    return home


def infosearch_folder(home: Path) -> Path:
    corpus(home, "abc")
    lines(
        home / "queries.jsonl",
        [
            {
                "_id": "q",
                "text": "query",
                "instruction_og": "",
                "instruction_changed": "for experts",
                "instruction_reversed": "not for experts",
            }
        ],
    )
    lines(home / "qrels_og.jsonl", [{"query-id": "q", "corpus-id": d, "score": 1} for d in "ab"])
    lines(
        home / "qrels_changed.jsonl",
        [{"query-id": "q", "corpus-id": d, "score": s} for d, s in (("a", 1), ("b", 0))],
    )
    return home


def mair_folder(home: Path) -> Path:
    """Two splits of one task."""
    for split in ("x", "y"):
        lines(home / f"{split}_docs.jsonl", [{"id": d, "doc": f"{split} {d}"} for d in "ab"])
        lines(
            home / f"{split}_queries.jsonl",
            [
                {
                    "qid": "1",
                    "instruction": "Write a list.",
                    "query": "shoe rack",
                    "labels": [{"id": "a", "score": 1}],
                }
            ],
        )
    return home


def beir_folder(home: Path) -> Path:
    corpus(home, "123")
    lines(home / "queries.jsonl", [{"_id": "1", "text": "one"}, {"_id": "unjudged", "text": "?"}])
    (home / "qrels").mkdir()
    (home / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n1\t1\t1\n")
    return home
