"""The loss against values of other implementations, and against what its terms promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from obverse.errors import SettingError
from obverse.training.loss import (
    Matrix,
    Terms,
    check_widths,
    contrast,
    distillation,
    info_nce,
    objective,
    shares,
    swap_margin,
)
from obverse.training.relations import Relation

GOLDEN = Path(__file__).parents[1] / "data" / "golden"


def golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def doubles(rows: Any) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def codes_of(arctic: Any) -> torch.Tensor:
    """Arctic Embed's relations: 1 positive, -1 negative, 0 out of the loss."""
    found = torch.full(torch.tensor(arctic).shape, int(Relation.UNLABELLED), dtype=torch.int8)
    found[torch.tensor(arctic) == 1] = Relation.POSITIVE
    found[torch.tensor(arctic) == -1] = Relation.NEGATIVE
    return found


@pytest.mark.parametrize(
    "name", ["one_pos_hard_negs", "in_batch", "two_positives", "no_positive_row"]
)
def test_info_nce_has_arctic_embeds_values(name: str) -> None:
    """Theirs is a mean over positives: rows are weighted by their number of positives to compare."""
    case = next(case for case in golden("arctic_infonce")["cases"] if case["name"] == name)
    scores = doubles(case["scores"]).requires_grad_()
    codes = codes_of(case["relations"])
    positives = (codes == Relation.POSITIVE).sum(1).double()
    loss = info_nce(scores / case["temperature"], codes, positives)
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == pytest.approx(case["expected"]["loss"], rel=1e-6)
    assert scores.grad is not None
    torch.testing.assert_close(scores.grad, doubles(case["expected"]["grad"]), rtol=1e-6, atol=1e-9)


def test_a_query_without_a_positive_is_left_out_where_arctic_embed_misaligns() -> None:
    case = next(
        c
        for c in golden("arctic_infonce")["cases"]
        if c["name"] == "no_positive_row_balanced_by_two_positive_row"
    )
    scores, codes = doubles(case["scores"]), codes_of(case["relations"])
    both = info_nce(scores / 0.1, codes)
    assert both == info_nce(scores[1:] / 0.1, codes[1:])
    assert case["expected"]["loss"] > 1e12, "the value that theirs gives"


def test_matryoshka_has_arctic_embeds_value() -> None:
    case = golden("arctic_mrl")["cases"][0]
    queries, docs = doubles(case["query"]), doubles(case["doc"])
    unit = torch.nn.functional.normalize
    codes = codes_of(case["relations"])
    matrix = Matrix(codes, torch.arange(3), torch.zeros(3, dtype=torch.bool))
    terms = Terms(
        temperature=case["temperature"],
        matryoshka=(case["truncated_dimension"],),
        matryoshka_weight=0.5,
    )
    found = objective(unit(queries, dim=1), unit(docs, dim=1), matrix, terms)
    assert found.total.item() == pytest.approx(case["expected"]["loss"], rel=1e-6)
    assert found.terms["info_nce"].item() == pytest.approx(case["expected"]["full"] / 2, rel=1e-6)


def test_contrast_over_queries_has_inf_embeds_values() -> None:
    case = golden("contrastive_losses")
    scores = doubles(case["query"]) @ doubles(case["passage"]).T / (1e-4 + case["t"])
    codes = torch.full((3, 3), int(Relation.IN_BATCH), dtype=torch.int8)
    codes.fill_diagonal_(int(Relation.POSITIVE))
    expected = {c["mode"]: c["expected"] for c in case["cases"]}
    everyone = torch.ones(3, 3, dtype=torch.bool)
    assert info_nce(scores, codes).item() == pytest.approx(expected["qk"], rel=1e-9)
    assert contrast(scores, codes, everyone).item() == pytest.approx(expected["kq"], rel=1e-9)


def test_info_nce_has_tevatrons_value() -> None:
    case = golden("contrastive_losses")["tevatron_group"]
    scores = doubles(case["query"]) @ doubles(case["passages"]).T / case["t"]
    codes = torch.full((3, 6), int(Relation.IN_BATCH), dtype=torch.int8)
    for row in range(3):
        codes[row, row * case["group"]] = Relation.POSITIVE
    assert info_nce(scores, codes).item() == pytest.approx(case["expected"], rel=1e-9)


def test_masked_documents_get_no_gradient() -> None:
    scores = torch.zeros(1, 3, requires_grad=True)
    codes = torch.tensor([[Relation.POSITIVE, Relation.NEGATIVE, Relation.IGNORED]])
    info_nce(scores, codes).backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None and scores.grad[0, 2] == 0 and scores.grad[0, 1] > 0


