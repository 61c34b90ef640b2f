"""BEIR folders: corpus, queries (with an ``instruction`` where the view has one) and judgements."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from obverse.errors import InputError, SettingError
from obverse.files import to_json, whole_file
from obverse.inputs import Template
from obverse.records import Topic
from obverse.write.view_rows import OwnIds, view_rows


def write_beir(
    path: str | os.PathLike[str],
    topics: Iterable[Topic],
    template: Template,
    *,
    split: str = "train",
) -> int:
    """Writes ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/<split>.tsv``; every view is a query.

    Positives have the grade 1, both kinds of negatives 0. Empty ids, and tabs and line ends in ids, which a TSV
    cannot hold, are refused. A second text under a known id gets an id of its own.

    Raises:
        InputError: For such an id.
        SettingError: If the folder holds another split, whose queries and documents would be written over.
    """
    folder, count = Path(path), 0
    if others := sorted(p.name for p in (folder / "qrels").glob("*.tsv") if p.stem != split):
        raise SettingError(
            f"holds qrels/{others[0]}, whose queries and documents would be written over",
            where=str(folder),
            fix="Name a folder of its own for each split with --out",
        )
    own = OwnIds()
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
                ids = (_whole(row.row_id), _whole(own.of(doc)))
                qrels.write("\t".join([*ids, f"{grade}\n"]).encode())
    with whole_file(folder / "corpus.jsonl") as corpus:
        for doc in own.docs.values():
            row_ = {"_id": doc.doc_id, "title": doc.title, "text": doc.text}
            corpus.write(to_json(row_) + b"\n")
    own.say_renamed()
    return count


def _whole(name: str) -> str:
    """Returns an id that a TSV can hold."""
    if not name or set(name) & set("\t\r\n"):
        raise InputError(
            f"the id {name!r} cannot stand in a TSV of judgements",
            fix="Rename it, or write another form",
        )
    return name
