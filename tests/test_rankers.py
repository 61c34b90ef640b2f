"""What can be put on a benchmark: endpoints, cross-encoders, BM25, kept vectors, templates that differ."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from obverse.benchmarks.benchmark import Search
from obverse.benchmarks.topics import benchmark_of_topics
from obverse.corpus_vectors import CorpusVectors
from obverse.endpoint import EndpointEncoder
from obverse.errors import InputError, ModelError, SettingError
from obverse.evaluate import evaluate, refuse_other_template, score_again, show_inputs
from obverse.inputs import Template
from obverse.models import Encoder, Vectors
from obverse.rankers import BM25Ranker, CrossEncoderRanker, EncoderRanker, load_ranker
from obverse.records import Ask, Doc, Label, Topic, View

DOCS = [Doc("a", "red kettle"), Doc("b", "blue kettle"), Doc("c", "old lamp")]
ASKS = [Ask("q1", "kettle", "red"), Ask("q2", "kettle", "blue")]


class LetterEncoder(Encoder):
    """Counts letters; remembers what it was asked to encode."""

    def __init__(
        self,
        name: str = "letters",
        template: Template | None = None,
        taught: Template | None = None,
    ) -> None:
        super().__init__(name, None, template or Template(), 32, taught=taught)  # type: ignore[arg-type]
        object.__setattr__(self, "asked", [])

    asked: list[str]

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def encode(self, texts: Sequence[str], *, task: str) -> Vectors:
        self.asked += texts
        rows = [[text.count(chr(97 + n)) for n in range(26)] for text in texts]
        found = np.array(rows, dtype=np.float32)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)


class Embeddings(BaseHTTPRequestHandler):
    """Answers like an embeddings endpoint; fails once with 503, and refuses the model ``gone``."""

    failures = 1

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = 200
        if body["model"] == "gone":
            status = 404
        elif Embeddings.failures:
            Embeddings.failures -= 1
            status = 503
        rows = LetterEncoder().encode(body["input"], task="query") * 7
        data = [{"index": n, "embedding": row.tolist()} for n, row in enumerate(rows)]
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps({"data": data[::-1]}).encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Embeddings)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_endpoint_is_asked_again_after_a_failure_and_its_vectors_get_unit_length(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    ranker = load_ranker(f"{endpoint}#letters")
    run = ranker.rank(ASKS, ranker.inputs(ASKS, None), DOCS, depth=3)
    assert next(iter(run["q1"])) == "a"
    vectors = EndpointEncoder(endpoint, "letters", Template()).encode(["ab", "ab"], task="query")
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1])
    with pytest.raises(ModelError, match="refuses \\(404"):
        EndpointEncoder(endpoint, "gone", Template()).encode(["a"], task="query")
    with pytest.raises(SettingError, match="#MODEL"):
        load_ranker(endpoint)


def test_an_endpoint_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(ModelError, match="cannot be asked"):
        EndpointEncoder("http://127.0.0.1:9/v1", "m", Template()).encode(["a"], task="query")


def test_bm25_ranks_the_whole_pool_and_candidates_alone() -> None:
    ranker = BM25Ranker()
    texts = ranker.inputs(ASKS, None)
    assert texts == ["kettle red", "kettle blue"]
    run = ranker.rank(ASKS, texts, DOCS, depth=3)
    assert list(run["q1"]) == ["a", "b", "c"] and run["q1"]["c"] == 0.0
    only = ranker.rank(ASKS[:1], texts[:1], DOCS, depth=3, candidates={"q1": ["c", "b"]})
    assert list(only["q1"]) == ["b", "c"]


def tiny_cross_encoder(home: Path) -> str:
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "blue", "kettle", "old", "lamp"]
    (home / "vocab.txt").write_text("\n".join(words))
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        max_position_embeddings=32,
        num_labels=1,
    )
    BertForSequenceClassification(config).save_pretrained(home)
    BertTokenizerFast(str(home / "vocab.txt")).save_pretrained(home)
    return str(home)


def test_a_cross_encoder_reorders_candidates(tmp_path: Path) -> None:
    ranker = load_ranker(f"cross-encoder:{tiny_cross_encoder(tmp_path)}", device="cpu")
    assert isinstance(ranker, CrossEncoderRanker)
    texts = ranker.inputs(ASKS, None)
    run = ranker.rank(ASKS, texts, DOCS, depth=3, candidates={"q1": ["a", "b"], "q2": ["c"]})
    assert set(run["q1"]) == {"a", "b"} and list(run["q2"]) == ["c"]
    assert list(run["q1"].values()) == sorted(run["q1"].values(), reverse=True)
    whole = ranker.rank(ASKS, texts, DOCS, depth=3)
    assert len(whole["q1"]) == 3
    halved = [Ask("q1", "red \ud800 kettle", "")]
    found = ranker.rank(halved, ranker.inputs(halved, None), [Doc("a", "\udfff old lamp")], depth=1)
    assert list(found["q1"]) == ["a"]
    with pytest.raises(ModelError):
        load_ranker(f"cross-encoder:{tmp_path / 'nothing'}")


def test_kept_vectors_are_reused_and_never_those_of_another_model(tmp_path: Path) -> None:
    first = CorpusVectors(LetterEncoder(), at_once=2)
    first.keep_in(tmp_path)
    whole = first.of(DOCS)
    again = LetterEncoder()
    second = CorpusVectors(again)
    second.keep_in(tmp_path)
    assert np.array_equal(second.of(DOCS[::-1]), whole[::-1]) and again.asked == []
    (tmp_path / "000001.keys").unlink()  # as if stopped before the second chunk was whole
    third_encoder = LetterEncoder()
    third = CorpusVectors(third_encoder)
    third.keep_in(tmp_path)
    assert np.array_equal(third.of(DOCS), whole) and len(third_encoder.asked) == 1
    with pytest.raises(InputError, match="holds vectors of"):
        CorpusVectors(LetterEncoder("other")).keep_in(tmp_path)


def test_kept_vectors_are_not_those_of_a_model_trained_again_in_the_same_folder(
    tmp_path: Path,
) -> None:
    encoder: Any = LetterEncoder()
    encoder.model = torch.nn.Linear(2, 2)
    CorpusVectors(encoder).keep_in(tmp_path)
    CorpusVectors(encoder).keep_in(tmp_path)
    with torch.no_grad():
        encoder.model.bias += 1
    with pytest.raises(InputError, match=r"holds vectors of .*'weights'"):
        CorpusVectors(encoder).keep_in(tmp_path)


def test_vectors_on_disk_are_searched_where_they_lie_and_give_the_same_run(tmp_path: Path) -> None:
    words = ["red", "blue", "kettle", "lamp", "old", "zinc"]
    docs = [Doc(f"d{n:02}", " ".join(words[n % 5 : n % 5 + 1 + n % 3])) for n in range(40)]
    candidates = {"q1": ["d01", "d30", "d17"], "q2": ["d39"]}
    vectors = CorpusVectors(LetterEncoder(), at_once=3)
    vectors.keep_in(tmp_path)
    vectors.of([Doc("of another set", "zebra")])  # rows that this corpus does not have
    on_disk, in_memory = EncoderRanker(LetterEncoder(), vectors), EncoderRanker(LetterEncoder())
    texts = in_memory.inputs(ASKS, None)
    for depth in (1, 7, 40):
        runs = [ranker.rank(ASKS, texts, docs, depth=depth) for ranker in (on_disk, in_memory)]
        assert [[*run["q1"], *run["q2"]] for run in runs[:1]] == [[*runs[1]["q1"], *runs[1]["q2"]]]
        assert list(runs[0]["q1"].values()) == pytest.approx(list(runs[1]["q1"].values()))
    few = [r.rank(ASKS, texts, docs, depth=5, candidates=candidates) for r in (on_disk, in_memory)]
    assert [list(few[0][q]) for q in few[0]] == [list(few[1][q]) for q in few[1]]
    stored = vectors.stored(docs)
    assert len(stored[3:9]) == 6 and len(stored[40:]) == 0
    assert all(isinstance(part, Path) for part in vectors._parts)  # nothing is kept in memory


def test_a_damaged_chunk_of_vectors_is_named(tmp_path: Path) -> None:
    first = CorpusVectors(LetterEncoder(), at_once=2)
    first.keep_in(tmp_path)
    first.of(DOCS)
    (tmp_path / "000000.npy").write_bytes(b"cut")
    with pytest.raises(InputError, match=r"000000\.npy.*damaged: 2 vectors.*000000\.keys"):
        CorpusVectors(LetterEncoder()).keep_in(tmp_path)


def kettle_benchmark() -> Any:
    views = (
        View("red", {"a": Label.POSITIVE, "b": Label.INSTRUCTION_NEGATIVE}),
        View("blue", {"b": Label.POSITIVE, "a": Label.INSTRUCTION_NEGATIVE}),
    )
    topics = [Topic("t", "kettle", (), views)]
    return benchmark_of_topics(topics, {d.doc_id: d for d in DOCS}, name="kettles")


def test_a_model_is_not_asked_otherwise_than_it_was_taught_unless_forced() -> None:
    taught = Template("{instruction} {query}")
    model = LetterEncoder("letters", taught, taught)
    benchmark = kettle_benchmark()
    assert evaluate(model, benchmark).about["joining"] == "model"
    with pytest.raises(
        SettingError, match=r"was trained to read 'red kettle'.*'kettle red'.*--force"
    ):
        evaluate(model, benchmark, joining="paper")
    with pytest.raises(SettingError, match="--force"):
        evaluate(LetterEncoder(taught=taught), benchmark)
    forced = evaluate(model, benchmark, joining="paper", force=True)
    assert forced.about["joining"] == "paper: {query} {instruction}"
    assert forced.about["input_examples"]["views"] == "kettle red"
    with pytest.raises(SettingError, match="Use model, paper or mteb"):
        evaluate(model, benchmark, joining="mine")  # type: ignore[arg-type]


def test_a_foreign_template_is_refused_where_nothing_is_instructed_too() -> None:
    plain = Search("guard", (Ask("q1", "kettle"),))
    benchmark = replace(kettle_benchmark(), searches=(plain,))
    for foreign in (Template(plain="query: {query}"), Template(document="passage: {title} {text}")):
        with pytest.raises(SettingError, match=r"was trained to read.*--force"):
            evaluate(LetterEncoder("letters", foreign, Template()), benchmark)
    order = Template("{instruction} {query}")  # plain queries and documents are read alike
    refuse_other_template(EncoderRanker(LetterEncoder("l", order, Template())), benchmark, "model")


def test_one_real_input_string_is_shown() -> None:
    ranker = EncoderRanker(LetterEncoder())
    assert show_inputs(ranker, kettle_benchmark(), "paper") == {"views": "kettle red"}


def test_written_runs_are_scored_again_to_the_same_values(tmp_path: Path) -> None:
    benchmark = kettle_benchmark()
    first = evaluate(LetterEncoder(), benchmark, out=tmp_path)
    again = score_again(benchmark, tmp_path)
    assert again.brief() == first.brief() and again.model == "letters"
    other = benchmark_of_topics(
        [Topic("t", "kettle", (), _views())],
        {d.doc_id: d for d in DOCS},
        name="other",
    )
    with pytest.raises(InputError, match="is a run on kettles, not on other"):
        score_again(other, tmp_path)


def _views() -> tuple[View, ...]:
    return (View("red", {"a": Label.POSITIVE}),)


def test_long_instructions_are_shortened_and_counted() -> None:
    encoder = LetterEncoder()
    encoder.max_tokens = 4
    ranker = EncoderRanker(encoder)
    assert ranker.inputs([Ask("q", "red kettle", "one two three four")], None) == [
        "red kettle one two"
    ]
    assert ranker.note()["instructions_shortened"] == 1
    long = Ask("long", "one two three four five", "six")
    assert ranker.inputs([long], None) == ["one two three four five six"]
    assert ranker.note()["queries_cut_at_the_token_limit"] == ["long"]
