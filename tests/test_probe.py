"""The probe: does the top ten move the right way, on anybody's documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from obverse.benchmarks.constraints import constraints
from obverse.errors import InputError
from obverse.evaluate import evaluate
from obverse.moves import ignored, lost_plain, moves_of, moves_text
from obverse.probe import probe, screen
from obverse.probe_input import probe_input
from obverse.probe_kinds import KINDS, Shelf, telling_words
from obverse.rankers import BM25Ranker, RunDict
from obverse.records import Ask, Doc
from obverse.report.moves_page import moves_page

FILL = "plain everyday talk about garden things and weather "


def docs() -> list[Doc]:
    rows = []
    for n in range(24):
        text = FILL * (1 + n % 4) + "kettle "
        text += "porcelain handles " if n % 3 == 0 else "enamelled spouts "
        text += "with 42 percent more steam " if n % 2 else ""
        text += "thermodynamic characterisation considerations " * (n % 3)
        rows.append(Doc(f"d{n:02}", text, f"kettle number {'abcdefghijklmnopqrstuvwx'[n]}"))
    return rows


class Obedient:
    """Knows what each instruction rules out and puts it last; the deaf one does not."""

    def __init__(self, deaf: bool = False) -> None:
        self.name, self.deaf = "deaf" if deaf else "obedient", deaf

    def note(self) -> dict[str, Any]:
        return {}

    def inputs(self, asks: Sequence[Ask], joining: str | None) -> list[str]:
        return [ask.query for ask in asks]

    def rank(
        self,
        asks: Sequence[Ask],
        texts: Sequence[str],
        docs: Sequence[Doc],
        *,
        depth: int,
        candidates: Mapping[str, Sequence[str]] | None = None,
    ) -> RunDict:
        shelf = Shelf(docs)
        order = [doc.doc_id for doc in docs]
        run = {}
        for ask in asks:
            bad: set[str] = set()
            if ask.instruction and not self.deaf:
                for maker in KINDS.values():
                    for demand in maker(ask.query, order[:10], shelf):
                        if demand.instruction == ask.instruction:
                            bad = set(demand.ruled_out)
            ranked = [d for d in order if d not in bad] + [d for d in order if d in bad]
            run[ask.query_id] = {d: float(-n) for n, d in enumerate(ranked)}
        return run


class Stirring(Obedient):
    """Turns the whole order round under any instruction: what stood on top falls, and nothing is obeyed."""

    def rank(self, asks: Sequence[Ask], *rest: Any, **more: Any) -> RunDict:
        run = super().rank([Ask(ask.query_id, ask.query) for ask in asks], *rest, **more)
        return {
            ask.query_id: dict(
                zip(
                    reversed(list(run[ask.query_id])),
                    run[ask.query_id].values(),
                    strict=True,
                )
            )
            if ask.instruction
            else run[ask.query_id]
            for ask in asks
        }


def test_who_obeys_and_who_is_deaf() -> None:
    obeys = probe(Obedient(), docs(), ["kettle"])
    assert [row.kind for row in obeys] == list(KINDS)
    assert all(row.verdict == "obeys" for row in obeys), [row.verdict for row in obeys]
    assert all(row.worst == [] for row in obeys)
    deaf = probe(Obedient(deaf=True), docs(), ["kettle"])
    assert all(row.verdict == "ignores the instruction" for row in deaf)
    assert all(row.obeyed.value == 0.0 and row.unmoved == row.asked for row in deaf)
    stirred = probe(Stirring(), docs(), ["kettle"])
    assert all(row.fell.value > 0 for row in stirred if row.fell.value is not None)
    assert not any(row.verdict == "obeys" for row in stirred), [row.verdict for row in stirred]
    text = screen("deaf", deaf)
    assert "ignores the instruction" in text and len(text.splitlines()) <= 24
    json.dumps([row.to_json() for row in deaf])


def test_instructions_are_made_from_what_stands_on_top_and_not_in_the_query() -> None:
    shelf = Shelf(docs())
    words = telling_words("kettle", [f"d{n:02}" for n in range(10)], shelf)
    assert "porcelain" in words and "kettle" not in words and "plain" not in words


def test_too_few_documents_are_refused() -> None:
    with pytest.raises(InputError, match="at least 10 documents"):
        probe(Obedient(), docs()[:5], ["kettle"])


def test_the_sample_is_the_default_and_own_documents_come_from_anywhere(tmp_path: Path) -> None:
    found, queries = probe_input(take=60)
    assert 40 <= len(found) <= 60 and queries
    (tmp_path / "mine.txt").write_text("one text\nanother text\n")
    (tmp_path / "asked.txt").write_text("one\n")
    own, asked = probe_input(tmp_path / "mine.txt", tmp_path / "asked.txt")
    assert [doc.text for doc in own] == ["one text", "another text"] and asked == ["one"]
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "title": "T", "text": "x"}\n')
    assert probe_input(tmp_path)[1] == ["T"]


def bikes(home: Path) -> Path:
    rows = [("c01", "used bike"), ("c02", "sealed bike"), ("c03", "lamp")]
    (home / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": d, "text": t}) + "\n" for d, t in rows)
    )
    asks = [("n1", "used"), ("n2", "sealed"), ("n3", "none of the words")]
    (home / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": q, "text": "bike", "instruction": i}) + "\n" for q, i in asks)
    )
    (home / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\nn1\tc01\t1\nn2\tc02\t1\nn3\tc01\t1\n"
    )
    (home / "violations.json").write_text('{"n1": ["c02"], "n2": ["c01"], "n3": ["c02"]}')
    (home / "plain_qrels.tsv").write_text("query-id\tcorpus-id\tscore\nn1\tc01\t1\nn1\tc02\t1\n")
    return home


def test_every_ranking_is_shown_with_moves_violations_and_who_ignores(tmp_path: Path) -> None:
    benchmark = constraints(bikes(tmp_path), shown=1)
    scores = evaluate(BM25Ranker(), benchmark)
    moves = moves_of(scores, benchmark, tmp_path, shown=1)
    assert [each.violations for each in moves] == [0, 0, 1]
    assert [each.same_order for each in moves] == [False, True, True]
    text = moves_text("bm25", moves, scores, shown=1)
    assert "IGNORES THE INSTRUCTION" in text and "! c02" in text and "nDCG@10 1.000" in text
    assert any("n2 and n3" in line for line in ignored(scores))
    page = moves_page({"bm25": moves}, {"bm25": scores})
    assert "Ignores the instruction" in page and "<script" not in page
    assert lost_plain({"bm25": scores, "other": scores}) == []
