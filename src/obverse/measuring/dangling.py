"""Judged documents that no system could return, where the corpus is known."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from obverse.files import read_json_lines
from obverse.measuring.files import Files, PathLike
from obverse.trec import read_qrels

_SIBLING_LIMIT = 200_000_000


def dangling(files: Files) -> dict[str, Any]:
    """Returns a note of the judged documents that the corpus lacks.

    The corpus is that of ``--corpus``, else a corpus.jsonl beside the judgements, if it is not too large to be read
    unasked.
    """
    corpus = files.corpus or _sibling(files.qrels, "corpus.jsonl")
    if corpus is None or files.qrels is None:
        return {}
    known = set()
    for _, row in read_json_lines(corpus):
        known.add(row.get("_id", row.get("doc_id")) if isinstance(row, dict) else None)
    gone = [
        [query_id, doc_id]
        for query_id, grades in read_qrels(files.qrels).qrels.items()
        for doc_id in grades
        if doc_id not in known
    ]
    return {"judged_documents_not_in_corpus": gone} if gone else {}


def _sibling(qrels: PathLike | None, name: str) -> Path | None:
    if qrels is None or os.fspath(qrels) == "-":
        return None
    home = Path(qrels).resolve().parent
    for folder in (home, home.parent):
        for suffix in ("", ".gz", ".zst"):
            path = folder / f"{name}{suffix}"
            if path.is_file() and path.stat().st_size < _SIBLING_LIMIT:
                return path
        if home.name != "qrels":
            break
    return None
