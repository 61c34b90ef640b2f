"""Texts as tokens, each tokenised once; micro-batches of like length; vectors with and without gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from obverse.inputs import speakable
from obverse.training.packed import PackedEncoder, packed
from obverse.training.workers import Worker

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

_AT_ONCE, _TIMES = 256, 4


@dataclass(slots=True)
class Tokens:
    """The tokenised texts of a model.

    Attributes:
        model: The model whose tokenizer and limit count.
        max_tokens: The limit, special tokens included; longer texts are cut at their end.
    """

    model: SentenceTransformer
    max_tokens: int
    _ids: dict[str, dict[str, Tensor]] = field(default_factory=dict)

    def learn(self, texts: Iterable[str]) -> None:
        """Tokenises texts that are not known yet."""
        import torch

        new = [text for text in dict.fromkeys(texts) if text not in self._ids]
        self.model.max_seq_length = self.max_tokens
        for at in range(0, len(new), _AT_ONCE):
            part = new[at : at + _AT_ONCE]
            features = self.model.preprocess([speakable(text) for text in part])
            mask = features["attention_mask"].bool()
            kept = {
                key: value
                for key, value in features.items()
                if isinstance(value, torch.Tensor) and value.shape == mask.shape
            }
            for row, text in enumerate(part):
                self._ids[text] = {
                    key: value[row][mask[row]].to(torch.int32) for key, value in kept.items()
                }

    def length(self, text: str) -> int:
        """Returns the number of tokens that are encoded."""
        if text not in self._ids:
            self.learn([text])
        return len(self._ids[text]["attention_mask"])

    def rows(self, texts: Sequence[str]) -> list[dict[str, Tensor]]:
        """Returns what the tokenizer makes of each text, without padding."""
        self.learn(texts)
        return [self._ids[text] for text in texts]

    def padded(self, texts: Sequence[str], device: Any) -> dict[str, Tensor]:
        """Returns the model's input for texts, padded to the longest on the tokenizer's side."""
        import torch

        rows = self.rows(texts)
        width = max(len(row["attention_mask"]) for row in rows)
        tokenizer = self.model.tokenizer
        left = getattr(tokenizer, "padding_side", "right") == "left"
        features = {}
        for key in rows[0]:
            fill = (getattr(tokenizer, "pad_token_id", 0) or 0) if key == "input_ids" else 0
            whole = torch.full((len(rows), width), fill, dtype=torch.int64)
            for line, row in zip(whole, rows, strict=True):
                values = row[key]
                if left:
                    line[width - len(values) :] = values
                else:
                    line[: len(values)] = values
            features[key] = whole.to(device)
        return features


def micro_batches(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Returns places in micro-batches of like length, longest first, each of at most ``tokens`` tokens with padding.

    The longest come first so that memory is asked for at its highest at once.
    """
    order = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    made: list[list[int]] = []
    for place in order:
        if made and (len(made[-1]) + 1) * lengths[made[-1][0]] <= tokens:
            made[-1].append(place)
        else:
            made.append([place])
    return made


def even_batches(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Returns places in micro-batches of like length and like size, longest first, of ``tokens`` tokens or a text more.

    For encoders without padding. There are four of them, or eight and so on, unless there are fewer texts, so that two
    or four threads get like work.
    """
    order = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    total = sum(lengths)
    count = _TIMES * -(-total // (_TIMES * tokens))
    made: list[list[int]] = [[] for _ in range(count)]
    passed = 0
    for place in order:
        made[(2 * passed + lengths[place]) * count // (2 * total)].append(place)
        passed += lengths[place]
    return [part for part in made if part]


@dataclass(slots=True)
class Forward:
    """Encodes texts by a module that may be training.

    Attributes:
        module: The encoder.
        tokens: Its tokenised texts.
        micro_tokens: Tokens in a micro-batch at most.
        precision: ``fp32``, ``bf16`` or ``fp16``: the encoder runs in it; vectors leave it in float32.
        packed: The same encoder without padding, where there is one (:func:`~obverse.training.packed.packed_encoder`).
    """

    module: SentenceTransformer
    tokens: Tokens
    micro_tokens: int = 1024
    precision: str = "fp32"
    packed: PackedEncoder | None = None

    def __call__(self, texts: Sequence[str], worker: Worker | None = None) -> Tensor:
        """Returns the vectors of one micro-batch, ``[n, d]``, float32, unit length."""
        import torch.nn.functional as F

        if self.packed is not None:
            batch = packed(self.tokens.rows(texts))
            return F.normalize(
                self.packed(batch, training=self.module.training, worker=worker), dim=1
            )
        features = self.tokens.padded(texts, self.device)
        with self._autocast():
            found = self.module(features)["sentence_embedding"]
        return F.normalize(found.float(), dim=1)

    @property
    def device(self) -> torch.device:
        found: torch.device = next(self.module.parameters()).device
        return found

    def _autocast(self) -> AbstractContextManager[Any]:
        import torch

        if self.precision == "fp32":
            return nullcontext()
        kind = torch.bfloat16 if self.precision == "bf16" else torch.float16
        return torch.autocast(self.device.type, dtype=kind)

    def split(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the places of texts in micro-batches."""
        return self.cut([self.tokens.length(text) for text in texts], self.micro_tokens)

    @property
    def cut(self) -> Callable[[Sequence[int], int], list[list[int]]]:
        """How the places of texts are cut into micro-batches, given lengths and the limit."""
        return micro_batches if self.packed is None else even_batches

    def frozen(self, texts: Sequence[str], what: str = "") -> Tensor:
        """Returns the vectors of all texts, ``[n, d]``, without gradient and dropout, with a progress bar."""
        import torch

        from obverse.log import progress

        was_training = self.module.training
        self.module.eval()
        self.tokens.learn(texts)
        parts = self.split(texts)
        out: list[Tensor] = []
        with torch.no_grad():
            for part in progress(parts, what) if what else parts:
                out.append(self([texts[place] for place in part]))
        self.module.train(was_training)
        return joined(out, parts)


def joined(parts: Sequence[Tensor], places: Sequence[Sequence[int]]) -> Tensor:
    """Returns the vectors of micro-batches in the order of the texts."""
    import torch

    if not parts:
        return torch.zeros(0, 0)
    order = torch.tensor([place for part in places for place in part])
    back = torch.empty_like(order)
    back[order] = torch.arange(len(order))
    return torch.cat(list(parts))[back.to(parts[0].device)]
