"""Encoding without padding gives the vectors and gradients of the library's encoder."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tiny_encoder import dual_topics, make_encoder

from obverse.models import load_model
from obverse.training.loss import Terms
from obverse.training.packed import packed, packed_encoder
from obverse.training.processes import processes
from obverse.training.run import Run, prepare
from obverse.training.settings import Settings
from obverse.training.sides import add_lora, freeze_layers
from obverse.training.steps import StepLoss
from obverse.training.tokens import Forward, Tokens

TEXTS = ["kind a", "kind b", "only kind a of topic w3", "w1", "w1 w2 w3 not w4 w5", "kind of"]


def tiny(folder: Path, **settings: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_encoder(folder, **settings)


def vectors_and_gradients(model: Any, *, packs: bool) -> tuple[Any, dict[str, Any]]:
    forward = Forward(model, Tokens(model, 32))
    if packs:
        forward.packed = packed_encoder(model)
        assert forward.packed is not None
    vectors = forward(TEXTS)
    (vectors * torch.arange(vectors.numel()).view_as(vectors).sin()).sum().backward()
    found = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return vectors.detach(), found


def same(model: Any) -> None:
    one, theirs = vectors_and_gradients(model, packs=False)
    two, ours = vectors_and_gradients(model, packs=True)
    torch.testing.assert_close(two, one, atol=1e-6, rtol=1e-5)
    # Theirs has a gradient of rows that no token reaches, ours as well: zeros.
    assert theirs.keys() == ours.keys() and theirs
    for name in theirs:
        torch.testing.assert_close(ours[name], theirs[name], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("mode", ["mean", "cls"])
@pytest.mark.parametrize("frozen", [0, 1])
def test_vectors_and_gradients_are_the_librarys(tmp_path: Path, mode: str, frozen: int) -> None:
    model = load_model(tiny(tmp_path, dropout=0.0), device="cpu")
    model[1].pooling_mode = mode
    freeze_layers(model, frozen)
    model.train()
    same(model)


def test_dropout_falls_alike_for_the_same_seed_and_scales(tmp_path: Path) -> None:
    model = load_model(tiny(tmp_path, dropout=0.3), device="cpu")
    encoder = packed_encoder(model)
    assert encoder is not None
    batch = packed(Tokens(model, 32).rows(TEXTS))
    draws = []
    for seed in (1, 1, *range(2, 400)):
        torch.manual_seed(seed)
        with torch.no_grad():
            draws.append(encoder(batch, training=True))
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])
    model.train()
    theirs = []
    with torch.no_grad():
        for seed in range(400):
            torch.manual_seed(seed)
            theirs.append(model(Tokens(model, 32).padded(TEXTS, "cpu"))["sentence_embedding"])
    ours, library = torch.stack(draws), torch.stack(theirs)
    assert float((ours.mean(0) - library.mean(0)).abs().mean()) < 0.05
    assert float((ours.std(0) / library.std(0)).mean()) == pytest.approx(1, abs=0.03)


def test_the_gradient_with_dropout_is_the_slope(tmp_path: Path) -> None:
    """The forward pass, differentiated by finite steps with dropout held still."""
    model = load_model(tiny(tmp_path, dropout=0.3), device="cpu")
    encoder = packed_encoder(model)
    assert encoder is not None
    batch = packed(Tokens(model, 32).rows(TEXTS))

    def value() -> Any:
        torch.manual_seed(5)
        vectors = encoder(batch, training=True)
        return (F.normalize(vectors, dim=1).double() * torch.arange(32).cos()).sum()

    value().backward()
    for name, p in model.named_parameters():
        if p.grad is None:
            continue
        direction = p.grad / p.grad.norm().clamp(min=1e-12)
        if float(p.grad.norm()) < 1e-2:
            continue
        with torch.no_grad():
            p += 1e-3 * direction
            up = float(value())
            p -= 2e-3 * direction
            down = float(value())
            p += 1e-3 * direction
        assert (up - down) / 2e-3 == pytest.approx(float(p.grad.norm()), rel=0.02), name


def test_others_run_as_they_are(tmp_path: Path) -> None:
    left = load_model(tiny(tmp_path / "left", left=True), device="cpu")
    assert packed_encoder(left) is None
    adapted = load_model(tiny(tmp_path / "lora"), device="cpu")
    add_lora(adapted, 2, None, 0.0)
    assert packed_encoder(adapted) is None
    half = load_model(tiny(tmp_path / "half"), device="cpu").bfloat16()
    assert packed_encoder(half) is None


def step_of(encoder: str, **changes: Any) -> tuple[float, dict[str, Any]]:
    chosen = Settings(batch_size=4, max_tokens=32, micro_tokens=40, terms=Terms(), **changes)
    run: Run = prepare(dual_topics(6), chosen, base=encoder, out=Path("unused"), device="cpu")
    loss, _ = StepLoss(run, processes())(run.collator([0]))
    assert run.forward.packed is not None
    return float(loss), {n: p.grad for n, p in run.learner.named_parameters() if p.grad is not None}


def test_keeping_some_activations_changes_nothing(encoder: str) -> None:
    loss, plain = step_of(encoder)
    for tokens in (0, 100, 10_000):
        again, kept = step_of(encoder, chunked=True, keep_tokens=tokens)
        assert again == pytest.approx(loss, abs=1e-6)
        for name in plain:
            torch.testing.assert_close(kept[name], plain[name], atol=1e-6, rtol=1e-5)
