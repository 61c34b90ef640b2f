"""Chunked and plain training give one gradient; texts are shared out, tokenised once, padded on the right side."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_encoder import dual_topics

from obverse.records import Topic
from obverse.training.gradient import dealt_out
from obverse.training.loss import Terms
from obverse.training.processes import processes
from obverse.training.run import Run, prepare
from obverse.training.settings import Settings
from obverse.training.steps import StepLoss
from obverse.training.tokens import micro_batches

EVERY_TERM = Terms(
    contrast_instructions=0.5,
    contrast_queries=0.5,
    margin_weight=1.0,
    keep_close=0.5,
    matryoshka=(16,),
    plain_weight=0.5,
)


def run_of(encoder: str, topics: list[Topic], **changes: object) -> Run:
    chosen = Settings(batch_size=4, max_tokens=32, micro_tokens=40, **changes)  # type: ignore[arg-type]
    return prepare(topics, chosen, base=encoder, out=Path("unused"), device="cpu")


def gradient(run: Run) -> tuple[float, dict[str, torch.Tensor]]:
    loss, _ = StepLoss(run, processes())(run.collator([0]))
    found = {}
    for name, p in run.learner.named_parameters():
        if p.grad is not None:
            found[name] = p.grad.clone()
            p.grad = None
    return float(loss), found


@pytest.mark.parametrize("terms", [Terms(), EVERY_TERM], ids=["info_nce", "every term"])
@pytest.mark.parametrize("freeze_docs", [False, True])
def test_chunked_equals_plain(encoder: str, terms: Terms, freeze_docs: bool) -> None:
    """With dropout on as well: it falls as it fell in the first pass."""
    topics = dual_topics(6)
    loss, plain = gradient(run_of(encoder, topics, terms=terms, freeze_docs=freeze_docs))
    again, chunked = gradient(
        run_of(encoder, topics, terms=terms, freeze_docs=freeze_docs, chunked=True)
    )
    assert again == pytest.approx(loss, abs=1e-6)
    assert plain.keys() == chunked.keys() and len(plain) > 10
    for name in plain:
        torch.testing.assert_close(chunked[name], plain[name], atol=1e-6, rtol=1e-5)


def test_the_size_of_micro_batches_does_not_change_the_gradient(still_encoder: str) -> None:
    small = run_of(still_encoder, dual_topics(6))
    large = run_of(still_encoder, dual_topics(6))
    large.forward.micro_tokens = 10_000
    (one, first), (two, second) = gradient(small), gradient(large)
    assert one == pytest.approx(two, abs=1e-6)
    for name in first:
        torch.testing.assert_close(first[name], second[name], atol=1e-6, rtol=1e-5)


def test_each_distinct_document_is_encoded_once(encoder: str) -> None:
    run = run_of(encoder, dual_topics(6))
    step = run.collator([0])
    documents = step.texts[len(step.rows) :]
    assert len(step.rows) == 12 and len(documents) == len(set(documents))
    assert step.matrix.codes.shape == (12, len(documents))


def test_pool_documents_take_part_and_learn_nothing(still_encoder: str) -> None:
    topics = dual_topics(12)
    bare, _ = gradient(run_of(still_encoder, topics))
    losses = [
        gradient(run_of(still_encoder, topics, pool_negatives=10, pool_encoding=encoding))[0]
        for encoding in ("frozen", "current")
    ]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5), "before training they are the same"
    assert losses[0] > bare


def test_frozen_layers_get_no_gradient(encoder: str) -> None:
    _, found = gradient(run_of(encoder, dual_topics(6), freeze_layers=1))
    assert found and all("layer.1" in name or "pooler" in name for name in found)


@given(
    st.lists(st.integers(1, 50), min_size=5, max_size=60), st.integers(1, 5), st.integers(10, 400)
)
@settings(max_examples=100, deadline=None)
def test_texts_are_dealt_out_whole_and_evenly(lengths: list[int], count: int, most: int) -> None:
    dealt = dealt_out(lengths, most, count)
    shares = [dealt.places(process) for process in range(count)]
    assert all(shares), "a process without a text would have no gradient"
    assert sorted(place for share in shares for place in share) == list(range(len(lengths)))
    padded = [
        sum(len(dealt.parts[n]) * lengths[dealt.parts[n][0]] for n in numbers)
        for numbers in dealt.by_process
    ]
    single = max(map(len, dealt.parts)) == 1
    assert single or max(padded) <= 1.2 * sum(padded) / count


def test_micro_batches_are_those_of_one_process() -> None:
    lengths = [number % 40 + 5 for number in range(100)]
    alone = dealt_out(lengths, 128, 1)
    for count in (2, 3, 4):
        assert dealt_out(lengths, 128, count).parts == alone.parts
    assert len(dealt_out(lengths, 10_000, 2).parts) >= 2, "too few to deal out: smaller ones"


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(10, 200))
@settings(max_examples=50, deadline=None)
def test_micro_batches_hold_every_text_once_within_the_limit(lengths: list[int], most: int) -> None:
    parts = micro_batches(lengths, most)
    assert sorted(place for part in parts for place in part) == list(range(len(lengths)))
    for part in parts:
        assert len(part) == 1 or len(part) * max(lengths[place] for place in part) <= most


def test_a_text_has_one_vector_alone_in_a_batch_and_in_the_library(encoder: str) -> None:
    run = run_of(encoder, dual_topics(4))
    texts = ["topic w1", "only kind a of topic w2 w3 w4 w5", "w9"]
    together = run.forward.frozen(texts)
    alone = torch.cat([run.forward.frozen([text]) for text in texts])
    library = torch.tensor(run.learner.encode(texts, normalize_embeddings=True))
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together, library, atol=1e-5, rtol=1e-5)
