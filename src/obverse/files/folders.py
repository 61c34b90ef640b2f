"""What lies in a data folder, and what is written beside an output."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from obverse.errors import InputError
from obverse.files.json_text import read_json_lines, write_json
from obverse.records import Doc


def in_folder(folder: str | os.PathLike[str], stem: str) -> Path:
    """Returns the file ``stem`` of a folder, plain or compressed (``corpus.jsonl`` finds ``corpus.jsonl.gz``).

    Raises:
        InputError: If the folder or the file is missing.
    """
    home = Path(folder)
    if not home.is_dir():
        raise InputError("no such folder", where=str(home), fix="Check the path")
    for suffix in ("", ".gz", ".zst"):
        if (path := home / f"{stem}{suffix}").is_file():
            return path
    raise InputError(
        f"holds no {stem}", where=str(home), fix=f"Put {stem} (or {stem}.gz) into the folder"
    )


def read_corpus(path: str | os.PathLike[str]) -> dict[str, Doc]:
    """Returns the documents of a ``corpus.jsonl`` by id, in file order; keys ``_id`` (or ``doc_id``), title, text.

    Raises:
        InputError: With file and line, if a row is no document or an id has two different texts.
    """
    docs: dict[str, Doc] = {}
    for number, row in read_json_lines(path):
        where = f"{os.fspath(path)}:{number}"
        doc_id = row.get("_id", row.get("doc_id")) if isinstance(row, dict) else None
        if not isinstance(doc_id, str) or not isinstance(row.get("text"), str):
            raise InputError(
                "is no document with the strings _id and text",
                where=where,
                fix='Write {"_id": "7", "text": "..."}',
            )
        doc = Doc(doc_id, row["text"], row.get("title") or "")
        if docs.setdefault(doc_id, doc) != doc:
            raise InputError(
                f"document {doc_id!r} has two different texts", where=where, fix="Keep one of them"
            )
    if not docs:
        raise InputError(
            "holds no document", where=os.fspath(path), fix="Write one document on each line"
        )
    return docs


def digest(path: str | os.PathLike[str]) -> str:
    """Returns the SHA-256 of a file's bytes, in hex."""
    import hashlib

    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digests_of(paths: Iterable[str | os.PathLike[str]]) -> dict[str, str]:
    """Returns the digest of each of some paths that is a file."""
    return {os.fspath(path): digest(path) for path in paths if os.path.isfile(path)}


def made_file(
    out: str | os.PathLike[str],
    *,
    command: str,
    inputs: Iterable[str | os.PathLike[str]] = (),
    digests: Mapping[str, str] | None = None,
    **facts: Any,
) -> None:
    """Writes ``<out>.made.json``: command, parameters, input digests, version and counts.

    Args:
        inputs: The files that were read.
        digests: Their digests, where they are known already (:func:`digests_of`).
    """
    from obverse import __version__

    known = digests_of(inputs) if digests is None else dict(digests)
    write_json(
        f"{os.fspath(out)}.made.json",
        {"command": command, "version": __version__, "inputs": known, **facts},
    )
