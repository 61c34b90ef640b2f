"""BERT encoders without padding, for training in float32 on a CPU: fewer numbers computed, and fewer kept.

The texts of a micro-batch lie behind one another in one matrix of tokens; only attention looks at them text by text.
The backward pass is written out. It adds each weight's gradient to ``.grad`` at once, where autograd would fill a
matrix of the size of the weights for every micro-batch (47 MB for a vocabulary of 30,522 words). It keeps what is dear
to compute (the projections) and computes again what is cheap (layer norms, GELU): by count 92 KB for a token of
all-MiniLM-L6-v2, where the library keeps about 157.

The arithmetic is that of :class:`transformers.BertModel` with mean or first-token pooling; for all other encoders
:func:`packed_encoder` has no answer and they run as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor, nn

_POOLINGS = ("mean", "cls")


@dataclass(frozen=True, slots=True)
class Packed:
    """The tokens of a micro-batch, text after text.

    Attributes:
        words: int64 ``[t]``.
        types: int64 ``[t]``, token types.
        places: int64 ``[t]``, the place of each token in its text.
        texts: int64 ``[t]``, the text of each token.
        lengths: int64 ``[n]``.
        runs: Where runs of equally long texts begin, how many texts they have, and how long these are.
    """

    words: Tensor
    types: Tensor
    places: Tensor
    texts: Tensor
    lengths: Tensor
    runs: list[tuple[int, int, int]]


def packed(rows: Sequence[Mapping[str, Tensor]]) -> Packed:
    """Returns tokenised texts as one matrix of tokens."""
    import torch

    counts = [len(row["input_ids"]) for row in rows]
    runs: list[tuple[int, int, int]] = []
    for count in counts:
        at, number, length = runs[-1] if runs else (0, 0, 0)
        if count == length:
            runs[-1] = (at, number + 1, length)
        else:
            runs.append((at + number * length, 1, count))
    words = torch.cat([row["input_ids"] for row in rows]).long()
    types = (
        torch.cat([row["token_type_ids"] for row in rows]).long()
        if "token_type_ids" in rows[0]
        else torch.zeros_like(words)
    )
    lengths = torch.tensor(counts)
    places = torch.cat([torch.arange(count) for count in counts])
    texts = torch.repeat_interleave(torch.arange(len(counts)), lengths)
    return Packed(words, types, places, texts, lengths, runs)


def packed_encoder(model: SentenceTransformer) -> PackedEncoder | None:
    """Returns a model's packed encoder, or None if it is no BERT of the known build on a CPU, or holds adapters."""
    from transformers import BertModel

    modules = [*model.children()]
    names = [type(module).__name__ for module in modules]
    if names not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return None
    bert, pooling = model.transformers_model, modules[1]
    mode = getattr(pooling, "pooling_mode", None)
    if type(bert) is not BertModel or mode not in _POOLINGS or not pooling.include_prompt:
        return None
    config = bert.config
    if config.hidden_act != "gelu" or config.is_decoder or config.add_cross_attention:
        return None
    if getattr(config, "position_embedding_type", "absolute") != "absolute":
        return None
    layers = [Layer(layer) for layer in bert.encoder.layer]
    if not all(layer.plain for layer in layers) or not _all_cpu_float(bert):
        return None
    found = PackedEncoder(Embedding(bert.embeddings), layers, mode == "mean")
    return found if found.trained_in_order else None


def _all_cpu_float(module: nn.Module) -> bool:
    import torch

    return all(
        type(p) is torch.nn.Parameter and p.dtype == torch.float32 and p.device.type == "cpu"
        for p in module.parameters()
    )


class PackedEncoder:
    """Encodes a micro-batch, with the backward pass written out."""

    def __init__(self, embedding: Embedding, layers: list[Layer], mean: bool) -> None:
        import torch

        self.embedding, self.layers, self.mean = embedding, layers, mean
        # The weights get their gradients directly; this number only asks autograd for the backward pass.
        self.asks = torch.zeros((), requires_grad=True)

    @property
    def trained_in_order(self) -> bool:
        """Whether the weights that learn are those from some layer on: then those below need no backward pass."""
        parts = [self.embedding.trained, *(layer.trained for layer in self.layers)]
        return None not in parts and parts == sorted(parts, key=bool)

    def __call__(self, batch: Packed, *, training: bool) -> Tensor:
        """Returns the pooled vectors of the texts, ``[n, d]``, not normalised."""
        import torch

        if torch.is_grad_enabled():
            return _encoding().apply(self.asks, self, batch, training)  # type: ignore[no-any-return]
        return self.forward(batch, training=training, kept=None)

    def forward(self, batch: Packed, *, training: bool, kept: list[Any] | None) -> Tensor:
        """Returns the pooled vectors; appends to ``kept`` what the backward pass reads."""
        x = self.embedding.forward(batch, training, kept if self.embedding.trained else None)
        for layer in self.layers:
            if kept == [] and layer.trained:
                kept.append(x)
            x = layer.forward(x, batch, training, kept if layer.trained else None)
        if not self.mean:
            return x[batch.lengths.cumsum(0) - batch.lengths]
        sums = x.new_zeros(len(batch.lengths), x.shape[1]).index_add_(0, batch.texts, x)
        return sums / batch.lengths[:, None]

    def backward(self, batch: Packed, kept: list[Any], gradient: Tensor) -> None:
        """Adds the gradient of the weights to ``.grad``, and empties ``kept``."""
        if self.mean:
            upper = (gradient / batch.lengths[:, None])[batch.texts]
        else:
            upper = gradient.new_zeros(len(batch.words), gradient.shape[1])
            upper[batch.lengths.cumsum(0) - batch.lengths] = gradient
        for number in reversed(range(len(self.layers))):
            layer = self.layers[number]
            if not layer.trained:
                return
            own = kept.pop()
            below = self.layers[number - 1] if number else self.embedding
            x = below.output(kept[-1]) if below.trained else kept.pop()
            upper = layer.backward(own, x, batch, upper)
        if self.embedding.trained:
            self.embedding.backward(kept.pop(), batch, upper)


