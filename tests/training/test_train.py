"""From topics to a folder that plain sentence-transformers loads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from tiny_encoder import dual_topic, dual_topics, make_encoder, plain_topic

from obverse.errors import InputError, ModelError, SettingError
from obverse.inputs import TEMPLATES, saved_template
from obverse.models import load_encoder
from obverse.records import Doc, Label, Topic, View
from obverse.training import export as exporting
from obverse.training.explain import as_lines, explain_batch, explained
from obverse.training.relations import Relation
from obverse.training.run import check_limit, precision_for, prepare
from obverse.training.settings import Settings, settings_from
from obverse.training.stopping import refuse_unmoved
from obverse.training.trainer import Trained, train
from obverse.training.watching import Watch

QUICK: dict[str, Any] = {
    "batch_size": 4,
    "learning_rate": 1e-3,
    "max_tokens": 32,
    "device": "cpu",
}


def trained(base: str, out: Path, topics: list[Topic] | None = None, **changes: Any) -> Trained:
    return train(topics or dual_topics(8), base=base, out=out, **{**QUICK, **changes})


def log_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "training.jsonl").read_text().splitlines()]


def test_the_folder_is_an_ordinary_model_with_the_template_in_it(
    tmp_path: Path, encoder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m"
    found = trained(encoder, out, epochs=8, template="e5")
    assert found.steps == 16 and found.folder == out
    rows = log_of(out)
    assert [row["step"] for row in rows] == list(range(1, 17))
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert rows[-1]["learning_rate"] < rows[2]["learning_rate"]
    assert sum(rows[0]["share"].values()) == pytest.approx(1, abs=1e-3)
    assert rows[-1]["similarity"]["positive"] > rows[-1]["similarity"]["instruction_negative"]
    plain = SentenceTransformer(str(out), device="cpu")
    assert plain.max_seq_length == 32
    ours = load_encoder(str(out), device="cpu")
    assert ours.template == TEMPLATES["e5"] == saved_template(out)
    shown = ours.template.query("topic w1", "only kind a")
    np.testing.assert_allclose(
        plain.encode(shown, normalize_embeddings=True),
        ours.queries([("topic w1", "only kind a")])[0],
        atol=1e-5,
    )
    made = json.loads((out / "obverse.json").read_text())
    assert made["max_tokens"] == 32
    card = (out / "README.md").read_text()
    assert "instruction negative labels | 16" in card and "query: {query} {instruction}" in card
    assert not (out / "checkpoints").exists()
    assert "8 topics, 24 views" in capsys.readouterr().err


def test_frozen_documents_keep_their_vectors_and_queries_move(tmp_path: Path, encoder: str) -> None:
    out = tmp_path / "m"
    trained(encoder, out, epochs=4, freeze_docs=True, keep_close=0.1)
    after, before = load_encoder(str(out), device="cpu"), load_encoder(encoder, device="cpu")
    docs = [Doc("d", "kind a of topic w1"), Doc("e", "w5 w6")]
    np.testing.assert_allclose(after.docs(docs), before.docs(docs), atol=1e-6)
    asked = [("topic w1", "only kind a")]
    assert (after.queries(asked) @ before.queries(asked).T).item() < 0.999
    plain = SentenceTransformer(str(out), device="cpu")
    query = plain.encode("topic w1 only kind a", normalize_embeddings=True)
    np.testing.assert_allclose(query, after.queries(asked)[0], atol=1e-5)
    again = tmp_path / "again"
    trained(str(out), again, freeze_docs=True)
    np.testing.assert_allclose(
        load_encoder(str(again), device="cpu").docs(docs), before.docs(docs), atol=1e-6
    )
    with pytest.raises(SettingError, match="--freeze-docs"):
        trained(str(out), tmp_path / "third")


@pytest.mark.filterwarnings("ignore")
def test_prompts_of_the_base_are_taken_into_the_template_and_not_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = make_encoder(tmp_path, prompts={"query": "w1 w2: ", "document": ""})
    trained(base, tmp_path / "m")
    assert "own prompts (query) are taken up into the template" in capsys.readouterr().err
    plain = SentenceTransformer(str(tmp_path / "m"), device="cpu")
    assert not any(plain.prompts.values()) and plain.default_prompt_name is None
    ours = load_encoder(str(tmp_path / "m"), device="cpu")
    assert ours.template.query("w3", "w4") == "w1 w2: w3 w4"
    np.testing.assert_allclose(
        plain.encode("w1 w2: w3 w4", normalize_embeddings=True),
        ours.queries([("w3", "w4")])[0],
        atol=1e-5,
    )
    trained(base, tmp_path / "other", template="default")
    assert "own prompts (query) are not used" in capsys.readouterr().err
    assert load_encoder(str(tmp_path / "other"), device="cpu").template == TEMPLATES["default"]


def test_average_mixes_the_base_in(tmp_path: Path, encoder: str) -> None:
    weights = {}
    for name, share in (("whole", 0.0), ("mixed", 0.25)):
        trained(encoder, tmp_path / name, average=share)
        weights[name] = SentenceTransformer(str(tmp_path / name), device="cpu").state_dict()
    base = SentenceTransformer(encoder, device="cpu").state_dict()
    key = next(k for k in base if k.endswith("layer.1.output.dense.weight"))
    expected = 0.25 * base[key] + 0.75 * weights["whole"][key]
    np.testing.assert_allclose(weights["mixed"][key], expected, atol=1e-6)
    assert not np.allclose(weights["whole"][key], base[key], atol=1e-5)


def test_many_settings_together(tmp_path: Path, encoder: str) -> None:
    topics = [*dual_topics(8), *(plain_topic(n) for n in range(20, 26))]
    out = tmp_path / "m"
    trained(
        encoder,
        out,
        topics,
        epochs=2,
        plain_per_batch=2,
        freeze_layers=1,
        keep_close=0.5,
        margin_weight=0.5,
        contrast_instructions=0.1,
        contrast_queries=0.1,
        matryoshka=[8, 16],
        pool_negatives=4,
        chunked=True,
        schedule="cosine",
        average_last=0.5,
        gradient_checkpointing=True,
    )
    row = log_of(out)[0]
    assert {"info_nce", "info_nce_8", "margin_16", "keep_close"} <= set(row["terms"])
    assert row["loss"] == pytest.approx(sum(row["terms"].values()), rel=1e-3)


def test_distillation_reads_the_teachers_scores(tmp_path: Path, encoder: str) -> None:
    topics = [
        topic.with_views(
            view.checked(teacher={"a": 3.0, "b": 1.0, "n0": 0.0}) for view in topic.views
        )
        for topic in dual_topics(4)
    ]
    trained(encoder, tmp_path / "m", topics, distill=1.0)
    assert "distill" in log_of(tmp_path / "m")[0]["terms"]


def test_held_out_topics_are_watched_and_the_best_step_is_kept(
    tmp_path: Path, encoder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m"
    trained(encoder, out, epochs=6, held_out=[dual_topic(n) for n in range(30, 34)], watch_every=4)
    looks = [row for row in log_of(out) if "held_out" in row]
    assert [row["step"] for row in looks] == [0, 4, 8, 12]
    assert {"flip_rate", "p_mrr", "robustness@10", "plain_ndcg@10"} <= set(looks[0]["held_out"])
    assert "held-out topics after step 12: flip_rate" in capsys.readouterr().err
    with pytest.raises(SettingError, match="held-out topics are trained on"):
        trained(encoder, tmp_path / "other", held_out=[dual_topic(3)])
    with pytest.raises(InputError, match="held-out topics: there is no topic"):
        trained(encoder, tmp_path / "other", held_out=[])


def test_the_best_step_has_the_highest_p_mrr_then_ndcg_and_is_the_first_such() -> None:
    def best(**looks: tuple[float | None, float]) -> int | None:
        rows = {
            int(step[1:]): {"plain_ndcg@10": ndcg, **({} if p_mrr is None else {"p_mrr": p_mrr})}
            for step, (p_mrr, ndcg) in looks.items()
        }
        return Watch(run, topics, 1, 0.01, {0: {"p_mrr": 0.0, "plain_ndcg@10": 0.8}} | rows).best()

    run: Any = None
    topics: Any = None
    assert best(s1=(0.1, 0.8), s2=(0.3, 0.795), s3=(0.5, 0.7)) == 2
    assert best(s1=(0.3, 0.8), s2=(0.3, 0.9), s3=(0.3, 0.9)) == 2
    assert best(s1=(None, 0.8), s2=(None, 0.9)) == 2
    assert best(s1=(0.1, 0.5), s2=(0.0, 0.6)) == 2


def test_other_held_out_topics_make_another_run(
    tmp_path: Path, encoder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, held_out = tmp_path / "m", [dual_topic(n) for n in range(30, 33)]
    trained(encoder, out, held_out=held_out)
    trained(encoder, out, held_out=held_out)
    assert "this very run, finished" in capsys.readouterr().err
    trained(encoder, out, held_out=held_out, guard_loss=0.5)
    assert "guard 0.01' and is" in capsys.readouterr().err
    trained(encoder, out, average_last=0.5, held_out=held_out)
    assert "averaged weights are kept, not those of the best" in capsys.readouterr().err
    trained(encoder, out, average_last=0.5)
    assert "and is None" in capsys.readouterr().err


def test_few_topics_make_small_steps(
    tmp_path: Path, encoder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trained(encoder, tmp_path / "m", dual_topics(3), batch_size=16, epochs=2).steps == 2
    assert "there are only 3 topics" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 0}, "batch size is 0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"schedule": "wavy"}, "schedule is wavy. Use linear, cosine, constant"),
        ({"precision": "fp8"}, "precision is fp8"),
        ({"precision": "fp16"}, "no fp16 training on cpu"),
        ({"max_tokens": 4096}, "reads at most 64 tokens"),
        ({"freeze_layers": 2}, "Freeze at most 1"),
        ({"matryoshka": [64]}, "between 1 and 31"),
        ({"template": "none"}, "unknown template"),
        ({"average": 1.0}, "nothing of the training"),
        ({"lora": 4, "freeze_layers": 1}, "adapters alone"),
        ({"plain_per_batch": 3}, "plain topics per batch"),
        ({"plain_per_batch": -1}, "plain per batch is -1"),
        ({"save_every": 0}, "save every is 0"),
        ({"threads": 0}, "threads is 0"),
        ({"device": "abacus"}, "device 'abacus' cannot be used"),
        ({"epochs": float("inf")}, "epochs is inf"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"guard_loss": float("nan")}, "guard loss is nan"),
        ({"matryoshka": [16, 16]}, "stands twice in 16, 16"),
        ({"lora": 4, "lora_alpha": -1}, "lora alpha is -1"),
        ({"distill": 1.0}, "no view has a teacher's scores"),
        ({"in_batch": {"shop": False}}, "no view comes from the source 'shop'"),
        ({"source_weights": {"shop": 2}}, "no view comes from the source 'shop'"),
        ({"source_weights": {"": float("inf")}}, "source weight of '' is inf"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    tmp_path: Path, encoder: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        trained(encoder, tmp_path / "m", **changes)
    assert not (tmp_path / "m" / "modules.json").exists()


def test_a_folder_with_another_model_is_left_alone(tmp_path: Path, encoder: str) -> None:
    with pytest.raises(SettingError, match="holds a model that was not trained here"):
        trained(encoder, Path(encoder))
    with pytest.raises(ModelError, match="no such model folder"):
        trained("/nowhere/at/all", tmp_path / "m")
    trained(encoder, tmp_path / "m")
    with pytest.raises(SettingError, match="is the base itself"):
        trained(str(tmp_path / "m"), tmp_path / "m")
    (tmp_path / "file").write_text("x")
    with pytest.raises(SettingError, match="file: is a file"):
        trained(encoder, tmp_path / "file" / "m")


def test_topics_that_cannot_be_trained_on_are_named(tmp_path: Path, encoder: str) -> None:
    bare = Topic("t9", "w1", (), (View("", {"a": Label.POSITIVE}),))
    with pytest.raises(InputError, match="topic t9: has no documents"):
        trained(encoder, tmp_path / "m", [bare])
    with pytest.raises(InputError, match="no topic"):
        train([], base=encoder, out=tmp_path / "m", **QUICK)
    alone = Topic("t1", "w1", (Doc("a", "w2"),), (View("", {"a": Label.POSITIVE}),))
    with pytest.raises(InputError, match="no query has a negative"):
        trained(encoder, tmp_path / "m", [alone])


def test_the_query_is_never_cut_and_what_is_lost_is_said(
    tmp_path: Path, encoder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    long = dual_topic(1)
    wordy = long.with_views(
        View("only kind a " + "w9 " * 40, view.labels) if view.instruction else view
        for view in long.views
    )
    trained(encoder, tmp_path / "m", [wordy, *dual_topics(4)[2:]], batch_size=2, max_tokens=10)
    assert "2 instructions are shortened to fit 10 tokens" in capsys.readouterr().err
    with pytest.raises(InputError, match="topic t1: the query"):
        trained(encoder, tmp_path / "n", [wordy, *dual_topics(4)[2:]], batch_size=2, max_tokens=3)


def test_half_a_surrogate_pair_stops_neither_training_nor_encoding(
    tmp_path: Path, encoder: str
) -> None:
    whole = dual_topic(1)
    views = (View(f"\udc00 {view.instruction}", view.labels) for view in whole.views)
    docs = tuple(Doc(doc.doc_id, f"{doc.text} \ud800") for doc in whole.docs)
    halved = Topic(whole.topic_id, f"\ud800 {whole.query}", docs, tuple(views))
    topics = [halved, *dual_topics(8)[2:]]
    trained(encoder, tmp_path / "m", topics, held_out=dual_topics(8)[:1])
    found = load_encoder(str(tmp_path / "m"), device="cpu")
    vectors = found.queries([("\ud800 w1", "\udfff"), ("\ufffd w1", "\ufffd")])
    assert np.array_equal(vectors[0], vectors[1])


def test_a_loss_of_nothing_stops_a_short_run_too(tmp_path: Path, encoder: str) -> None:
    plain = [plain_topic(number) for number in range(8)]
    with pytest.raises(SettingError, match=r"exactly 0 in 2 steps in a row.*--plain-weight"):
        trained(encoder, tmp_path / "m", plain, epochs=1, plain_weight=0)


def test_steps_that_move_no_weight_are_said(tmp_path: Path, encoder: str) -> None:
    settings = Settings(batch_size=4, max_tokens=32)
    run = prepare(dual_topics(8), settings, base=encoder, out=tmp_path / "m", device="cpu")
    with pytest.raises(SettingError, match=r"2 steps have not moved the weights.*--learning-rate"):
        refuse_unmoved(run)
    with torch.no_grad():
        next(iter(run.learner.parameters())).add_(1e-3)
    refuse_unmoved(run)


def test_held_out_topics_share_no_query_with_what_is_trained_on(
    tmp_path: Path, encoder: str
) -> None:
    same = Topic("other", dual_topic(0).query.upper(), dual_topic(9).docs, dual_topic(9).views)
    with pytest.raises(SettingError, match=r"the queries of 1 held-out topics .* 'other'"):
        trained(encoder, tmp_path / "m", held_out=[same])
    wordy = Topic("long", "w9 " * 40, dual_topic(9).docs, dual_topic(9).views)
    with pytest.raises(InputError, match="held-out topics, topic long"):
        trained(encoder, tmp_path / "m", held_out=[wordy])


def test_a_loss_that_is_no_number_stops_with_the_rows(tmp_path: Path, encoder: str) -> None:
    with pytest.raises(SettingError, match=r"topics t\d, .*the loss is nan \(rows: 'topic w"):
        trained(encoder, tmp_path / "m", epochs=20, learning_rate=1e30, max_grad_norm=0)


def test_a_collapse_stops_though_dropout_keeps_the_vectors_apart(
    tmp_path: Path, encoder: str
) -> None:
    with pytest.raises(SettingError, match=r"step \d+, topics t\d, .*the encoder has collapsed"):
        trained(encoder, tmp_path / "m", steps=40, learning_rate=1.0, max_grad_norm=0)


def test_adapters_begin_at_what_the_seed_says(tmp_path: Path, encoder: str) -> None:
    pytest.importorskip("peft")
    found = []
    for number, seed in enumerate((0, 0, 1)):
        torch.rand(1 + number)
        trained(encoder, tmp_path / f"m{number}", lora=4, seed=seed, pick="first", steps=1)
        found.append((tmp_path / f"m{number}" / "model.safetensors").read_bytes())
    assert found[0] == found[1] != found[2]


def test_weights_that_the_last_step_broke_are_not_saved(tmp_path: Path, encoder: str) -> None:
    with pytest.raises(SettingError, match="the last step left weights"):
        trained(encoder, tmp_path / "m", steps=1, learning_rate=1e39, max_grad_norm=0, warmup=0)
    assert not (tmp_path / "m" / "modules.json").exists()


def test_teachers_scores_are_numbers(tmp_path: Path, encoder: str) -> None:
    first, *rest = dual_topics(4)
    wrong = first.with_views(view.checked(teacher={"a": "high"}) for view in first.views)
    with pytest.raises(InputError, match=r"topic t0: checks\.teacher scores 'a' with 'high'"):
        trained(encoder, tmp_path / "m", [wrong, *rest], distill=1.0)


def test_positions_that_are_counted_from_behind_the_padding_are_not_tokens() -> None:
    from types import SimpleNamespace

    from transformers import RobertaConfig, RobertaModel

    shape = RobertaConfig(
        vocab_size=9,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        max_position_embeddings=34,
    )
    model: Any = SimpleNamespace(max_seq_length=32, transformers_model=RobertaModel(shape))
    check_limit(model, "roberta", 32)
    with pytest.raises(SettingError, match="reads at most 32 tokens, not 33"):
        check_limit(model, "roberta", 33)


def test_explain_batch_shows_every_pair_with_its_reason(encoder: str) -> None:
    run = explain_batch(dual_topics(8), 1, base=encoder, **QUICK_PLAN)
    pairs = list(explained(run, 1))
    assert len({pair.topic for pair in pairs}) == 4
    masked = [pair for pair in pairs if pair.reason]
    assert masked and all(pair.weight is None for pair in masked)
    ruled_out = [pair for pair in pairs if pair.relation == Relation.INSTRUCTION_NEGATIVE]
    assert len(ruled_out) == 8 and all(pair.weight is not None for pair in ruled_out)
    for anchor in {(pair.topic, pair.anchor) for pair in pairs}:
        own = [pair.weight or 0 for pair in pairs if (pair.topic, pair.anchor) == anchor]
        assert sum(own) == pytest.approx(1, abs=1e-4)
    lines = list(as_lines(run, 1))
    assert lines[0].startswith("step 1 of 2, epoch 0: 4 topics, 12 anchors")
    assert lines[1].split("\t")[:4] == ["topic", "anchor", "candidate", "label"]
    assert len(lines) == len(pairs) + 2
    with pytest.raises(SettingError, match="no batch 2"):
        explain_batch(dual_topics(8), 2, base=encoder, **QUICK_PLAN)
    with pytest.raises(SettingError, match="unknown setting 'batchsize'"):
        explain_batch(dual_topics(8), 0, base=encoder, batchsize=4)


QUICK_PLAN: dict[str, Any] = {"batch_size": 4, "max_tokens": 32, "device": "cpu"}


def test_a_model_that_minds_its_padding_is_refused(tmp_path: Path) -> None:
    """Last-token pooling is right, but the positions of this encoder count the padding on the left."""
    base = make_encoder(tmp_path, left=True)
    with pytest.raises(ModelError, match="another vector when it is padded"):
        trained(base, tmp_path / "m")


def test_tensorboard_files_stay_beside_the_model(tmp_path: Path, encoder: str) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    held_out = [dual_topic(n) for n in range(30, 33)]
    trained(encoder, tmp_path / "m", tensorboard=True, held_out=held_out, watch_every=1)
    found = EventAccumulator(str(tmp_path / "m" / "tensorboard"))
    found.Reload()
    names = found.Tags()["scalars"]
    assert {"loss", "learning_rate", "similarity/positive", "held_out/p_mrr"} <= set(names)
    logged = [row["loss"] for row in log_of(tmp_path / "m") if "loss" in row]
    assert [event.value for event in found.Scalars("loss")] == pytest.approx(logged, rel=1e-5)


def test_bf16_trains_with_float32_vectors_and_nearly_the_same_loss(
    tmp_path: Path, still_encoder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    losses = {}
    for precision in ("fp32", "bf16"):
        out = tmp_path / precision
        trained(still_encoder, out, precision=precision, epochs=2)
        losses[precision] = [row["loss"] for row in log_of(out)]
    assert losses["bf16"] == pytest.approx(losses["fp32"], rel=0.05)
    assert losses["bf16"] != losses["fp32"]
    assert "steps of 4 topics, bf16" in capsys.readouterr().err
    saved = SentenceTransformer(str(tmp_path / "bf16"), device="cpu")
    assert {p.dtype for p in saved.parameters()} == {torch.float32}


def test_similarities_are_float32_in_bf16(still_encoder: str) -> None:
    run = explain_batch(dual_topics(4), base=still_encoder, precision="bf16", **QUICK_PLAN)
    assert run.forward.precision == "bf16"
    vectors = run.forward.frozen(["topic w1", "kind a of topic w1"])
    assert vectors.dtype == torch.float32
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(2), atol=1e-6, rtol=0)


def test_fp16_is_warned_about_and_auto_is_never_fp16(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    assert precision_for("fp16", "cuda") == "fp16"
    assert "fp16 has few digits for temperature 0.02; bf16 is safer" in capsys.readouterr().err
    assert precision_for("auto", "cuda") == "fp32"
    assert precision_for("bf16", "cuda") == "bf16"
    assert "computes bf16 slowly" in capsys.readouterr().err


def test_shares_and_weights_are_settings_that_are_logged_and_stored(
    tmp_path: Path, encoder: str
) -> None:
    out = tmp_path / "m"
    topics = [*dual_topics(6, source="mine"), *(plain_topic(n) for n in range(20, 22))]
    done = trained(encoder, out, topics, steps=3, plain_share="1:0", source_weights={"mine": "0:1"})
    assert done.steps == 3
    settings = json.loads((out / "training.made.json").read_text())["run"]["settings"]
    assert settings["plain_share"] == "1.0:0.0" and settings["source_weights"] == {
        "mine": "0.0:1.0"
    }


def test_queries_alone_are_kept_close_unless_another_weight_is_given() -> None:
    def weight(**given: object) -> float:
        return settings_from({"keep_close": None, **given}).terms.keep_close

    assert weight(freeze_docs=True) == 10
    assert weight(freeze_docs=False) == 0
    assert weight(freeze_docs=True, keep_close=0.0) == 0


def test_the_learning_rate_is_higher_where_the_query_side_alone_is_trained() -> None:
    def rate(**given: object) -> float:
        return settings_from({"learning_rate": None, **given}).learning_rate

    assert (rate(), rate(freeze_docs=True)) == (5e-5, 1.2e-4)
    assert rate(freeze_docs=True, learning_rate=1e-6) == 1e-6


def test_an_export_into_the_folder_where_one_stands(
    tmp_path: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package)
    load = exporting.load_encoder
    monkeypatch.setattr(exporting, "load_encoder", lambda *_, **__: load(encoder, device="cpu"))
    monkeypatch.setattr(exporting, "_lowest_cosine", lambda *_: 1.0)
    monkeypatch.setattr(exporting, "_write", lambda _, folder, __: (folder / "made").touch())
    monkeypatch.chdir(tmp_path)
    assert exporting.export(encoder, ".") == 1.0
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    with pytest.raises(SettingError, match="made: is a file"):
        exporting.export(encoder, tmp_path / "made" / "m")
