"""BERT encoders without padding, for training in float32 on a CPU: fewer numbers computed, and fewer kept.

The texts of a micro-batch lie behind one another in one matrix of tokens; only attention looks at them text by text.
The backward pass is written out. It adds each weight's gradient to ``.grad`` at once, where autograd would fill a
matrix of the size of the weights for every micro-batch (47 MB for a vocabulary of 30,522 words). What is kept and what
is computed again is said in :mod:`obverse.training.packed_layer`: by count 83 KB for a token of all-MiniLM-L6-v2, 46
and 18 with a lean worker, where the library keeps about 157.

The arithmetic is that of :class:`transformers.BertModel` with mean or first-token pooling; for all other encoders
:func:`packed_encoder` has no answer and they run as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.training.packed_layer import Layer, Norm, drop, dropped, trained
from obverse.training.workers import Team, Worker

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
        runs: Where each text begins, and its length.
    """

    words: Tensor
    types: Tensor
    places: Tensor
    texts: Tensor
    lengths: Tensor
    runs: list[tuple[int, int]]


def packed(rows: Sequence[Mapping[str, Tensor]]) -> Packed:
    """Returns tokenised texts as one matrix of tokens."""
    import torch

    counts = [len(row["input_ids"]) for row in rows]
    runs, at = [], 0
    for count in counts:
        runs.append((at, count))
        at += count
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
        self._alone, self._team = Worker(), None  # type: Worker, Team | None

    @property
    def team(self) -> Team:
        """As many threads as torch has now."""
        import torch

        if self._team is None or self._team.threads != torch.get_num_threads():
            self._team = Team(torch.get_num_threads())
        return self._team

    @property
    def trained_in_order(self) -> bool:
        """Whether the weights that learn are those from some layer on: then those below need no backward pass."""
        parts = [self.embedding.trained, *(layer.trained for layer in self.layers)]
        return None not in parts and parts == sorted(parts, key=bool)

    def __call__(self, batch: Packed, *, training: bool, worker: Worker | None = None) -> Tensor:
        """Returns the pooled vectors of the texts, ``[n, d]``, not normalised."""
        import torch

        worker = worker or self._alone
        if torch.is_grad_enabled():
            return _encoding().apply(self.asks, self, batch, training, worker)  # type: ignore[no-any-return]
        return self.forward(batch, training, None, worker)

    def forward(
        self, batch: Packed, training: bool, kept: list[Any] | None, worker: Worker
    ) -> Tensor:
        """Returns the pooled vectors; appends to ``kept`` what the backward pass reads."""
        own = kept if self.embedding.trained else None
        x = self.embedding.forward(batch, training, own, worker)
        for layer in self.layers:
            if kept == [] and layer.trained:
                kept.append(x)
            x = layer.forward(x, batch.runs, training, kept if layer.trained else None, worker)
        if not self.mean:
            return x[batch.lengths.cumsum(0) - batch.lengths]
        sums = x.new_zeros(len(batch.lengths), x.shape[1]).index_add_(0, batch.texts, x)
        return sums / batch.lengths[:, None]

    def backward(self, batch: Packed, kept: list[Any], gradient: Tensor, worker: Worker) -> None:
        """Adds up the gradient of the weights, and empties ``kept``."""
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
            upper = layer.backward(own, x, batch.runs, upper, worker)
        if self.embedding.trained:
            self.embedding.backward(kept.pop(), batch, upper, worker)


def _encoding() -> Any:
    """The autograd function, made at the first use: torch is not imported before."""
    global _made
    if _made is None:
        import torch

        class Encoding(torch.autograd.Function):
            @staticmethod
            def forward(
                ctx: Any, asks: Tensor, encoder: Any, batch: Any, training: bool, worker: Any
            ) -> Any:
                ctx.encoder, ctx.batch, ctx.kept, ctx.worker = encoder, batch, [], worker
                return encoder.forward(batch, training, ctx.kept, worker)

            @staticmethod
            def backward(ctx: Any, gradient: Tensor) -> Any:
                ctx.encoder.backward(ctx.batch, ctx.kept, gradient, ctx.worker)
                return None, None, None, None, None

        _made = Encoding
    return _made


_made: Any = None


class Embedding:
    """Words, token types and places to the first layer's input."""

    def __init__(self, module: Any) -> None:
        self.module, self.norm = module, Norm(module.LayerNorm)
        self.trained = trained(module)

    def forward(
        self, batch: Packed, training: bool, kept: list[Any] | None, worker: Worker
    ) -> Tensor:
        y, (_, mean, deviation) = self.norm.forward(self._sum(batch))
        stay = drop(y, self.module.dropout.p if training else 0.0, worker)
        if kept is not None:
            kept.append((batch, mean, deviation, stay))
        return y

    def _sum(self, batch: Packed) -> Tensor:
        own = self.module
        x: Tensor = own.word_embeddings.weight[batch.words]
        x += own.token_type_embeddings.weight[batch.types]
        x += own.position_embeddings.weight[batch.places]
        return x

    def output(self, kept: Any) -> Tensor:
        """Returns the output of the forward pass once more."""
        batch, _, _, stay = kept
        y = self.norm.forward(self._sum(batch))[0]
        return dropped(y, stay, self.module.dropout.p)

    def backward(self, kept: Any, batch: Packed, upper: Tensor, worker: Worker) -> None:
        _, mean, deviation, stay = kept
        own = self.module
        upper = dropped(upper, stay, own.dropout.p)
        upper = self.norm.backward(upper, (self._sum(batch), mean, deviation), worker)
        words = own.word_embeddings
        # As torch does: the padding word learns nothing.
        if words.padding_idx is not None and bool((batch.words == words.padding_idx).any()):
            upper = upper * (batch.words != words.padding_idx)[:, None]
        worker.add_rows(words.weight, batch.words, upper)
        worker.add_rows(own.token_type_embeddings.weight, batch.types, upper)
        worker.add_rows(own.position_embeddings.weight, batch.places, upper)
