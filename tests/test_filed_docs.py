"""Corpora whose texts stay in their file: the same documents, runs and errors, and little memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from obverse import filed_docs
from obverse.benchmarks.named import load_benchmark
from obverse.errors import InputError
from obverse.evaluate import evaluate
from obverse.filed_docs import FiledDocs, ids_of
from obverse.inputs import Template
from obverse.models import Encoder, Vectors
from obverse.rankers import BM25Ranker


class LengthEncoder(Encoder):
    def __init__(self) -> None:
        super().__init__("lengths", None, Template(), 1_000_000)  # type: ignore[arg-type]

    def count_tokens(self, text: str) -> int:
        return 1

    def encode(self, texts: Sequence[str], *, task: str) -> Vectors:
        rows = np.array([[1.0, len(text) % 97, text.count("a") % 13] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def beir(home: Path, texts: Sequence[str], end: str = "\n") -> str:
    rows = [
        json.dumps({"_id": f"d{n:04}", "title": "t", "text": text}) for n, text in enumerate(texts)
    ]
    (home / "corpus.jsonl").write_bytes(b"\xef\xbb\xbf" + end.join([*rows, "", ""]).encode())
    (home / "queries.jsonl").write_text('{"_id": "q", "text": "banana"}\n')
    (home / "qrels").mkdir()
    (home / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td0003\t1\n")
    return f"beir:set={home}"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_documents_on_disk_give_the_same_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    spec = beir(tmp_path, [f"banana {'a' * n} é" for n in range(40)], end)
    held = load_benchmark(spec)
    monkeypatch.setattr(filed_docs, "HELD", 0)
    filed = load_benchmark(spec)
    assert isinstance(filed.docs, FiledDocs) and dict(filed.docs) == dict(held.docs)
    assert ids_of(filed.docs_of(filed.searches[0])) == list(held.docs)
    for ranker in (BM25Ranker(), LengthEncoder()):
        one, two = (evaluate(ranker, each) for each in (held, filed))
        assert one.runs == two.runs and one.brief() == two.brief()


def test_passages_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "collection.tsv").write_text("1\tone passage \n2\ttwo passages\n")
    (tmp_path / "queries.dev.small.tsv").write_text("10\tone\n20\ttwo\n")
    (tmp_path / "qrels.dev.small.tsv").write_text("10\t0\t1\t1\n20\t0\t2\t1\n")
    held = load_benchmark(f"msmarco={tmp_path}")
    monkeypatch.setattr(filed_docs, "HELD", 0)
    filed = load_benchmark(f"msmarco={tmp_path}")
    assert isinstance(filed.docs, FiledDocs) and dict(filed.docs) == dict(held.docs)
    (tmp_path / "collection.tsv").write_text("1\tone passage \n2 two passages\n")
    with pytest.raises(InputError, match=r"collection\.tsv:2: has no tab"):
        load_benchmark(f"msmarco={tmp_path}")


def test_a_wrong_line_is_named_and_a_file_that_changes_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = beir(tmp_path, ["x"] * 5)
    monkeypatch.setattr(filed_docs, "HELD", 0)
    benchmark = load_benchmark(spec)
    text = (tmp_path / "corpus.jsonl").read_bytes()
    (tmp_path / "corpus.jsonl").write_bytes(text.replace(b"d0002", b"d9999"))
    with pytest.raises(InputError, match="has changed since it was opened"):
        benchmark.docs["d0002"]
    (tmp_path / "corpus.jsonl").write_bytes(text + b"{\n")
    with pytest.raises(InputError, match=r"corpus\.jsonl:7: is no JSON"):
        load_benchmark(spec)


def test_texts_on_disk_need_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = beir(tmp_path, ["a" * 20_000 + str(n) for n in range(1_500)])  # 30 MB
    monkeypatch.setattr(filed_docs, "HELD", 0)
    tracemalloc.start()
    benchmark = load_benchmark(spec)
    encoder = LengthEncoder()
    from obverse.corpus_vectors import CorpusVectors

    found = evaluate(encoder, benchmark, vectors=CorpusVectors(encoder, at_once=50))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.runs["corpus"]["q"]) == 1_000
    assert most < 10_000_000
