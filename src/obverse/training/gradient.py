"""The gradient of one step: encode, gather once, one loss over the whole matrix, back through the encoder.

Every process computes the loss of the whole step on the gathered vectors and takes back the gradient of those that it
encoded itself. So the gradient of N processes is that of one for any loss, there is one gather in a step, and its
size does not depend on the data of other processes: nothing can hang on ragged rows.

The step is cut into micro-batches once, the same for any number of processes, and these are dealt out whole, each with
a dropout seed of its own. So a text has the same vector, to the last bit, whoever encodes it: at temperature 0.02 a
vector that differs in its last digit, because it was padded to another length, moves the gradient by some 2e-6 of its
largest value. What is left is the order in which the gradients of micro-batches are summed up.

With ``chunked`` the encoder runs twice: first without keeping activations, then again micro-batch by micro-batch with
the gradient of its vectors. After Gao et al. (2021), *Scaling Deep Contrastive Learning Batch Size under Memory
Limited Setup*, https://arxiv.org/abs/2101.06983; here with one gather for any number of micro-batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from obverse.training.tokens import Forward, micro_batches
from obverse.training.workers import UNEVEN, Worker, balanced

if TYPE_CHECKING:
    from torch import Tensor

_FULL_TOKENS = 4096
"""Of more tokens in a step, encoders without padding keep less and compute more: a tenth more time for them, and 46 of
83 KB a token of all-MiniLM-L6-v2."""
_KEPT_BY_WORKER = 4096
"""Of so many tokens 18 KB each are kept in chunked training by every thread; when these are done, 83 KB each of a
micro-batch of 512 tokens, which is encoded again."""


@dataclass(frozen=True, slots=True)
class Processes:
    """Who takes part in a step."""

    rank: int = 0
    count: int = 1


@dataclass(frozen=True, slots=True)
class Dealt:
    """The micro-batches of a step and who encodes them.

    Attributes:
        parts: The places of the texts in each micro-batch.
        by_process: The numbers of each process's micro-batches, in order.
    """

    parts: list[list[int]]
    by_process: list[list[int]]

    def places(self, process: int) -> list[int]:
        """Returns the places of a process's texts, in the order in which it encodes them."""
        return [place for number in self.by_process[process] for place in self.parts[number]]


def dealt_out(
    lengths: Sequence[int],
    micro_tokens: int,
    count: int,
    cut: Callable[[Sequence[int], int], list[list[int]]] = micro_batches,
) -> Dealt:
    """Returns the micro-batches of a step, dealt out so that all processes get like work.

    They are those of one process, unless there are too few of them to be dealt out evenly: then they are halved.
    """
    while True:
        parts = cut(lengths, micro_tokens)
        work = [len(part) * lengths[part[0]] for part in parts]
        by_process, most = balanced(work, count)
        if most <= UNEVEN * sum(work) / count or max(map(len, parts)) == 1:
            return Dealt(parts, by_process)
        micro_tokens //= 2


def step_gradient(
    forward: Forward,
    texts: Sequence[str],
    loss: Callable[[Tensor], Tensor],
    *,
    processes: Processes | None = None,
    chunked: bool = False,
    keep_tokens: int = 0,
    scale: Callable[[Tensor], Tensor] | None = None,
    seed: int = 0,
) -> Tensor:
    """Adds the step's gradient to the parameters' ``.grad`` and returns the loss.

    After the call the gradients are this process's share: their sum over processes is the step's gradient
    (:func:`summed`). Sharded weights (``torch.distributed.fsdp.fully_shard``, with its own mean over processes) have
    the step's gradient at once; with them every process runs equally many micro-batches, spare ones if need be,
    without which it would hang.

    Args:
        forward: Encodes a micro-batch.
        texts: All texts of the step, the same in every process.
        loss: The loss of the step's vectors ``[n, d]``, in the order of ``texts``.
        processes: Who takes part.
        chunked: Whether activations are recomputed instead of kept.
        keep_tokens: Of so many tokens they are kept all the same. With 0, encoders without padding keep a part of
            those of the first 4,096 tokens of each thread. None are kept with sharded weights, where all processes
            must take the same turns.
        scale: Multiplies the loss before the backward pass (loss scaling in fp16).
        seed: Dropout depends on it and on the micro-batch, not on the process.
    """
    import torch

    who = processes or Processes()
    lengths = [forward.tokens.length(text) for text in texts]
    dealt = dealt_out(lengths, forward.micro_tokens, who.count, forward.cut)
    own = dealt.by_process[who.rank]
    chunks = [
        Chunk([texts[place] for place in dealt.parts[number]], seed + number) for number in own
    ]
    # A process without a text still gives every weight a gradient, of zeros.
    sharded = is_sharded(forward.module)
    most = max(map(len, dealt.by_process)) if sharded else 1
    spare = [Chunk(list(texts[:1]), seed)] * (most - len(chunks))
    chunks_and_spare = [*chunks, *spare]
    kept, full, lean = len(chunks_and_spare), _fitting(forward, chunks, _FULL_TOKENS), 1
    if chunked and forward.packed is not None and not keep_tokens and not sharded:
        most = _KEPT_BY_WORKER * len(forward.packed.team.workers)
        kept, full, lean = _fitting(forward, chunks, most), 0, 2
    elif chunked:
        kept = 0 if sharded else _fitting(forward, chunks, keep_tokens)
    for number in range(full, kept):
        chunks_and_spare[number] = replace(chunks_and_spare[number], lean=lean)
    passed = _first_pass(forward, chunks_and_spare, kept)
    local = torch.cat([part.detach() for part in passed])[: len(dealt.places(who.rank))]
    leaf = _gathered(local, [dealt.places(rank) for rank in range(who.count)]).requires_grad_()
    with torch.enable_grad():
        value = loss(leaf)
        (scale(value) if scale else value).backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    if sharded:
        leaf.grad *= who.count
    gradients = [leaf.grad[dealt.parts[number]] for number in own]
    gradients += [torch.zeros_like(part) for part in passed[len(chunks) :]]
    _back(forward, chunks_and_spare, passed, gradients, kept)
    if forward.packed is not None:
        forward.packed.team.hand_over(little_memory=chunked)
    return value.detach()


