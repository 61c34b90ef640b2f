"""Writes the packaged sample from a folder with SciFact, the recorded teacher and the held-out topics.

    python scripts/make_sample.py SCIFACT_INSTRUCT [--out src/obverse/sample]

Beside the sample it writes nothing; which training topics were left out, and why, is printed as JSON Lines.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from obverse.files import read_json_lines, write_json_lines

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="the folder scifact-instruct")
    parser.add_argument("--out", type=Path, default=Path("src/obverse/sample"))
    options = parser.parse_args()
    make(options.source, options.out)


def make(source: Path, out: Path) -> None:
    """Writes the sample and prints the topics that were left out."""
    (out / "qrels").mkdir(parents=True, exist_ok=True)
    for name in ("corpus.jsonl.gz", "queries.jsonl.gz"):
        write_json_lines(out / name, rows(source / name))
    write_json_lines(out / "topics.jsonl.gz", rows(source / "topics.test.jsonl.gz"))
    for name in ("train.tsv", "test.tsv"):
        shutil.copyfile(source / "qrels" / name, out / "qrels" / name)

    kept, left_out = split(source)
    write_json_lines(out / "candidates.jsonl.gz", map(candidates, kept))
    write_json_lines(out / "replies.jsonl.gz", (reply for row in kept for reply in replies(row)))
    for row in left_out:
        print(json.dumps(row))
    counts = Counter(row["reason"] for row in left_out)
    promoted = sum(row["promoted"] is not None for row in kept)
    print(
        f"{len(kept)} training topics, {promoted} with a promoted document; {counts}",
        file=sys.stderr,
    )


def rows(path: Path) -> Iterator[Row]:
    return (row for _, row in read_json_lines(path))


def split(source: Path) -> tuple[list[Row], list[Row]]:
    """Returns the training lines that may be used, and what was left out with its reason.

    Held-out are all judged test claims, those too that became no topic: their documents may be asked about yet.
    """
    queries, docs = held_out(source)
    kept, left_out = [], []
    for row in rows(source / "teacher.train.jsonl.gz"):
        shared = {row["positive"], row["promoted"]} & docs
        if row["query"] in queries:
            reason = "the query is held out"
        elif shared:
            reason = "a positive or promoted document is held out"
        else:
            kept.append(row)
            continue
        left_out.append({"topic_id": topic_id(row), "reason": reason, "documents": sorted(shared)})
    return kept, left_out


def held_out(source: Path) -> tuple[set[str], set[str]]:
    """Returns the queries and the positive or promoted documents of the held-out topics."""
    queries, docs = set(), set()
    for row in rows(source / "teacher.test.jsonl.gz"):
        queries.add(row["query"])
        docs |= {row["positive"], row["promoted"]} - {None}
    for topic in rows(source / "topics.test.jsonl.gz"):
        queries.add(topic["query"])
        for view in topic["views"]:
            docs |= {doc_id for doc_id, label in view["labels"].items() if label == "positive"}
    test_ids = {row["topic_id"].rsplit("-", 1)[1] for row in rows(source / "topics.test.jsonl.gz")}
    with open(source / "qrels" / "test.tsv", newline="") as stream:
        for judged in csv.DictReader(stream, delimiter="\t"):
            if judged["query-id"] in test_ids and int(judged["score"]) > 0:
                docs.add(judged["corpus-id"])
    return queries, docs


def topic_id(row: Row) -> str:
    return f"scifact-train-{row['query_id']}"


def candidates(row: Row) -> Row:
    return {
        "topic_id": topic_id(row),
        "query": row["query"],
        "positive": row["positive"],
        "candidates": row["candidates"],
    }


def replies(row: Row) -> Iterator[Row]:
    """Yields what the teacher said, as replies to our questions: documents by their place, the positive first."""
    place = {doc_id: n for n, doc_id in enumerate([row["positive"], *row["candidates"]], start=1)}
    promoted = row["promoted"]
    classified = {
        "positive_confirmed": True,
        "documents": [
            {
                "document": place[doc_id],
                "verdict": verdict,
                "instruction": row["promote_instruction"] if doc_id == promoted else "",
            }
            for doc_id, verdict in row["labels"].items()
        ],
    }
    keep, promote = row["keep_instruction"], row["promote_instruction"]
    also_keep = sorted(place[doc_id] for doc_id in row["also_satisfy_keep"])
    also_promote = sorted(place[doc_id] for doc_id in row["also_satisfy_promote"])
    pair = {
        "keep_instruction": keep,
        "promote_instruction": promote,
        "also_satisfy_keep": also_keep,
        "also_satisfy_promote": also_promote,
    }
    said: list[tuple[str, str, Row]] = [
        (method, "classify", classified)
        for method in ("promoted_negative", "natural_dual_view", "dual_view")
    ]
    if promoted is not None:
        said += [
            (
                "promoted_negative",
                "promote",
                {"instruction": promote, "also_satisfy": also_promote},
            ),
            ("natural_dual_view", "instruct", pair),
            ("dual_view", "instruct", pair),
            ("dual_view", "reverse", {"new_instruction": promote, "also_satisfy": also_promote}),
            (
                "dual_view",
                "reverse-to-positive",
                {"new_instruction": keep, "also_satisfy": also_keep},
            ),
        ]
    for method, stage, reply in said:
        yield {
            "method": method,
            "stage": stage,
            "topic_id": topic_id(row),
            "reply": json.dumps(reply, ensure_ascii=False),
            "documents": list(place),
        }


if __name__ == "__main__":
    main()
