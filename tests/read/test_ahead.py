"""Processes that work ahead, and columns instead of topics, change nothing but the time: odd data read every way."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from obverse.check import check, to_json
from obverse.errors import InputError, SettingError
from obverse.files import read_topics, write_topics
from obverse.read import Findings, ahead, read
from obverse.read.reading import read_file

WORDS = [
    "shop",
    "red",
    "lamp",
    "under",
    "euro",
    "the",
    "of",
    "and",
    "is",
    "für",
    "Öl",
    "靴",
    "desk",
]


@pytest.fixture(autouse=True)
def small_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "LEAST", 0)
    monkeypatch.setattr(ahead, "_STRETCH", 4_000)


def text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words))


def clicks(rows: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(0)
    docs = [text(rng, 12) for _ in range(90)]
    for number in range(rows):
        doc = rng.randrange(90)
        yield {
            "session_id": f"s{number // 6}",
            "query": f"{text(random.Random(number // 6), 2)} {number // 6 % 40}",
            "doc_id": f"d{doc}",
            "text": docs[doc],
            "position": number % 6 + 1,
            "clicked": rng.random() < 0.3,
            "timestamp": 1_700_000_000 + number,
        }


def promptriever(rows: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(1)
    docs = [{"docid": str(n), "title": "T" * (n % 3), "text": text(rng, 15)} for n in range(120)]
    for number in range(rows):
        query = f"query {number // 2}"
        instruction = text(rng, 12) if number % 2 else ""
        yield {
            "query_id": f"{number // 2}" + ("-instruct" if number % 2 else ""),
            "query": f"{query} {instruction}".strip(),
            "only_query": query,
            "only_instruction": instruction,
            "has_instruction": bool(instruction),
            "positive_passages": [rng.choice(docs)],
            "negative_passages": rng.sample(docs, 5),
            "new_negatives": rng.sample(docs, number % 2),
        }


def odd_lines(rows: Iterator[dict[str, Any]], documents: str, *, broken: bool) -> bytes:
    """Rows in JSON Lines with much that is odd about them, here and there."""
    lines: list[bytes] = []
    for number, row in enumerate(rows):
        if number == 60:
            row["only_query" if "only_query" in row else "query"] = "  "
        if number == 75:
            row[documents] = "a string where something else belongs"
        if number == 90:
            row["new_key"] = 1
        if number in (110, 111) and "text" in row:
            row["text"] = row["text"].upper() + " "
            row["doc_id"] += "x"
        if number == 130:
            row["title"] = None
        if number == 140 and isinstance(row[documents], list):
            row[documents] += [
                None,
                {"docid": "7", "text": "Another text of 7"},
                {"text": "\ufeffm"},
            ]
        line = json.dumps(row, ensure_ascii=number % 50 == 0).encode()
        if number == 150:
            line = line.replace(b'": "', '": "\u2028'.encode())
        if number == 160:
            line = line[:-1] + b', "query": "said twice"}'
        lines.append(line + (b"\r\n" if number == 170 else b"\n"))
        if number == 180:
            lines += [b"\n", b"   \n"]
        if number == 190:
            lines.append(lines[5])
    if broken:
        lines[200] = b'{"query": "cut\n'
        lines.append(b'{"query": "the end is miss')
    return b"\xef\xbb\xbf" + b"".join(lines)


def facts(findings: Findings) -> dict[str, Any]:
    return {
        "rows": findings.rows,
        "usable": findings.usable,
        "counts": findings.counts,
        "examples": findings.examples,
        "drops": findings.drops.rows,
        "said": findings.said,
    }


SHAPES = {
    "clicks": (clicks(400), "query"),
    "promptriever": (promptriever(400), "negative_passages"),
}


@pytest.fixture(params=SHAPES)
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    make = {"clicks": clicks, "promptriever": promptriever}[request.param]
    (tmp_path / "odd.jsonl").write_bytes(
        odd_lines(make(400), SHAPES[request.param][1], broken=True)
    )
    (tmp_path / "whole.jsonl").write_bytes(
        odd_lines(make(400), SHAPES[request.param][1], broken=False)
    )
    return tmp_path


def test_check_finds_the_same_with_and_without_helpers(odd: Path) -> None:
    alone = check(odd / "odd.jsonl", workers=0)
    assert facts(check(odd / "odd.jsonl", workers=2)) == facts(alone)
    codes = {fault["code"] for fault in to_json(alone)["faults"]}
    assert codes >= {"bad_json", "byte_order_mark", "crlf", "blank_line", "late_key"}
    assert codes >= {"duplicate_row", "duplicate_key", "line_separator"}


def test_topics_are_the_same_with_and_without_helpers_and_in_columns(odd: Path) -> None:
    made = []
    for workers in (0, 2):
        findings = Findings()
        topics = list(read(odd / "whole.jsonl", findings=findings, workers=workers))
        out = odd / f"{workers}.parquet"
        found = read_file(odd / "whole.jsonl", out, workers=workers)
        assert list(read_topics(out)) == topics
        assert facts(found) | {"said": 0} == facts(findings) | {"said": 0}
        made.append((topics, facts(findings), out.read_bytes()))
    assert made[0] == made[1]
    assert len(made[0][0]) > 20
    write_topics(odd / "again.parquet", made[0][0])
    assert list(read_topics(odd / "again.parquet")) == made[0][0]


def test_a_broken_line_stops_both_ways_at_the_same_place(odd: Path) -> None:
    said = []
    for workers in (0, 2):
        with pytest.raises(InputError) as error:
            list(read(odd / "odd.jsonl", findings=Findings(), workers=workers))
        said.append(str(error.value))
    assert said[0] == said[1] and "odd.jsonl:201" in said[0]


def test_a_helper_that_dies_is_not_missed(odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_CODE", "pass")
    there = list(read(odd / "whole.jsonl", findings=Findings(), workers=2))
    assert there == list(read(odd / "whole.jsonl", findings=Findings(), workers=0))


def test_columns_can_have_other_names(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    rows = [{**row, "q": row["query"], "pos": row["clicked"]} for row in clicks(200)]
    bare = [{k: v for k, v in row.items() if k not in ("query", "clicked")} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in bare))
    columns = {"query": "q", "clicked": "pos"}
    found = [
        list(read(path, "clicks", findings=Findings(), columns=columns, workers=workers))
        for workers in (0, 2)
    ]
    assert found[0] == found[1] and len(found[0]) > 10
    with pytest.raises(SettingError, match="no column 'qq'"):
        list(read(path, "clicks", findings=Findings(), columns={"query": "qq"}, workers=2))


def test_a_negative_number_of_helpers_is_refused(odd: Path) -> None:
    with pytest.raises(SettingError, match="--workers -1"):
        list(read(odd / "whole.jsonl", findings=Findings(), workers=-1))