def _encoding() -> Any:
    """The autograd function, made at the first use: torch is not imported before."""
    global _made
    if _made is None:
        import torch

        class Encoding(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, asks: Tensor, encoder: Any, batch: Any, training: bool) -> Any:
                ctx.encoder, ctx.batch, ctx.kept = encoder, batch, []
                return encoder.forward(batch, training=training, kept=ctx.kept)

            @staticmethod
            def backward(ctx: Any, gradient: Tensor) -> Any:
                ctx.encoder.backward(ctx.batch, ctx.kept, gradient)
                return None, None, None, None

        _made = Encoding
    return _made


_made: Any = None


class Norm:
    """A layer norm: its output, and the gradient of its input."""

    def __init__(self, module: nn.LayerNorm) -> None:
        self.module, self.shape = module, list(module.normalized_shape)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        import torch

        norm = self.module
        return torch.native_layer_norm(x, self.shape, norm.weight, norm.bias, norm.eps)

    def backward(self, upper: Tensor, x: Tensor, mean: Tensor, deviation: Tensor) -> Tensor:
        import torch

        norm = self.module
        lower, weight, bias = torch.ops.aten.native_layer_norm_backward(
            upper, x, self.shape, mean, deviation, norm.weight, norm.bias, [True, True, True]
        )
        _gradient(norm.weight).add_(weight)
        _gradient(norm.bias).add_(bias)
        found: Tensor = lower
        return found


def _gradient(weight: Any) -> Tensor:
    import torch

    if weight.grad is None:
        weight.grad = torch.zeros_like(weight)
    found: Tensor = weight.grad
    return found


def _learn(linear: nn.Linear, upper: Tensor, x: Tensor) -> None:
    """Adds a linear layer's gradient to its weights."""
    _gradient(linear.weight).addmm_(upper.T, x)
    _gradient(linear.bias).add_(upper.sum(0))


def _drop(x: Tensor, share: float, training: bool) -> Tensor | None:
    """Sets a share of the numbers to 0 and scales the others, in place; returns which stay."""
    import torch

    if not training or not share:
        return None
    stay = torch.empty_like(x, dtype=torch.bool).bernoulli_(1 - share)
    x.mul_(stay).mul_(1 / (1 - share))
    return stay


def _dropped(upper: Tensor, stay: Tensor | None, share: float) -> Tensor:
    return upper if stay is None else (upper * stay).mul_(1 / (1 - share))


def _trained(module: nn.Module) -> bool | None:
    """Whether all weights of a module learn, none do, or some (None)."""
    kinds = {p.requires_grad for p in module.parameters()}
    return kinds.pop() if len(kinds) == 1 else None


class Embedding:
    """Words, token types and places to the first layer's input."""

    def __init__(self, module: Any) -> None:
        self.module, self.norm = module, Norm(module.LayerNorm)
        self.trained = _trained(module)

    def forward(self, batch: Packed, training: bool, kept: list[Any] | None) -> Tensor:
        own = self.module
        x = own.word_embeddings.weight[batch.words]
        x += own.token_type_embeddings.weight[batch.types]
        x += own.position_embeddings.weight[batch.places]
        y, mean, deviation = self.norm.forward(x)
        stay = _drop(y, own.dropout.p, training)
        if kept is not None:
            kept.append((x, mean, deviation, stay))
        return y

    def output(self, kept: Any) -> Tensor:
        """Returns the output of the forward pass once more."""
        x, _, _, stay = kept
        y = self.norm.forward(x)[0]
        return y if stay is None else y.mul_(stay).mul_(1 / (1 - self.module.dropout.p))

    def backward(self, kept: Any, batch: Packed, upper: Tensor) -> None:
        x, mean, deviation, stay = kept
        own = self.module
        upper = _dropped(upper, stay, own.dropout.p)
        upper = self.norm.backward(upper, x, mean, deviation)
        words = own.word_embeddings
        # As torch does: the padding word learns nothing.
        if words.padding_idx is not None:
            upper = upper * (batch.words != words.padding_idx)[:, None]
        _add_rows(words.weight, batch.words, upper)
        _add_rows(own.token_type_embeddings.weight, batch.types, upper)
        _add_rows(own.position_embeddings.weight, batch.places, upper)


