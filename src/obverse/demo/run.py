"""Runs the demo: makes the data, trains, measures base and trained model, and writes the page."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.benchmarks.topics import topics_benchmark
from obverse.corpus_vectors import CorpusVectors
from obverse.demo.data import make_training_set
from obverse.demo.journey import Journey
from obverse.demo.page import write_page
from obverse.evaluate import evaluate
from obverse.files import in_folder, read_corpus, read_topics, write_json
from obverse.log import say
from obverse.models import PACKAGED, load_encoder
from obverse.sample import sample_folder
from obverse.training.trainer import train

if TYPE_CHECKING:
    from obverse.evaluate import Scores
    from obverse.models import Encoder
    from obverse.records import Doc, Topic

MAX_TOKENS = 128
KEYS = ("p_mrr", "flip_rate", "robustness@10", "ndcg@10", "plain_ndcg@10", "guard_ndcg@10")

SETTINGS: dict[str, Any] = {
    "freeze_docs": True,
    "epochs": 8,
    "batch_size": 16,
    "plain_per_batch": 8,
    "learning_rate": 2e-4,
    "keep_close": 10.0,
    "margin_weight": 10.0,
    "margin": 0.15,
}
"""What the demo trains with, chosen on a development split of the training topics (docs/log.md)."""

QUICK: dict[str, Any] = SETTINGS | {"epochs": 4}
QUICK_TOPICS = 200


def demo(out: Path, *, quick: bool = False, seed: int = 0, threads: int | None = None) -> Path:
    """Runs the loop and returns the path of its page.

    Writes ``index.html``, ``scores.json``, ``model/``, ``data/`` (every stage's topics) and ``runs/`` (TREC runs).

    Args:
        out: The folder for all of it.
        quick: Trains less, and searches the recall guard over the pool instead of the whole corpus.
        seed: Of training, and of the bootstrap intervals.
        threads: Torch threads; by default torch's own choice.
    """
    began = time.monotonic()
    say(
        f"demo: {'the quick run, a shorter training' if quick else 'the full run'}, seed {seed}, into {out}"
    )
    journey, settings = Journey(out), QUICK if quick else SETTINGS
    corpus = read_corpus(in_folder(sample_folder(), "corpus.jsonl"))
    held_out = list(read_topics(in_folder(sample_folder(), "topics.jsonl")))
    base = load_encoder(PACKAGED, max_tokens=MAX_TOKENS, threads=threads)
    training = make_training_set(
        journey, base, held_out, corpus, seed, size=QUICK_TOPICS if quick else None
    )

    with journey.timed("train") as line:
        topics = list(read_topics(training))
        train(
            topics,
            base=PACKAGED,
            out=out / "model",
            max_tokens=MAX_TOKENS,
            seed=seed,
            threads=threads,
            restart=True,
            **settings,
        )
        line.came, line.left = f"{len(topics):,} topics", "a model folder"
    say(f"train: {line.came} in, {line.left} out")

    benchmark = topics_benchmark(sample_folder(), guard="pool" if quick else "corpus")
    scores: dict[str, Scores] = {}
    with journey.timed("evaluate") as line:
        trained = load_encoder(str(out / "model"), threads=threads)
        vectors = CorpusVectors(base)
        scores["base"] = evaluate(
            base, benchmark, out=out / "runs" / "base", seed=seed, vectors=vectors
        )
        # With frozen documents both models have the same document vectors: encode the corpus once.
        shared = vectors if _same_documents(base, trained, held_out, corpus) else None
        scores["trained"] = evaluate(
            trained, benchmark, out=out / "runs" / "trained", seed=seed, vectors=shared
        )
        line.came = f"2 models, {len(held_out)} held-out topics"
        line.left = "scores, intervals and TREC runs"
    say(f"evaluate: {line.came} in, {line.left} out")
    write_json(out / "scores.json", {name: _keyed(found) for name, found in scores.items()})
    page = write_page(
        journey, journey.file("4-filtered"), settings | {"quick": quick, "seed": seed}
    )
    _say_result(scores, page, quick=quick, seconds=time.monotonic() - began)
    return page


def _same_documents(
    base: Encoder, trained: Encoder, topics: Sequence[Topic], corpus: Mapping[str, Doc]
) -> bool:
    docs = [corpus[doc_id] for topic in topics[:4] for doc_id in topic.views[0].labels]
    return bool(np.abs(base.docs(docs) - trained.docs(docs)).max() < 1e-5)


def _keyed(scores: Scores) -> dict[str, dict[str, Any]]:
    return {
        key: {name: scores[key].brief()[name] for name in ("value", "low", "high", "n")}
        for key in KEYS
    }


def _say_result(scores: dict[str, Scores], page: Path, *, quick: bool, seconds: float) -> None:
    for key in KEYS:
        base, trained = (scores[name][key].value for name in ("base", "trained"))
        if base is not None and trained is not None:
            say(f"  {key:14} {base:7.3f} -> {trained:7.3f}   ({trained - base:+.3f})")
    if quick:
        say(
            "  This was the quick run: less training, and the guard over the pool alone. Leave --quick out for all."
        )
    say(f"demo: done in {seconds / 60:.1f} minutes; open {page}")
