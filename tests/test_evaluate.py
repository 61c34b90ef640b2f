"""A model on a topics benchmark: the keys, the rules, the files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from obverse.benchmarks.topics import KEYS, benchmark_of_topics, topics_benchmark
from obverse.errors import InputError
from obverse.evaluate import evaluate
from obverse.inputs import Template
from obverse.models import Encoder, Vectors
from obverse.records import Doc, Label, Topic, View
from obverse.trec import read_run

P, R, N, X = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE, Label.IGNORE


class WordEncoder(Encoder):
    """Counts words of a fixed list: an instruction adds its words to the query's, ``not`` is understood."""

    words = ("kettle", "red", "blue", "old", "new")

    def __init__(self, obeys: bool = True) -> None:
        super().__init__("words", None, Template(), 64)  # type: ignore[arg-type]
        self.obeys = obeys

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def encode(self, texts: Sequence[str], *, task: str) -> Vectors:
        if task == "query" and not self.obeys:
            texts = [text.split()[0] for text in texts]
        found = np.array([[float(w in t.split()) for w in self.words] for t in texts], np.float32)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-6)


def kettles() -> tuple[list[Topic], dict[str, Doc]]:
    docs = {
        "a": Doc("a", "red kettle"),
        "b": Doc("b", "blue kettle"),
        "c": Doc("c", "old thing"),
        "z": Doc("z", "new thing"),
    }
    views = (
        View("", {"a": P, "b": P, "c": N}),
        View("red", {"a": P, "b": R, "c": N}),
        View("blue", {"a": R, "b": P, "c": N}),
    )
    return [Topic("t", "kettle", (), views)], docs


def test_a_model_that_obeys_and_one_that_does_not() -> None:
    topics, docs = kettles()
    benchmark = benchmark_of_topics(topics, docs, name="kettles")
    obeys = evaluate(WordEncoder(), benchmark)
    deaf = evaluate(WordEncoder(obeys=False), benchmark)
    assert obeys["p_mrr"].value == pytest.approx(0.5)
    assert obeys["flip_rate"].value == 1.0
    assert obeys["robustness@10"].value == 1.0
    assert deaf["p_mrr"].value == 0.0
    assert deaf["flip_rate"].value == 0.0
    assert deaf["robustness@10"].value == pytest.approx(1 / np.log2(3))
    assert obeys["plain_ndcg@10"].value == 1.0
    assert obeys["guard_ndcg@10"].value is None and obeys["guard_ndcg@10"].reason


def test_the_pool_is_what_topics_label_and_the_corpus_is_all() -> None:
    topics, docs = kettles()
    pool = evaluate(WordEncoder(), benchmark_of_topics(topics, docs, name="k"))
    corpus = evaluate(WordEncoder(), benchmark_of_topics(topics, docs, name="k", scope="corpus"))
    assert set(pool.runs["views"]["t#1"]) == {"a", "b", "c"}
    assert set(corpus.runs["views"]["t#1"]) == {"a", "b", "c", "z"}
    assert pool.about["scope"].startswith("pool: ")
    assert corpus.about["scope"].startswith("corpus: ")


def test_ignored_documents_leave_the_ranking_of_their_view_only() -> None:
    topics, docs = kettles()
    docs["d"] = Doc("d", "red kettle")  # ties with a and wins by its id
    plain, red, blue = topics[0].views
    kept = topics[0].with_views([plain, red, blue])
    ignoring = topics[0].with_views([plain, View("red", {**red.labels, "d": X}), blue])
    with_d = benchmark_of_topics([kept], docs, name="k", scope="corpus")
    assert evaluate(WordEncoder(), with_d)["robustness@10"].value == pytest.approx(1 / np.log2(3))
    without_d = benchmark_of_topics([ignoring], docs, name="k", scope="corpus")
    assert evaluate(WordEncoder(), without_d)["robustness@10"].value == 1.0


def write_folder(home: Path, *, guard: bool = True) -> Path:
    topics, docs = kettles()
    from obverse.files import write_topics

    write_topics(home / "topics.jsonl.gz", topics)
    rows = [{"_id": doc.doc_id, "title": "", "text": doc.text} for doc in docs.values()]
    (home / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if guard:
        (home / "queries.jsonl").write_text('{"_id": "q1", "text": "new"}\n')
        (home / "qrels").mkdir()
        (home / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tz\t1\n")
    return home


def test_a_folder_gives_the_keys_the_runs_and_their_provenance(tmp_path: Path) -> None:
    benchmark = topics_benchmark(write_folder(tmp_path))
    scores = evaluate(WordEncoder(), benchmark, out=tmp_path / "out")
    assert tuple(scores.measures) == KEYS
    row: dict[str, Any] = json.loads((tmp_path / "out/scores.json").read_text())
    for key in KEYS:
        assert {"value", "low", "high", "n"} <= row[key].keys()
    assert row["guard_ndcg@10"]["value"] == 1.0
    assert row["per_topic"]["p_mrr"] == {"t": pytest.approx(0.5)}
    made = json.loads((tmp_path / "out/views.run.tsv.made.json").read_text())
    assert {"model", "template_digest", "max_tokens", "joining", "ties", "versions"} <= made.keys()
    run = read_run(tmp_path / "out/views.run.tsv").run
    assert benchmark.score({"views": run, "guard": {"q1": {"z": 1.0}}}, 0)["p_mrr"].value == 0.5
    assert scores.top("t#1", 1) == [("a", pytest.approx(1.0))]


def test_a_labelled_document_that_is_gone_is_refused_unless_told(tmp_path: Path) -> None:
    write_folder(tmp_path)
    text = (tmp_path / "corpus.jsonl").read_text().splitlines()
    (tmp_path / "corpus.jsonl").write_text("\n".join(text[1:]))
    with pytest.raises(InputError, match=r"topic 't' labels document 'a'.*--partial"):
        topics_benchmark(tmp_path)
    told = topics_benchmark(tmp_path, partial=True)
    assert told.about["labels_of_missing_documents"] == [["t", "a"]]


def test_the_same_seed_gives_the_same_interval_and_order_of_topics_does_not_matter() -> None:
    topics, docs = kettles()
    more = [Topic(f"t{n}", t.query, (), t.views) for n, t in enumerate(topics * 5)]
    one = evaluate(WordEncoder(), benchmark_of_topics(more, docs, name="k")).brief()
    two = evaluate(WordEncoder(), benchmark_of_topics(more[::-1], docs, name="k")).brief()
    assert one == two
