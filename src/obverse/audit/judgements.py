"""What people said of a sample: one judgement a person and item, from JSON Lines or a spreadsheet."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.audit.drawing import QUESTIONS, ROLES
from obverse.errors import InputError
from obverse.files import open_bytes, read_json_lines

_ROLE_WORDS = {
    **{str(n): n for n in ROLES},
    **{"off topic": 1, "off_topic": 1, "breaks": 2, "on topic": 2, "satisfies": 3},
}
_YES = {"y", "yes", "true", "1", "x", "ja"}
_NO = {"n", "no", "false", "0", "nein"}
_UNSURE = {"?", "u", "unsure", "can't tell", "cannot tell", "-"}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one person said of one item.

    Attributes:
        sample_id: The item's.
        who: The person.
        documents: The role of each document by its number; None where it cannot be told.
        answers: Yes, no, or None where it cannot be told, by question.
        note: Anything else.
    """

    sample_id: str
    who: str
    documents: Mapping[int, int | None]
    answers: Mapping[str, bool | None]
    note: str = ""

    def row(self) -> dict[str, Any]:
        """Returns the judgement as it stands in a labels file."""
        documents = {str(n): role for n, role in self.documents.items()}
        return {
            "sample_id": self.sample_id,
            "who": self.who,
            "documents": documents,
            **self.answers,
            "note": self.note,
        }


def read_judgements(paths: Iterable[str | os.PathLike[str]]) -> list[Judgement]:
    """Returns the judgements of labels files; of the same person and item the last one counts.

    A file is JSON Lines, ``{"sample_id", "who", "documents": {"1": 3, ...}, "keeps_meaning", "nothing_invented"}``, or
    the sheet as CSV, with the columns ``doc1``, ``doc2``, ... Rows of the sheet that nobody filled in are left out.

    Raises:
        InputError: With file, line and field, if a row is something else.
    """
    found: dict[tuple[str, str], Judgement] = {}
    for path in map(Path, paths):
        rows = _sheet_rows(path) if path.suffix in (".csv", ".tsv") else _json_rows(path)
        for where, row in rows:
            try:
                judgement = judgement_from(row, path.stem)
            except InputError as error:
                raise error.at(where) from None
            found[judgement.sample_id, judgement.who] = judgement
    return list(found.values())


def judgement_from(row: Any, who: str = "") -> Judgement:
    """Returns the judgement of a row.

    Raises:
        InputError: If a key is missing or a value is none that is known.
    """
    if not isinstance(row, dict) or not isinstance(row.get("sample_id"), str):
        raise InputError("lacks the string sample_id", fix="Copy it from the sample")
    documents = row.get("documents")
    if not isinstance(documents, dict) or not documents:
        raise InputError("should be an object of roles", where="documents", fix='Write {"1": 3}')
    roles: dict[int, int | None] = {}
    for number, value in documents.items():
        if not str(number).isdigit():
            raise InputError(f"{number!r} is no number", where="documents", fix='Write {"1": 3}')
        roles[int(number)] = _role(value, f"documents, {number}")
    answers = {name: _yes_no(row.get(name), name) for name in QUESTIONS}
    name = str(row.get("who") or who)
    return Judgement(row["sample_id"], name, roles, answers, str(row.get("note") or ""))


def _role(value: Any, where: str) -> int | None:
    text = str(value).strip().lower() if value is not None else "?"
    text = re.sub(r"\.0$", "", text)
    if text in _UNSURE:
        return None
    if text not in _ROLE_WORDS:
        raise InputError(
            f"unknown role {value!r}",
            where=where,
            fix="Write 1 (off topic), 2 (breaks), 3 (satisfies) or ?",
        )
    return _ROLE_WORDS[text]


def _yes_no(value: Any, where: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    text = re.sub(r"\.0$", "", str(value).strip().lower())
    if text in _YES:
        return True
    if text in _NO:
        return False
    if text in _UNSURE or not text:
        return None
    raise InputError(f"unknown answer {value!r}", where=where, fix="Write yes, no or ?")


def _json_rows(path: Path) -> Iterator[tuple[str, Any]]:
    for number, row in read_json_lines(path):
        yield f"{path}:{number}", row


def _sheet_rows(path: Path) -> Iterator[tuple[str, Any]]:
    with open_bytes(path) as stream:
        text = stream.read().decode("utf-8-sig", "replace")
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    for number, row in enumerate(csv.DictReader(text.splitlines(True), delimiter=delimiter), 2):
        documents = {
            key[3:]: value
            for key, value in row.items()
            if key and re.fullmatch(r"doc\d+", key) and (value or "").strip()
        }
        if documents or any((row.get(name) or "").strip() for name in QUESTIONS):
            yield f"{path}:{number}", {**row, "documents": documents}