def _add_rows(weight: Any, places: Tensor, rows: Tensor) -> None:
    """Adds rows to the gradient of an embedding.

    Those of one place are summed up first: the rounding is then the same for any number of processes.
    """
    import torch

    distinct, inverse = torch.unique(places, return_inverse=True)
    sums = rows.new_zeros(len(distinct), rows.shape[1]).index_add_(0, inverse, rows)
    _gradient(weight).index_add_(0, distinct, sums)


class Layer:
    """A layer of BERT: attention, two linear layers, and a layer norm after each."""

    def __init__(self, module: Any) -> None:
        attention, self.trained = module.attention, _trained(module)
        own = attention.self
        self.heads, self.width, self.scale = (
            own.num_attention_heads,
            own.attention_head_size,
            own.scaling,
        )
        self.projections = [own.query, own.key, own.value]
        self.mixed, self.norm = attention.output.dense, Norm(attention.output.LayerNorm)
        self.wide, self.narrow = module.intermediate.dense, module.output.dense
        self.last_norm = Norm(module.output.LayerNorm)
        self.drops = (own.dropout, attention.output.dropout, module.output.dropout)

    @property
    def plain(self) -> bool:
        """Whether the linear layers are what they seem, not wrapped by adapters."""
        from torch.nn import Linear

        linear = [*self.projections, self.mixed, self.wide, self.narrow]
        return all(type(part) is Linear and part.bias is not None for part in linear)

    def forward(self, x: Tensor, batch: Packed, training: bool, kept: list[Any] | None) -> Tensor:
        """Returns the layer's output, ``[t, d]``."""
        import torch
        import torch.nn.functional as F

        size = self.heads * self.width
        rows = x.new_empty(len(x), 3 * size)
        for number, part in enumerate(self.projections):
            torch.addmm(
                part.bias, x, part.weight.T, out=rows[:, number * size : (number + 1) * size]
            )
        inner, outer = self._attend(rows, batch, training, keep=kept is not None)
        mixed = torch.addmm(self.mixed.bias, _joined(outer), self.mixed.weight.T)
        stay = _drop(mixed, self.drops[1].p, training)
        mixed += x
        y, *middle = self.norm.forward(mixed)
        wide = torch.addmm(self.wide.bias, y, self.wide.weight.T)
        last = torch.addmm(self.narrow.bias, F.gelu(wide), self.narrow.weight.T)
        last_stay = _drop(last, self.drops[2].p, training)
        last += y
        z, *end = self.last_norm.forward(last)
        if kept is not None:
            kept.append(((inner, outer), (mixed, *middle, stay), wide, (last, *end, last_stay)))
        return z

    def _attend(
        self, rows: Tensor, batch: Packed, training: bool, *, keep: bool
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Attention within each text, run by run; with ``keep`` as small graphs of autograd from input to output."""
        import torch
        import torch.nn.functional as F

        share = self.drops[0].p if training else 0.0
        inner, outer = [], []
        with torch.set_grad_enabled(keep):
            for at, count, length in batch.runs:
                part = rows[at : at + count * length].detach().requires_grad_(keep)
                q, k, v = part.view(count, length, 3, self.heads, self.width).permute(2, 0, 3, 1, 4)
                found = F.scaled_dot_product_attention(q, k, v, dropout_p=share, scale=self.scale)
                inner.append(part)
                outer.append(found.transpose(1, 2).reshape(count * length, -1))
        return inner, outer

    def output(self, kept: Any) -> Tensor:
        """Returns the output of the forward pass once more."""
        return self.last_norm.forward(kept[-1][0])[0]

    def backward(self, kept: Any, x: Tensor, batch: Packed, upper: Tensor) -> Tensor:
        """Adds the weights' gradient to ``.grad``; returns the gradient of the layer's input."""
        import torch
        import torch.nn.functional as F

        (inner, outer), (mixed, mean, deviation, stay), wide, (last, *end, last_stay) = kept
        upper = self.last_norm.backward(upper, last, *end)
        narrow = _dropped(upper, last_stay, self.drops[2].p)
        _learn(self.narrow, narrow, F.gelu(wide))
        lower = torch.ops.aten.gelu_backward(narrow @ self.narrow.weight, wide)
        _learn(self.wide, lower, self.norm.forward(mixed)[0])
        upper = upper.addmm(lower, self.wide.weight)
        upper = self.norm.backward(upper, mixed, mean, deviation)
        context = _dropped(upper, stay, self.drops[1].p)
        _learn(self.mixed, context, _joined([part.detach() for part in outer]))
        context = context @ self.mixed.weight
        starts = [context[at : at + count * length] for at, count, length in batch.runs]
        rows = _joined(torch.autograd.grad(outer, inner, starts))
        size = self.heads * self.width
        for number, part in enumerate(self.projections):
            own = rows[:, number * size : (number + 1) * size]
            _learn(part, own, x)
            upper = upper.addmm(own, part.weight)
        return upper


def _joined(parts: Sequence[Tensor]) -> Tensor:
    import torch

    return parts[0] if len(parts) == 1 else torch.cat(list(parts))