def _fitting(forward: Forward, chunks: Sequence[Chunk], tokens: int) -> int:
    """How many of the first micro-batches have at most so many tokens."""
    for number, chunk in enumerate(chunks):
        tokens -= sum(map(forward.tokens.length, chunk.texts))
        if tokens < 0:
            return number
    return len(chunks)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A micro-batch: its texts, the seed of its dropout, and how much less of its activations is kept (see Worker)."""

    texts: list[str]
    seed: int
    lean: int = 0

    def encoded(self, forward: Forward, worker: Worker | None) -> Tensor:
        """Returns the vectors of the texts; dropout falls the same whenever this is called."""
        import torch

        if worker is None:
            torch.manual_seed(self.seed % 2**63)
        else:
            worker.generator.manual_seed(self.seed % 2**63)
            worker.lean = self.lean
        return forward(self.texts, worker)


def is_sharded(module: Any) -> bool:
    """Whether a module's weights are shared out over processes, as FSDP2 does it."""
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        return False
    from torch.distributed.tensor import DTensor

    return any(isinstance(p, DTensor) for p in module.parameters())


def _first_pass(forward: Forward, chunks: Sequence[Chunk], kept: int) -> list[Tensor]:
    """The vectors of each micro-batch; those of the first ``kept`` ones can be gone back from."""
    import torch

    def encoded(worker: Worker | None, number: int) -> Tensor:
        with torch.set_grad_enabled(number < kept):
            return chunks[number].encoded(forward, worker)

    return _each(forward, chunks, encoded)


def _back(
    forward: Forward,
    chunks: Sequence[Chunk],
    passed: list[Tensor],
    gradients: Sequence[Tensor],
    kept: int,
) -> None:
    """The backward pass of each micro-batch, after one more forward pass of those that are not kept.

    Those that are kept come first, as that frees their memory; one by one, so that sums are the same in any mode.
    """
    import torch

    def back(worker: Worker | None, number: int) -> Tensor:
        with torch.enable_grad():
            own = passed[number] if number < kept else chunks[number].encoded(forward, worker)
            torch.autograd.backward([own], [gradients[number]])
            passed[number] = passed[number].detach()
        return passed[number]

    _each(forward, chunks, back)


def _each(
    forward: Forward, chunks: Sequence[Chunk], task: Callable[[Worker | None, int], Tensor]
) -> list[Tensor]:
    """What a task makes of each micro-batch, in order; without padding they are shared out to threads."""
    numbers = range(len(chunks))
    if forward.packed is None:
        return [task(None, number) for number in numbers]
    team = forward.packed.team
    shares = team.shares([sum(map(forward.tokens.length, chunk.texts)) for chunk in chunks])
    found = team.run(task, shares)
    at = {
        number: place
        for share, own in zip(shares, found, strict=True)
        for number, place in zip(share, own, strict=True)
    }
    return [at[number] for number in numbers]


def _gathered(local: Tensor, shares: Sequence[Sequence[int]]) -> Tensor:
    """All vectors of the step in the order of its texts; one collective, of a size that all processes know."""
    import torch

    parts = [local]
    if len(shares) > 1:
        import torch.distributed as dist

        padded = local.new_zeros(max(map(len, shares)), local.shape[1])
        padded[: len(local)] = local
        parts = [torch.empty_like(padded) for _ in shares]
        dist.all_gather(parts, padded)
    whole = local.new_empty(sum(map(len, shares)), local.shape[1])
    for part, share in zip(parts, shares, strict=True):
        whole[torch.tensor(share, dtype=torch.int64, device=local.device)] = part[: len(share)]
    return whole


def summed(parameters: Sequence[Any]) -> None:
    """Adds up the gradients of all processes, in one collective for each type of number.

    Weights that no text reaches have no gradient in any process, because each encodes at least one text. Sharded
    weights are left alone: theirs are summed already.
    """
    import torch
    import torch.distributed as dist
    from torch.distributed.tensor import DTensor

    reached = [
        p
        for p in parameters
        if p.requires_grad and p.grad is not None and not isinstance(p, DTensor)
    ]
    for kind in dict.fromkeys(p.dtype for p in reached):
        same = [p for p in reached if p.dtype == kind]
        flat = torch.cat([p.grad.flatten() for p in same])
        dist.all_reduce(flat)
        at = 0
        for p in same:
            p.grad.copy_(flat[at : at + p.numel()].view_as(p))
            at += p.numel()
