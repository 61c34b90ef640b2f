"""BEIR folders: corpus, queries (with an ``instruction`` where the view has one) and judgements."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from obverse.files import to_json, whole_file
from obverse.inputs import Template
from obverse.log import say
from obverse.records import Doc, Topic
from obverse.write.view_rows import view_rows


def write_beir(
    path: str | os.PathLike[str],
    topics: Iterable[Topic],
    template: Template,
    *,
    split: str = "train",
) -> int:
    """Writes ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv``; every view is a query.

    Positives have the grade 1, both kinds of negatives 0. White space in ids, which a TSV cannot hold, is refused.
    """
    folder, count = Path(path), 0
    docs: dict[str, Doc] = {}
    clashes = 0
    with (
        whole_file(folder / "queries.jsonl") as queries,
        whole_file(folder / "qrels" / f"{split}.tsv") as qrels,
    ):
        qrels.write(b"query-id\tcorpus-id\tscore\n")
        for row in view_rows(topics, template):
            count += 1
            asked = {"_id": row.row_id, "text": row.topic.query}
            if row.instruction:
                asked["instruction"] = row.instruction
            queries.write(to_json(asked) + b"\n")
            graded = [(doc, 1) for doc in row.positives]
            graded += [(doc, 0) for doc in row.instruction_negatives + row.negatives]
            for doc, grade in graded:
                clashes += docs.setdefault(doc.doc_id, doc) != doc
                qrels.write(f"{row.row_id}\t{doc.doc_id}\t{grade}\n".encode())
    with whole_file(folder / "corpus.jsonl") as corpus:
        for doc in docs.values():
            row_ = {"_id": doc.doc_id, "title": doc.title, "text": doc.text}
            corpus.write(to_json(row_) + b"\n")
    if clashes:
        say(f"write: {clashes:,} documents have another text under the same id; the first was kept")
    return count
