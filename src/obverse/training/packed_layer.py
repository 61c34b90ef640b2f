"""A layer of BERT over tokens without padding: forward, and backward written out.

It keeps what is dear to compute (the projections) and computes again what is cheap: layer norms, GELU, and attention,
whose weights are a matrix of the text's length squared for each head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn

    from obverse.training.workers import Worker

Runs = Sequence[tuple[int, int]]
"""Where each text begins, and its length."""


Normed = tuple["Tensor", "Tensor", "Tensor"]
"""What a layer norm got, its mean and its deviation."""


class Norm:
    """A layer norm: its output, and the gradient of its input."""

    def __init__(self, module: nn.LayerNorm) -> None:
        self.module, self.shape = module, list(module.normalized_shape)

    def forward(self, x: Tensor) -> tuple[Tensor, Normed]:
        import torch

        norm = self.module
        y, mean, deviation = torch.native_layer_norm(
            x, self.shape, norm.weight, norm.bias, norm.eps
        )
        return y, (x, mean, deviation)

    def backward(self, upper: Tensor, got: Normed, worker: Worker) -> Tensor:
        """Adds the weights' gradient; returns that of the input."""
        import torch

        norm, (x, mean, deviation) = self.module, got
        lower, weight, bias = torch.ops.aten.native_layer_norm_backward(
            upper, x, self.shape, mean, deviation, norm.weight, norm.bias, [True, True, True]
        )
        worker.gradient(norm.weight).add_(weight)
        worker.gradient(norm.bias).add_(bias)
        found: Tensor = lower
        return found


def _learn(linear: nn.Linear, upper: Tensor, x: Tensor, worker: Worker) -> None:
    """Adds a linear layer's gradient to its weights."""
    worker.gradient(linear.weight).addmm_(upper.T, x)
    worker.gradient(linear.bias).add_(upper.sum(0))


def drop(x: Tensor, share: float, worker: Worker) -> Tensor | None:
    """Sets a share of the numbers to 0 and scales the others, in place; returns which stay."""
    import torch

    if not share:
        return None
    stay = torch.empty_like(x, dtype=torch.bool).bernoulli_(1 - share, generator=worker.generator)
    x.mul_(stay).mul_(1 / (1 - share))
    return stay


def dropped(upper: Tensor, stay: Tensor | None, share: float) -> Tensor:
    """Returns numbers as :func:`drop` left them."""
    return upper if stay is None else (upper * stay).mul_(1 / (1 - share))


