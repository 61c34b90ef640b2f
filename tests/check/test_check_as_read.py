"""The check of a click log takes the options with which it will be read, and shows what they do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obverse.cli import main

Jsonl = Callable[..., Path]


def command(*words: Any) -> int:
    sys.argv = ["obverse", *map(str, words)]
    with pytest.raises(SystemExit) as stop:
        main()
    return int(str(stop.value.code))


def shown(position: int, clicked: bool = False) -> dict[str, Any]:
    return {
        "id": f"d{position}",
        "text": f"T{position}",
        "position": position,
        "clicked": clicked,
    }


LOG = [
    {"query_id": "1", "query": "k", "impressions": [shown(1), shown(2, True), shown(3)]},
    {"query_id": "2", "query": "k", "impressions": [shown(1), shown(4, True)]},
]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--rule", "all"],
        ["--max-position", "1"],
        ["--min-impressions", "2"],
        ["--merge", "query", "--rule", "examined"],
    ],
)
def test_the_check_says_what_the_read_says(
    jsonl: Jsonl, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    path = jsonl(*LOG)
    command("read", path, *options)
    said = capsys.readouterr().err
    assert command("check", path, *options) == (2 if "no row can be used" in said else 0)
    found = capsys.readouterr().out
    rules = [line for line in said.splitlines() if "in force" in line or line.startswith("all ")]
    assert rules and all(line in found for line in rules)


def test_both_commands_refuse_the_same_in_the_same_words(
    tmp_path: Path, jsonl: Jsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    triplets = jsonl({"query": "k", "positive": "A"}, name="triplets.jsonl")
    documents = jsonl({"id": "1", "text": "A"}, name="documents.jsonl")
    flat = jsonl({"query": "k", "doc_id": "1", "text": "A", "clicked": 1}, name="flat.jsonl")
    for path, option, value, message in (
        (triplets, "--rule", "all", "the format triplets takes no rule"),
        (documents, "--merge", "query", "the format corpus takes no merge"),
        (flat, "--rule", "examined", "the examined rule cannot be applied"),
        (flat, "--rule", "best", "unknown rule 'best'"),
        (flat, "--merge", "session", "cannot merge by 'session'"),
    ):
        errors = []
        for words in (("read", path, "--out", tmp_path / "out"), ("check", path)):
            assert command(*words, option, value) == 2
            errors.append(capsys.readouterr().err.splitlines()[-1])
        assert message in errors[0] and errors[0] == errors[1]
    assert not (tmp_path / "out").exists()


def test_the_check_of_documents_takes_their_quoting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "documents.tsv"
    path.write_text('id\ttext\n1\t"A"\n')
    assert command("check", path, "--quoting", "none") == 0
    assert "stray_quotes" in capsys.readouterr().out