def test_a_query_without_negatives_has_loss_and_gradient_0() -> None:
    scores = torch.zeros(2, 2, requires_grad=True)
    codes = torch.tensor(
        [[Relation.POSITIVE, Relation.IGNORED], [Relation.NEGATIVE, Relation.POSITIVE]]
    )
    info_nce(scores, codes).backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None and scores.grad.isfinite().all()
    assert (scores.grad[0] == 0).all()


SWAP = torch.tensor(
    [
        [Relation.POSITIVE, Relation.INSTRUCTION_NEGATIVE, Relation.NEGATIVE],
        [Relation.INSTRUCTION_NEGATIVE, Relation.POSITIVE, Relation.INSTRUCTION_NEGATIVE],
    ]
)


def test_the_margin_looks_at_pairs_that_swap_alone() -> None:
    similarities = torch.tensor([[0.5, 0.45, 0.9], [0.2, 0.6, 0.6]])
    loss = swap_margin(similarities, SWAP, torch.zeros(2), margin=0.1)
    assert loss.item() == pytest.approx((0.05 + 0.0) / 2)
    apart = swap_margin(similarities, SWAP, torch.tensor([0, 1]), margin=0.1)
    assert apart.item() == 0


def test_contrast_over_instructions_sets_a_positive_against_the_topics_other_views() -> None:
    scores = torch.tensor([[1.0, 0.0, 0.0], [2.0, 3.0, 0.0]])
    same = torch.ones(2, 2, dtype=torch.bool)
    expected = (torch.log1p(torch.exp(torch.tensor([2.0 - 1.0, 0.0 - 3.0])))).mean()
    assert contrast(scores, SWAP, same).item() == pytest.approx(expected.item())
    assert contrast(scores, SWAP, ~same).item() == 0


def test_distillation_is_0_for_a_student_that_agrees_and_knows_no_others() -> None:
    teacher = torch.tensor([[1.0, 2.0, float("nan")], [float("nan")] * 3])
    agrees = torch.tensor([[11.0, 12.0, 99.0], [5.0, 0.0, 0.0]], requires_grad=True)
    loss = distillation(agrees, teacher)
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == pytest.approx(0, abs=1e-6)
    assert agrees.grad is not None and agrees.grad.isfinite().all() and (agrees.grad[1] == 0).all()
    assert distillation(torch.tensor([[12.0, 11.0, 0.0]]), teacher[:1]).item() > 0.1


def test_keep_close_holds_plain_queries_and_documents_and_lets_instructed_ones_go() -> None:
    unit = torch.eye(3)
    matrix = Matrix(
        torch.tensor([[1, 3], [1, 3]], dtype=torch.int8),
        torch.tensor([0, 1]),
        torch.tensor([True, False]),
        base_queries=torch.stack([unit[0], unit[2]]),
        base_docs=torch.stack([unit[0], unit[2]]),
    )
    found = objective(unit[:2], unit[:2], matrix, Terms(keep_close=2.0))
    assert found.terms["keep_close"].item() == pytest.approx(2 * (0 + 0.5))


def test_terms_add_up() -> None:
    torch.manual_seed(0)
    unit = torch.nn.functional.normalize
    matrix = Matrix(SWAP, torch.zeros(2), torch.zeros(2, dtype=torch.bool))
    every = Terms(
        contrast_instructions=0.3, contrast_queries=0.2, margin_weight=0.5, matryoshka=(4, 2)
    )
    found = objective(unit(torch.randn(2, 8), dim=1), unit(torch.randn(3, 8), dim=1), matrix, every)
    assert set(found.terms) == {
        f"{name}{width}"
        for name in ("info_nce", "contrast_instructions", "contrast_queries", "margin")
        for width in ("", "_4", "_2")
    }
    assert found.total.item() == pytest.approx(sum(float(v) for v in found.terms.values()))


def test_shares_are_the_softmax_over_negatives() -> None:
    found = shares(torch.tensor([[0.9, 0.5, 0.5], [0.1, 0.2, 0.3]]), SWAP, 0.02)
    assert found[0].tolist() == pytest.approx([0, 0.5, 0.5])
    torch.testing.assert_close(found.sum(1), torch.ones(2))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"temperature": 0}, "temperature is 0"),
        ({"keep_close": -1}, "keep_close is -1"),
        ({"matryoshka_weight": 1}, "matryoshka weight is 1"),
    ],
)
def test_terms_that_make_no_sense_are_refused(setting: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Terms(**setting)


def test_a_width_that_is_not_below_the_encoders_is_refused() -> None:
    with pytest.raises(SettingError, match="32 is not between 1 and 31"):
        check_widths([32], 32)
