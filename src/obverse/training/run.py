"""A training run before its first step: base, topics, plan, and the vectors that are known beforehand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.errors import ModelError, SettingError
from obverse.inputs import Template, saved_template, template_named
from obverse.log import say
from obverse.models import count_tokens, load_model, locate, template_of_prompts
from obverse.records import Topic
from obverse.sampling import seed_for
from obverse.training.collator import Collator, Known
from obverse.training.loss import check_widths
from obverse.training.model_names import CHECKPOINTS
from obverse.training.plan import Plan
from obverse.training.settings import Settings
from obverse.training.sides import add_lora, freeze_layers, is_asymmetric, side, weights_digest
from obverse.training.tokens import Forward, Tokens
from obverse.training.topic_set import TopicSet, topic_set

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from obverse.corpus_vectors import CorpusVectors

_SAME = 0.99


@dataclass(slots=True)
class Run:
    """Everything a run is made of.

    Attributes:
        settings: What the caller asked for.
        base: The name of the encoder that it starts from.
        out: The model folder.
        template: How inputs are built.
        learner: The model whose weights change: the whole encoder, or its query side.
        plan: Which topics are in which batch.
        forward: Encodes by the learner.
        docs_forward: Encodes documents: by the learner, or by the frozen base's document side.
        collator: Makes the input of a step.
        identity: What decides the weights: digests of data and base, the settings.
        prompts: The base's own prompts, which the saved model does not have: its template is what was taught.
        prompts_taken: Whether the template is made of them.
    """

    settings: Settings
    base: str
    out: Path
    template: Template
    learner: SentenceTransformer
    plan: Plan
    forward: Forward
    docs_forward: Forward
    collator: Collator
    identity: dict[str, Any] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    prompts_taken: bool = False

    @property
    def home(self) -> Path:
        """Where checkpoints and the log lie until the run is finished."""
        return self.out / CHECKPOINTS

    @property
    def topics(self) -> TopicSet:
        return self.plan.topics


def prepare(
    topics: Iterable[Topic],
    settings: Settings,
    *,
    base: str,
    out: Path,
    template: Template | str | None = None,
    device: str | None = None,
    threads: int | None = None,
    vectors: CorpusVectors | None = None,
) -> Run:
    """Returns a run that is ready for its first step, except for the vectors of :func:`learn_known`.

    Raises:
        SettingError: If a setting does not fit the data or the base.
        InputError: If the topics cannot be trained on.
        ModelError: If the base cannot be loaded.
    """
    model = load_model(base, device=device, threads=threads)
    check_limit(model, base, settings.max_tokens)
    if is_asymmetric(model) and not settings.freeze_docs:
        raise SettingError(
            f"{base} has a query side and a document side",
            fix="Train its query side: --freeze-docs",
        )
    learner = side(model, "query")
    if isinstance(template, str):
        template = template_named(template)
    prompts = {name: text for name, text in model.prompts.items() if text}
    prompted = template_of_prompts(prompts)
    chosen = template or saved_template(locate(base)) or prompted or Template()
    tokens = Tokens(learner, settings.max_tokens)
    prepared = topic_set(topics, chosen, settings.max_tokens, partial(count_tokens, learner))
    plan = Plan(
        prepared,
        min(settings.batch_size, len(prepared.topics)),
        settings.epochs,
        settings.seed,
        settings.steps,
        plain_per_batch=settings.plain_per_batch,
        max_views=settings.max_views,
        plain_share=settings.plain_share,
        instructed_share=settings.instructed_share,
        source_weights=settings.source_weights,
        negatives=settings.negatives,
        instruction_negatives=settings.instruction_negatives,
        pick=settings.pick,
        pool_negatives=settings.pool,
        keep_last=settings.keep_last,
    )
    if settings.terms.distill and not any(row.teacher for rows in prepared.rows for row in rows):
        raise SettingError(
            f"distill is {settings.terms.distill}, and no view has a teacher's scores",
            fix='Write them to checks.teacher ({"d1": 0.9, ...}), or leave --distill away',
        )
    _need_sources(prepared, settings)
    check_widths(settings.terms.matryoshka, learner.get_embedding_dimension() or 0)
    precision = precision_for(settings.precision, learner.device.type)
    forward = Forward(learner, tokens, settings.micro, precision)
    collator = Collator(
        plan,
        settings.in_batch,
        settings.freeze_docs,
        settings.pool_encoding,
        bool(settings.terms.keep_close),
    )
    identity = {
        "data": prepared.digest,
        "base": weights_digest(model),
        "template": chosen.digest,
        "settings": settings.to_json(),
        "precision": precision,
    }
    docs_forward = forward
    if settings.freeze_docs:
        # Loaded a second time where one encoder is both sides: this copy does not learn.
        frozen = (
            side(model, "document") if is_asymmetric(model) else load_model(base, device=device)
        )
        own = Tokens(frozen, settings.max_tokens)
        docs_forward = Forward(frozen, own, settings.micro, precision)
    run = Run(
        settings,
        base,
        out,
        chosen,
        learner,
        plan,
        forward,
        docs_forward,
        collator,
        identity,
        prompts,
        prompted is not None and chosen.digest == prompted.digest,
    )
    check_padding(run.forward, base)
    _learn_known(run, vectors)
    _set_up_learning(run)
    return run


def _need_sources(topics: TopicSet, settings: Settings) -> None:
    """Raises SettingError if a setting is for a source that no view comes from."""
    there = {row.source for rows in topics.rows for row in rows}
    by_source = {} if isinstance(settings.in_batch, bool) else settings.in_batch
    for name in (*by_source, *settings.source_weights):
        if name and name not in there:
            raise SettingError(
                f"no view comes from the source {name!r}",
                fix=f"There are: {', '.join(sorted(map(repr, there)))}",
            )


def check_limit(model: SentenceTransformer, base: str, max_tokens: int) -> None:
    """Raises SettingError if an encoder has no places for so many tokens."""
    limit = int(model.max_seq_length or 0)
    transformer = model.transformers_model
    room = getattr(getattr(transformer, "config", None), "max_position_embeddings", None) or limit
    # RoBERTa and its kin count positions from behind that of the padding.
    places = getattr(getattr(transformer, "embeddings", None), "position_embeddings", None)
    if (padding := getattr(places, "padding_idx", None)) is not None:
        room -= padding + 1
    if room and max_tokens > room:
        raise SettingError(
            f"{base} reads at most {room} tokens, not {max_tokens}", fix="Lower --max-tokens"
        )


def check_padding(forward: Forward, base: str) -> None:
    """Encodes a text alone and padded beside a longer one: both must give one vector.

    Raises:
        ModelError: If they do not: the padding side does not fit the model's pooling or positions.
    """
    short, long = (
        "mountain bike",
        "mountain bike for children, second-hand only, with a light, in red",
    )
    (alone,) = forward.frozen([short])
    (padded, _) = _together(forward, [short, long])
    if float(alone @ padded) < _SAME:
        side_ = getattr(forward.tokens.model.tokenizer, "padding_side", "right")
        raise ModelError(
            f"gives a text another vector when it is padded beside a longer one (cosine {float(alone @ padded):.3f}, "
            f"padding on the {side_})",
            where=base,
            fix="Set padding_side in the tokenizer's config to the side that the model was made with",
        )


def _together(forward: Forward, texts: list[str]) -> Any:
    import torch

    forward.module.eval()
    with torch.no_grad():
        return forward(texts)


def precision_for(asked: str, device: str) -> str:
    """Returns ``fp32``, ``bf16`` or ``fp16``; ``auto`` is bf16 where the machine computes in it.

    Raises:
        SettingError: If the device cannot train in it.
    """
    import torch

    has_bf16 = (
        torch.cuda.is_bf16_supported()
        if device == "cuda"
        else device == "cpu" and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    )
    if asked == "auto":
        return "bf16" if has_bf16 else "fp32"
    if asked == "fp16":
        if device != "cuda":
            raise SettingError(f"there is no fp16 training on {device}", fix="Use --precision auto")
        say("train: fp16 has few digits for temperature 0.02; bf16 is safer (--precision bf16)")
    if asked == "bf16" and not has_bf16:
        say(f"train: this {device} computes bf16 slowly, by emulation; fp32 is faster")
    return asked


def _learn_known(run: Run, vectors: CorpusVectors | None) -> None:
    """Computes the frozen base's vectors that the run needs, all at once: a later stop cannot change them."""
    settings, collator = run.settings, run.collator
    close = bool(settings.terms.keep_close)
    pool = run.plan.pool_negatives and settings.pool_encoding == "frozen"
    if settings.freeze_docs or close or pool:
        texts = list(run.topics.docs.values())
        if vectors is None:
            collator.docs = _known(run.docs_forward, texts, "the base's documents")
        else:
            collator.docs = _reused(run, vectors)
    if close:
        texts = [row.text for rows in run.topics.rows for row in rows if row.plain]
        collator.queries = _known(run.forward, texts, "the base's queries")