class Attention:
    """Attention within each text, text by text: what a text needs fits into the processor's cache."""

    def __init__(self, module: Any) -> None:
        self.heads, self.width = module.num_attention_heads, module.attention_head_size
        self.scale, self.dropout = module.scaling, module.dropout

    def forward(
        self, rows: Tensor, runs: Runs, training: bool, worker: Worker
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Returns the attended values ``[t, d]`` of queries, keys and values ``[t, 3 d]``, and what dropout left."""
        import torch

        out, stays = worker.scratch("attended", len(rows), self.heads * self.width), []
        for at, length in runs:
            weights, (_, _, v) = self._weights(rows[at : at + length], worker)
            stays.append(drop(weights, self.dropout.p if training else 0.0, worker))
            each = worker.scratch("each", self.heads, length, self.width)
            torch.bmm(weights, v, out=each)
            self._by_token(out[at : at + length]).copy_(each)
        return out, stays

    def backward(
        self,
        rows: Tensor,
        upper: Tensor,
        runs: Runs,
        stays: list[Tensor | None],
        worker: Worker,
    ) -> tuple[Tensor, Tensor]:
        """Returns the gradient of queries, keys and values, and the attended values once more."""
        import torch

        lower = worker.scratch("projected", *rows.shape)
        attended = worker.scratch("attended", *upper.shape)
        share = self.dropout.p
        for (at, length), stay in zip(runs, stays, strict=True):
            weights, (q, k, v) = self._weights(rows[at : at + length], worker)
            g = self._by_token(upper[at : at + length])
            to_q, to_k, to_v = self._parts(lower[at : at + length])
            left = dropped(weights, stay, share)
            each = worker.scratch("each", self.heads, length, self.width)
            self._by_token(attended[at : at + length]).copy_(torch.bmm(left, v, out=each))
            to_v.copy_(torch.bmm(left.transpose(1, 2), g, out=each))
            slope = worker.scratch("slope", self.heads, length, length)
            torch.bmm(g, v.transpose(1, 2), out=slope)
            if stay is not None:
                slope.mul_(stay).mul_(1 / (1 - share))
            torch.ops.aten._softmax_backward_data.out(
                slope, weights, -1, torch.float32, grad_input=slope
            )
            to_q.copy_(torch.baddbmm(each, slope, k, beta=0, alpha=self.scale, out=each))
            to_k.copy_(
                torch.baddbmm(each, slope.transpose(1, 2), q, beta=0, alpha=self.scale, out=each)
            )
        return lower, attended

    def _parts(self, rows: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values of a text, each ``[heads, length, width]``."""
        return rows.view(len(rows), 3, self.heads, self.width).permute(1, 2, 0, 3).unbind()

    def _by_token(self, rows: Tensor) -> Tensor:
        return rows.view(len(rows), self.heads, self.width).transpose(0, 1)

    def _weights(self, rows: Tensor, worker: Worker) -> tuple[Tensor, tuple[Tensor, ...]]:
        import torch

        q, k, v = self._parts(rows)
        weights = worker.scratch("weights", self.heads, len(rows), len(rows))
        torch.baddbmm(weights, q, k.transpose(1, 2), beta=0, alpha=self.scale, out=weights)
        return torch.softmax(weights, -1, out=weights), (q, k, v)


@dataclass(slots=True)
class Kept:
    """What a layer's backward pass reads.

    Attributes:
        rows: Queries, keys and values; with a worker as lean as 2 None, and computed again.
        stays: What dropout left of the attention weights, text by text.
        mixed: The first layer norm's input.
        mixed_stay: What dropout left of it.
        wide: What GELU got; with a lean worker None, and computed again.
        last: The second layer norm's input.
        last_stay: What dropout left of it.
    """

    rows: Tensor | None
    stays: list[Tensor | None]
    mixed: Normed
    mixed_stay: Tensor | None
    wide: Tensor | None
    last: Normed
    last_stay: Tensor | None


class Layer:
    """A layer of BERT: attention, two linear layers, and a layer norm after each."""

    def __init__(self, module: Any) -> None:
        attention, self.trained = module.attention, trained(module)
        own = attention.self
        self.attention = Attention(own)
        self.projections = [own.query, own.key, own.value]
        self.mixed, self.norm = attention.output.dense, Norm(attention.output.LayerNorm)
        self.wide, self.narrow = module.intermediate.dense, module.output.dense
        self.last_norm = Norm(module.output.LayerNorm)
        self.drops = (attention.output.dropout, module.output.dropout)

    @property
    def plain(self) -> bool:
        """Whether the linear layers are what they seem, not wrapped by adapters."""
        from torch.nn import Linear

        linear = [*self.projections, self.mixed, self.wide, self.narrow]
        return all(type(part) is Linear and part.bias is not None for part in linear)

    def forward(
        self, x: Tensor, runs: Runs, training: bool, kept: list[Any] | None, worker: Worker
    ) -> Tensor:
        """Returns the layer's output, ``[t, d]``; appends to ``kept`` what the backward pass reads."""
        import torch

        rows = self._projected(x, worker, keep=kept is not None and worker.lean < 2)
        attended, stays = self.attention.forward(rows, runs, training, worker)
        mixed = torch.addmm(self.mixed.bias, attended, self.mixed.weight.T)
        stay = drop(mixed, self.drops[0].p if training else 0.0, worker)
        mixed += x
        y, first = self.norm.forward(mixed)
        wide = self._widened(y, worker, keep=kept is not None and not worker.lean)
        last = torch.addmm(self.narrow.bias, self._bent(wide, worker), self.narrow.weight.T)
        last_stay = drop(last, self.drops[1].p if training else 0.0, worker)
        last += y
        z, second = self.last_norm.forward(last)
        if kept is not None:
            own = None if worker.lean else wide
            own_rows = rows if worker.lean < 2 else None
            kept.append(Kept(own_rows, stays, first, stay, own, second, last_stay))
        return z

    def _projected(self, x: Tensor, worker: Worker, *, keep: bool) -> Tensor:
        import torch

        size = x.shape[1]
        shape = (len(x), 3 * size)
        rows = torch.empty(shape) if keep else worker.scratch("projections", *shape)
        for number, part in enumerate(self.projections):
            torch.addmm(
                part.bias, x, part.weight.T, out=rows[:, number * size : (number + 1) * size]
            )
        return rows

    def _widened(self, y: Tensor, worker: Worker, *, keep: bool) -> Tensor:
        import torch

        shape = (len(y), self.wide.out_features)
        out = torch.empty(shape) if keep else worker.scratch("again", *shape)
        return torch.addmm(self.wide.bias, y, self.wide.weight.T, out=out)

    def _bent(self, wide: Tensor, worker: Worker) -> Tensor:
        import torch

        found: Tensor = torch.ops.aten.gelu.out(wide, out=worker.scratch("wide", *wide.shape))
        return found

    def output(self, kept: Kept) -> Tensor:
        """Returns the output of the forward pass once more."""
        return self.last_norm.forward(kept.last[0])[0]

    def backward(self, kept: Kept, x: Tensor, runs: Runs, upper: Tensor, worker: Worker) -> Tensor:
        """Adds the weights' gradient; returns the gradient of the layer's input."""
        import torch

        y, _ = self.norm.forward(kept.mixed[0])
        wide = self._widened(y, worker, keep=False) if kept.wide is None else kept.wide
        upper = self.last_norm.backward(upper, kept.last, worker)
        narrow = dropped(upper, kept.last_stay, self.drops[1].p)
        _learn(self.narrow, narrow, self._bent(wide, worker), worker)
        lower = torch.mm(narrow, self.narrow.weight, out=worker.scratch("wide", *wide.shape))
        torch.ops.aten.gelu_backward.grad_input(lower, wide, grad_input=lower)
        _learn(self.wide, lower, y, worker)
        upper.addmm_(lower, self.wide.weight)
        upper = self.norm.backward(upper, kept.mixed, worker)
        context = dropped(upper, kept.mixed_stay, self.drops[0].p)
        rows = self._projected(x, worker, keep=False) if kept.rows is None else kept.rows
        rows, attended = self.attention.backward(
            rows, context @ self.mixed.weight, runs, kept.stays, worker
        )
        _learn(self.mixed, context, attended, worker)
        size = x.shape[1]
        for number, part in enumerate(self.projections):
            own = rows[:, number * size : (number + 1) * size]
            _learn(part, own, x, worker)
            upper.addmm_(own, part.weight)
        return upper


def trained(module: nn.Module) -> bool | None:
    """Whether all weights of a module learn, none do, or some (None)."""
    kinds = {p.requires_grad for p in module.parameters()}
    return kinds.pop() if len(kinds) == 1 else None
