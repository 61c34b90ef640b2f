"""Threads that encode micro-batches side by side, each with operators of one thread and memory of its own.

Two threads that share out every operator wait for each other after each of some thousand operators a step, and small
ones gain nothing from a second thread. Two that take whole micro-batches wait once a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from obverse.training.allocation import give_back_freed_memory

if TYPE_CHECKING:
    from torch import Tensor, nn

T = TypeVar("T")
R = TypeVar("R")

_MOST = 4
UNEVEN = 1.2


class Worker:
    """What a thread has of its own: dropout's generator, scratch memory, and where gradients are added up.

    Attributes:
        generator: Dropout draws from it; the global one if it is None.
        lean: How much less layers keep, and compute again: nothing, 1 what GELU got, 2 the projections too.
    """

    def __init__(
        self, generator: Any = None, *, apart: bool = False, rows_last: bool = False
    ) -> None:
        """With ``apart`` gradients are held back until :meth:`hand_over`, with ``rows_last`` those of embeddings."""
        self.generator, self.lean, self._apart = generator, 0, apart
        self._rows_last = apart or rows_last
        self._scratch: dict[str, Tensor] = {}
        self._sums: dict[nn.Parameter, Tensor] = {}
        self._rows: dict[nn.Parameter, list[tuple[Tensor, Tensor]]] = {}

    def scratch(self, name: str, *shape: int) -> Tensor:
        """Returns memory of a shape, with anything in it, that stays until the same name is asked for again."""
        import torch

        size = 1
        for length in shape:
            size *= length
        if name not in self._scratch or len(self._scratch[name]) < size:
            self._scratch[name] = torch.empty(size)
        return self._scratch[name][:size].view(shape)

    def gradient(self, weight: Any) -> Tensor:
        """Returns where this thread adds up a weight's gradient."""
        import torch

        if not self._apart:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
            found: Tensor = weight.grad
            return found
        if weight not in self._sums:
            self._sums[weight] = torch.zeros_like(weight)
        return self._sums[weight]

    def add_rows(self, weight: Any, places: Tensor, rows: Tensor) -> None:
        """Adds rows to the gradient of an embedding, or holds them back while they are few beside it."""
        held = self._rows.setdefault(weight, [])
        held.append((places, rows))
        if not self._rows_last or 2 * sum(own.numel() for _, own in held) > weight.numel():
            _add_rows(self.gradient(weight), self._rows.pop(weight))

    def hand_over(self, to: Worker) -> None:
        """Adds what was held back to another worker's gradients, or to its own."""
        if to is not self:
            for weight, own in self._sums.items():
                to.gradient(weight).add_(own)
        for weight, held in self._rows.items():
            _add_rows(to.gradient(weight), held)
        self._sums, self._rows = {}, {}


def _add_rows(gradient: Tensor, held: Sequence[tuple[Tensor, Tensor]]) -> None:
    """Adds rows to the gradient of an embedding.

    Those of one place are summed up first: the rounding is then the same for any number of processes.
    """
    import torch

    for places, rows in held:
        distinct, inverse = torch.unique(places, return_inverse=True)
        sums = rows.new_zeros(len(distinct), rows.shape[1]).index_add_(0, inverse, rows)
        gradient.index_add_(0, distinct, sums)


class Team:
    """The workers of a process. What each takes is decided beforehand, so sums are the same in every run."""

    def __init__(self, threads: int) -> None:
        import torch

        self.threads, count = threads, min(_MOST, threads)
        self.workers = [
            Worker(torch.Generator(), apart=number > 0, rows_last=True) for number in range(count)
        ]
        self._others = ThreadPoolExecutor(count - 1) if count > 1 else None

    def shares(self, work: Sequence[int]) -> list[list[int]]:
        """Returns who takes which pieces of work: everyone alike, or all the first one if that cannot be."""
        by_worker, most = balanced(work, len(self.workers))
        if most > UNEVEN * sum(work) / len(self.workers):
            return [list(range(len(work)))]
        return by_worker

    def run(self, task: Callable[[Worker, T], R], shares: Sequence[Sequence[T]]) -> list[list[R]]:
        """Returns what a task makes of each piece, worker by worker."""
        import torch

        grad = torch.is_grad_enabled()

        def done(number: int) -> list[R]:
            with torch.set_grad_enabled(grad):
                return [task(self.workers[number], piece) for piece in shares[number]]

        if len(shares) == 1 or self._others is None:
            return [done(number) for number in range(len(shares))]
        torch.set_num_threads(self.threads // len(self.workers))
        try:
            others = [self._others.submit(done, number) for number in range(1, len(shares))]
            try:
                first = done(0)
            finally:
                rest = [other.exception() for other in others]
            for error in rest:
                if error is not None:
                    raise error
            return [first, *(other.result() for other in others)]
        finally:
            torch.set_num_threads(self.threads)

    def hand_over(self, *, little_memory: bool = False) -> None:
        """Puts the gradients of all workers into ``.grad``, in a fixed order.

        An embedding's is the largest matrix of small models; with ``little_memory`` it comes when the memory of the
        activations is given back.
        """
        if little_memory:
            give_back_freed_memory()
        for worker in self.workers:
            worker.hand_over(self.workers[0])


def balanced(work: Sequence[int], count: int) -> tuple[list[list[int]], int]:
    """Returns pieces of work dealt out in like amounts, the largest first, and the largest amount that one has."""
    loads, shares = [0] * count, [[] for _ in range(count)]  # type: list[int], list[list[int]]
    for number in sorted(range(len(work)), key=lambda number: (-work[number], number)):
        lightest = loads.index(min(loads))
        shares[lightest].append(number)
        loads[lightest] += work[number]
    return [sorted(numbers) for numbers in shares], max(loads)
