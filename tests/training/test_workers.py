"""Threads that take micro-batches side by side: one gradient, the same bits in every run, and errors that arrive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_encoder import dual_topics

from obverse.training import gradient
from obverse.training.loss import Terms
from obverse.training.processes import processes
from obverse.training.run import prepare
from obverse.training.settings import Settings
from obverse.training.steps import StepLoss
from obverse.training.tokens import even_batches
from obverse.training.workers import Team, Worker, balanced


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def step_of(encoder: str, threads: int, **changes: object) -> dict[str, torch.Tensor]:
    torch.set_num_threads(threads)
    chosen = Settings(batch_size=4, max_tokens=32, micro_tokens=40, terms=Terms(), **changes)  # type: ignore[arg-type]
    run = prepare(dual_topics(6), chosen, base=encoder, out=Path("unused"), device="cpu")
    loss, _ = StepLoss(run, processes())(run.collator([0]))
    assert run.forward.packed is not None and torch.get_num_threads() == threads
    assert len(run.forward.packed.team.workers) == min(4, threads)
    found = {n: p.grad for n, p in run.learner.named_parameters() if p.grad is not None}
    return found | {"loss": loss}


def test_threads_change_no_gradient_and_no_bit_between_runs(encoder: str) -> None:
    """With dropout: it falls by micro-batch, not by thread."""
    alone, two, again = step_of(encoder, 1), step_of(encoder, 2), step_of(encoder, 2)
    assert alone.keys() == two.keys() and len(alone) > 10
    for name in alone:
        torch.testing.assert_close(two[name], alone[name], atol=1e-6, rtol=1e-5)
        assert torch.equal(two[name], again[name]), name


def test_chunked_has_the_bits_of_plain_with_threads(encoder: str) -> None:
    plain, chunked = step_of(encoder, 2), step_of(encoder, 2, chunked=True, keep_tokens=60)
    for name in plain:
        torch.testing.assert_close(chunked[name], plain[name], atol=1e-6, rtol=1e-5)


def test_keeping_less_changes_no_bit(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    full = step_of(encoder, 2)
    monkeypatch.setattr(gradient, "_FULL_TOKENS", 50)
    lean = step_of(encoder, 2)
    for name in full:
        assert torch.equal(lean[name], full[name]), name


@pytest.mark.parametrize("kept", [0, 30, 10_000])
def test_chunked_keeps_what_costs_no_memory_and_changes_no_bit(
    encoder: str, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    monkeypatch.setattr(gradient, "_KEPT_BY_WORKER", kept)
    plain, chunked = step_of(encoder, 2), step_of(encoder, 2, chunked=True)
    for name in plain:
        assert torch.equal(chunked[name], plain[name]), name


@pytest.mark.parametrize("size", [10, 1_000])
def test_rows_are_held_back_while_they_are_few(size: int) -> None:
    weight = torch.nn.Parameter(torch.zeros(size, 2))
    first, second = (Worker(apart=apart, rows_last=True) for apart in (False, True))
    wanted = torch.zeros(size, 2)
    for worker in (first, second):
        for _ in range(3):
            places, rows = torch.randint(10, (4,)), torch.randn(4, 2)
            worker.add_rows(weight, places, rows)
            wanted.index_add_(0, places, rows)
    assert (weight.grad is None) == (size == 1_000)
    for worker in (first, second):
        worker.hand_over(first)
    torch.testing.assert_close(weight.grad, wanted)


def test_an_error_in_a_thread_arrives_and_threads_are_given_back() -> None:
    torch.set_num_threads(2)
    team = Team(2)

    def fails(worker: Worker, number: int) -> int:
        if number == 1:
            raise ValueError("piece 1")
        return number

    with pytest.raises(ValueError, match="piece 1"):
        team.run(fails, [[0], [1]])
    assert torch.get_num_threads() == 2
    assert team.run(lambda worker, number: number, [[0, 2], [1]]) == [[0, 2], [1]]


def test_uneven_work_goes_to_one_worker_with_all_threads() -> None:
    team = Team(2)
    assert team.shares([10, 10, 10]) == [[0, 1, 2]]
    assert (
        team.shares([10, 9, 10, 11]) == [[0, 3], [1, 2]] or len(team.shares([10, 9, 10, 11])) == 2
    )


@given(st.lists(st.integers(1, 50), min_size=1, max_size=80), st.integers(40, 400))
@settings(max_examples=100, deadline=None)
def test_even_batches_hold_every_text_once_and_like_work(lengths: list[int], most: int) -> None:
    parts = even_batches(lengths, most)
    assert sorted(place for part in parts for place in part) == list(range(len(lengths)))
    sizes = [sum(lengths[place] for place in part) for part in parts]
    assert max(sizes) <= min(most, sum(lengths) / 4) + max(lengths)
    shares, largest = balanced(sizes, 2)
    assert sorted(number for share in shares for number in share) == list(range(len(parts)))
    assert largest <= sum(lengths) / 2 + max(sizes)
