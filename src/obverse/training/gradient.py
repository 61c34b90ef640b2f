"""The gradient of one step: encode, gather once, one loss over the whole matrix, back through the encoder.

Every process computes the loss of the whole step on the gathered vectors and takes back the gradient of those that it
encoded itself. So the gradient of N processes is that of one for any loss, there is one gather in a step, and its
size does not depend on the data of other processes: nothing can hang on ragged rows.

With ``chunked`` the encoder runs twice: first without keeping activations, then again micro-batch by micro-batch with
the gradient of its vectors. After Gao et al. (2021), *Scaling Deep Contrastive Learning Batch Size under Memory
Limited Setup*, https://arxiv.org/abs/2101.06983; here with one gather for any number of micro-batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.training.tokens import Forward, joined, micro_batches

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Processes:
    """Who takes part in a step."""

    rank: int = 0
    count: int = 1


def shared_out(lengths: Sequence[int], count: int) -> list[list[int]]:
    """Returns which process encodes which texts: longest first, back and forth, so that all get like work."""
    order = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    parts: list[list[int]] = [[] for _ in range(count)]
    for turn, place in enumerate(order):
        lap, at = divmod(turn, count)
        parts[at if lap % 2 == 0 else count - 1 - at].append(place)
    return parts


def step_gradient(
    forward: Forward,
    texts: Sequence[str],
    loss: Callable[[Tensor], Tensor],
    *,
    processes: Processes | None = None,
    chunked: bool = False,
    equal_chunks: bool = False,
    scale: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Adds the step's gradient to the parameters' ``.grad`` and returns the loss.

    After the call the gradients are this process's share: their sum over processes is the step's gradient
    (:func:`summed`).

    Args:
        forward: Encodes a micro-batch.
        texts: All texts of the step, the same in every process.
        loss: The loss of the step's vectors ``[n, d]``, in the order of ``texts``.
        processes: Who takes part.
        chunked: Whether activations are recomputed instead of kept.
        equal_chunks: Whether every process runs equally many micro-batches, empty ones if need be, as sharded
            parameters require.
        scale: Multiplies the loss before the backward pass (loss scaling in fp16).
    """
    import torch

    who = processes or Processes()
    lengths = [forward.tokens.length(text) for text in texts]
    shares = shared_out(lengths, who.count)
    mine = shares[who.rank]
    split = micro_batches([lengths[place] for place in mine], forward.micro_tokens)
    chunks = [[texts[mine[at]] for at in part] for part in split]
    spare = _spare(shares, lengths, forward.micro_tokens, who) if equal_chunks else 0
    passed, states = _first_pass(forward, chunks, spare, keep=not chunked)
    local = joined([part.detach() for part in passed[: len(split)]], split)
    leaf = _gathered(local, shares, who).requires_grad_()
    with torch.enable_grad():
        value = loss(leaf)
        (scale(value) if scale else value).backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    own = leaf.grad[mine]
    gradients = [own[part] for part in split]
    if not chunked:
        spare_parts = passed[len(chunks) :]
        gradients += [torch.zeros_like(part) for part in spare_parts]
        torch.autograd.backward(passed, gradients)
    else:
        _second_pass(forward, chunks, spare, states, gradients)
    return value.detach()


def _spare(
    shares: Sequence[Sequence[int]], lengths: Sequence[int], micro_tokens: int, who: Processes
) -> int:
    counts = [
        len(micro_batches([lengths[place] for place in share], micro_tokens)) for share in shares
    ]
    return max(counts) - counts[who.rank]


def _first_pass(
    forward: Forward, chunks: Sequence[Sequence[str]], spare: int, *, keep: bool
) -> tuple[list[Tensor], list[Any]]:
    import torch

    passed, states = [], []
    with torch.set_grad_enabled(keep):
        for chunk in [*chunks, *([list(chunks[0][:1])] * spare)]:
            if not keep:
                states.append(_random_state(forward))
            passed.append(forward(chunk))
    return (passed if keep else passed[: len(chunks)]), states


def _second_pass(
    forward: Forward,
    chunks: Sequence[Sequence[str]],
    spare: int,
    states: Sequence[Any],
    gradients: Sequence[Tensor],
) -> None:
    import torch

    for chunk, state, gradient in zip(chunks, states, gradients, strict=False):
        _set_random_state(forward, state)
        torch.autograd.backward([forward(chunk)], [gradient])
    for _ in range(spare):
        again = forward(chunks[0][:1])
        torch.autograd.backward([again], [torch.zeros_like(again)])


def _random_state(forward: Forward) -> Any:
    import torch

    on_gpu = forward.device.type == "cuda"
    return torch.get_rng_state(), torch.cuda.get_rng_state(forward.device) if on_gpu else None


def _set_random_state(forward: Forward, state: Any) -> None:
    """Dropout must fall as it fell in the first pass."""
    import torch

    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1], forward.device)


def _gathered(local: Tensor, shares: Sequence[Sequence[int]], who: Processes) -> Tensor:
    """All vectors of the step in the order of its texts; one collective, of a size that all processes know."""
    import torch

    if who.count == 1:
        order = torch.tensor(shares[0], device=local.device)
        whole = torch.empty_like(local)
        whole[order] = local
        return whole
    import torch.distributed as dist

    most = max(map(len, shares))
    padded = local.new_zeros(most, local.shape[1])
    padded[: len(local)] = local
    parts = [torch.empty_like(padded) for _ in shares]
    dist.all_gather(parts, padded)
    whole = local.new_empty(sum(map(len, shares)), local.shape[1])
    for part, share in zip(parts, shares, strict=True):
        whole[torch.tensor(share, device=local.device)] = part[: len(share)]
    return whole


def summed(parameters: Sequence[Any]) -> None:
    """Adds up the gradients of all processes, in one collective for each type of number.

    Weights that no text reaches have no gradient in any process, because each encodes at least one text.
    """
    import torch
    import torch.distributed as dist

    reached = [p for p in parameters if p.requires_grad and p.grad is not None]
    for kind in dict.fromkeys(p.dtype for p in reached):
        same = [p for p in reached if p.dtype == kind]
        flat = torch.cat([p.grad.flatten() for p in same])
        dist.all_reduce(flat)
        at = 0
        for p in same:
            p.grad.copy_(flat[at : at + p.numel()].view_as(p))
            at += p.numel()
