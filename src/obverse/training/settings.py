"""The settings of a training run, checked before anything is loaded or written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from obverse.errors import SettingError
from obverse.training.arguments import need_names, need_sizes
from obverse.training.courses import course
from obverse.training.loss import Terms, need_finite

Schedule = Literal["linear", "cosine", "constant"]
Precision = Literal["auto", "fp32", "bf16", "fp16"]
PoolEncoding = Literal["frozen", "current"]

LEARNING_RATE = 5e-5
_POOL_OF_FROZEN = 10_000
_MICRO_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides the weights of a run, beside the data and the base; the parameters of ``train``."""

    epochs: float = 1
    steps: int | None = None
    batch_size: int = 16
    learning_rate: float = LEARNING_RATE
    max_tokens: int = 128
    terms: Terms = field(default_factory=Terms)
    freeze_docs: bool = False
    freeze_layers: int = 0
    warmup: float = 0.1
    schedule: Schedule = "linear"
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    average: float = 0.0
    average_last: float = 0.0
    negatives: int = 30
    instruction_negatives: int = 3
    pick: Literal["random", "first"] = "random"
    max_views: int | None = None
    plain_share: float | str = 1.0
    instructed_share: float | str = 1.0
    source_weights: Mapping[str, float | str] = field(default_factory=dict)
    plain_per_batch: int | None = None
    keep_last: bool = True
    in_batch: bool | Mapping[str, bool] = True
    pool_negatives: int | None = None
    pool_encoding: PoolEncoding = "frozen"
    chunked: bool = False
    keep_tokens: int = 0
    micro_tokens: int | None = None
    precision: Precision = "auto"
    seed: int = 0
    lora: int = 0
    lora_alpha: int | None = None
    lora_dropout: float = 0.0
    gradient_checkpointing: bool = False

    def __post_init__(self) -> None:
        need_finite(self)
        need_sizes({each.name: getattr(self, each.name) for each in fields(self)})
        for name in ("epochs", "learning_rate", "max_tokens", "batch_size"):
            self._need(name, getattr(self, name) > 0, "Give a positive number")
        for name in ("freeze_layers", "weight_decay", "max_grad_norm", "lora", "negatives"):
            self._need(name, getattr(self, name) >= 0, "Give 0 or more")
        self._need("keep_tokens", self.keep_tokens >= 0, "Give 0 or more")
        self._need("keep_tokens", self.chunked or not self.keep_tokens, "It is for --chunked")
        self._need("micro_tokens", self.micro > 0, "Give a positive number")
        self._need("instruction_negatives", self.instruction_negatives >= 0, "Give 0 or more")
        for name in ("warmup", "average", "average_last", "lora_dropout"):
            self._need(name, 0 <= getattr(self, name) <= 1, "Give a share between 0 and 1")
        self._need("average", self.average < 1, "With 1 nothing of the training would be left")
        self._need("lora_dropout", self.lora_dropout < 1, "With 1 nothing would reach the adapters")
        self._need(
            "pool_negatives",
            self.pool_negatives is None or self.pool_negatives >= 0,
            "Give 0 or more",
        )
        self._need(
            "plain_per_batch",
            self.plain_per_batch is None or self.plain_per_batch >= 0,
            "Give 0 or more",
        )
        self._need(
            "lora_alpha", self.lora_alpha is None or self.lora_alpha > 0, "Give a positive number"
        )
        self._need("steps", self.steps is None or self.steps >= 1, "Give 1 or more steps")
        self._write_courses()
        self._need(
            "max_views", self.max_views is None or self.max_views >= 1, "Keep at least one view"
        )
        for name, kind in (
            ("schedule", Schedule),
            ("precision", Precision),
            ("pool_encoding", PoolEncoding),
        ):
            self._need(
                name, getattr(self, name) in get_args(kind), f"Use {', '.join(get_args(kind))}"
            )
        self._need("pick", self.pick in ("random", "first"), "Use random or first")
        if self.lora and self.freeze_layers:
            raise SettingError(
                "lora trains adapters alone, so no layers can be frozen beside it",
                fix="Leave --freeze-layers or --lora away",
            )
        if self.lora and self.average:
            raise SettingError(
                "adapters cannot be averaged with the base", fix="Leave --average or --lora away"
            )
        if self.freeze_docs and self.pool_encoding == "current":
            raise SettingError(
                "frozen documents have no current vectors", fix="Use --pool-encoding frozen"
            )

    def _write_courses(self) -> None:
        """Numbers that may move, in the one form in which they are stored and compared."""
        for name in ("plain_share", "instructed_share"):
            found = course(getattr(self, name), name.replace("_", " "), most=1)
            object.__setattr__(self, name, found.written)
        weights = {
            source: course(value, f"source weight of {source!r}").written
            for source, value in self.source_weights.items()
        }
        object.__setattr__(self, "source_weights", weights)

    def _need(self, name: str, right: bool, fix: str) -> None:
        if not right:
            raise SettingError(f"{name.replace('_', ' ')} is {getattr(self, name)}", fix=fix)

    @property
    def pool(self) -> int:
        """Further documents per batch: all (at most 10,000) with frozen documents, none otherwise, by default."""
        if self.pool_negatives is not None:
            return self.pool_negatives
        return _POOL_OF_FROZEN if self.freeze_docs else 0

    @property
    def micro(self) -> int:
        """Tokens per micro-batch: by default half as many where memory is what counts."""
        if self.micro_tokens is not None:
            return self.micro_tokens
        return _MICRO_TOKENS // 2 if self.chunked else _MICRO_TOKENS

    def to_json(self) -> dict[str, Any]:
        """Returns the settings by name, those of the loss beside the others."""
        row = asdict(self)
        of_loss: dict[str, Any] = row.pop("terms")
        return row | of_loss | {"matryoshka": list(self.terms.matryoshka)}