def _reused(run: Run, vectors: CorpusVectors) -> Known:
    """The caller's document vectors, if they are of this base, template and token limit.

    Raises:
        SettingError: If they are not.
    """
    import torch

    encoder = vectors.encoder
    if (encoder.name, encoder.template.digest, encoder.max_tokens) != (
        run.base,
        run.template.digest,
        run.settings.max_tokens,
    ):
        raise SettingError(
            "the document vectors are of another encoder, template or token limit",
            fix="Leave them away",
        )
    found = torch.from_numpy(vectors.of([run.topics.samples[uid] for uid in run.topics.docs]))
    return Known({text: row for row, text in enumerate(run.topics.docs.values())}, found)


def _known(forward: Forward, texts: list[str], what: str) -> Known:
    distinct = list(dict.fromkeys(texts))
    if not distinct:
        return Known()
    vectors = forward.frozen(distinct, f"train: {what}").cpu()
    return Known({text: row for row, text in enumerate(distinct)}, vectors)


def _set_up_learning(run: Run) -> None:
    import torch

    settings, learner = run.settings, run.learner
    if settings.lora:
        # Adapters begin at random numbers, which must not depend on what this process has drawn before.
        torch.manual_seed(seed_for(settings.seed, "lora") % 2**63)
        add_lora(learner, settings.lora, settings.lora_alpha, settings.lora_dropout)
    freeze_layers(learner, settings.freeze_layers)
    if settings.gradient_checkpointing:
        _recompute_activations(learner)
    if not any(p.requires_grad for p in learner.parameters()):
        raise ModelError("has no weights that could learn", where=run.base, fix="Freeze less")


def _recompute_activations(learner: SentenceTransformer) -> None:
    transformer = learner.transformers_model
    # Renamed in transformers 5; the old name warns.
    names = ("activation_checkpointing_enable", "gradient_checkpointing_enable")
    switch = next((getattr(transformer, n) for n in names if hasattr(transformer, n)), None)
    if switch is None:
        raise ModelError(
            "cannot recompute its activations", fix="Leave --gradient-checkpointing away"
        )
    switch({"use_reentrant": False})