KEEP_CLOSE_OF_QUERIES = 10.0
"""The default where the query side alone is trained: it held plain search at nearly the whole gain, by the retention
recipe (docs/results/recipes/retention.md). Where documents are trained too, nobody has measured it."""

LEARNING_RATE_OF_QUERIES = 1.2e-4
"""The default where the query side alone is trained: with keep-close it obeys better than at half of it, and plain
search does not fall (docs/results/recipes/sweep.md)."""


def settings_from(given: Mapping[str, Any]) -> Settings:
    """Returns the settings among a function's parameters, checked.

    Raises:
        SettingError: If one makes no sense, or a name among the parameters is empty.
    """
    need_names(given)
    need_sizes(given)
    of_loss = {f.name: given[f.name] for f in fields(Terms) if f.name in given}
    if "keep_close" in of_loss and of_loss["keep_close"] is None:
        of_loss["keep_close"] = KEEP_CLOSE_OF_QUERIES if given.get("freeze_docs") else 0.0
    if "matryoshka" in of_loss:
        of_loss["matryoshka"] = tuple(of_loss["matryoshka"] or ())
    others = {f.name: given[f.name] for f in fields(Settings) if f.name in given}
    if "learning_rate" in others and others["learning_rate"] is None:
        queries = given.get("freeze_docs")
        others["learning_rate"] = LEARNING_RATE_OF_QUERIES if queries else LEARNING_RATE
    if "source_weights" in others:
        others["source_weights"] = dict(others["source_weights"] or {})
    return Settings(**others, terms=Terms(**of_loss))


GUARD_LOSS = 0.01

_ONLY_WITH = (
    ("margin", "margin_weight"),
    ("teacher_temperature", "distill"),
    ("matryoshka_weight", "matryoshka"),
    ("lora_alpha", "lora"),
    ("lora_dropout", "lora"),
    ("watch_every", "held_out"),
    ("guard_loss", "held_out"),
    ("pool_encoding", "pool_negatives"),
)
_NOT_BESIDE = (("epochs", "steps"), ("keep_last", "steps"))
_FLAGS = {"keep_last": "--drop-last"}


def without_effect(given: Mapping[str, Any]) -> list[str]:
    """Returns in words which of a function's parameters are set and do nothing, as another is not set, or is."""
    defaults = {each.name: each.default for each in (*fields(Settings), *fields(Terms))}
    defaults |= {"watch_every": None, "guard_loss": GUARD_LOSS}

    def is_set(name: str) -> bool:
        return name in given and given[name] != defaults[name]

    def flag(name: str) -> str:
        return _FLAGS.get(name, f"--{name.replace('_', '-')}")

    lone = [
        f"{flag(name)} has no effect without {flag(needed)}"
        for name, needed in _ONLY_WITH
        if is_set(name) and (given.get(needed) is None or not given[needed])
    ]
    return lone + [
        f"{flag(other)} counts: {flag(name)} has no effect beside it"
        for name, other in _NOT_BESIDE
        if is_set(name) and given.get(other) is not None
    ]
