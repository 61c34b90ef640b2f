"""Trains an encoder on topics, with the sentence-transformers trainer and our plan, batches and loss."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.models import Router
from sentence_transformers.sentence_transformer.model_card import (
    SentenceTransformerModelCardCallback,
)
from transformers import TrainerCallback
from transformers.trainer_callback import PrinterCallback

from obverse import __version__
from obverse.errors import SettingError
from obverse.files import to_json, write_json
from obverse.identity import text_uid
from obverse.inputs import FILE_NAME, Template, template_row
from obverse.log import Meter, say
from obverse.models import Encoder, load_encoder, load_model
from obverse.records import Doc, Topic
from obverse.training.batches import BaseVectors, Batches
from obverse.training.loss import MatrixLoss
from obverse.training.plan import Plan, check_topics

if TYPE_CHECKING:
    from obverse.corpus_vectors import CorpusVectors

LOG_NAME = "training.jsonl"


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is trained.

    Attributes:
        epochs: How often every topic is seen.
        batch_size: Topics per step; all their views and documents are in it.
        learning_rate: The highest, after the warm-up.
        warmup: Share of the steps in which the learning rate rises.
        schedule: How it falls then: ``linear`` or ``cosine``, to 0, or ``constant``.
        temperature: Divides the similarities.
        max_negatives: Own negatives of a view in a step: its instruction negatives, then hard ones.
        in_batch: Whether other topics' documents are negatives.
        plain_weight: Weight of queries without instruction in the loss; those with one weigh 1.
        keep_close: Weight of the term that keeps plain queries, and documents where they are trained, at the
            frozen base's vectors.
        freeze_docs: Trains the query side alone; documents keep the base's vectors and an index stays valid.
        freeze_layers: The embeddings and so many first layers are not trained.
        average: Share of the base's weights in the final model, 0 to below 1.
        weight_decay: AdamW's.
        max_grad_norm: Gradients are clipped to it.
        micro_batch: Texts per forward pass.
        precision: ``fp32``, ``bf16``, or ``auto``: bf16 where the machine computes in it.
        seed: Of plan and dropout.
    """

    epochs: int = 4
    batch_size: int = 16
    learning_rate: float = 5e-5
    warmup: float = 0.1
    schedule: str = "linear"
    temperature: float = 0.02
    max_negatives: int | None = 30
    in_batch: bool = True
    plain_weight: float = 1.0
    keep_close: float = 0.0
    freeze_docs: bool = False
    freeze_layers: int = 0
    average: float = 0.0
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    micro_batch: int = 16
    precision: str = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        checks = (
            ("learning_rate", self.learning_rate > 0, "above 0"),
            ("temperature", self.temperature > 0, "above 0"),
            ("warmup", 0 <= self.warmup < 1, "0 to below 1"),
            ("average", 0 <= self.average < 1, "0 to below 1"),
            ("keep_close", self.keep_close >= 0, "0 or more"),
            ("micro_batch", self.micro_batch > 0, "1 or more"),
            (
                "schedule",
                self.schedule in ("linear", "cosine", "constant"),
                "linear, cosine or constant",
            ),
            ("precision", self.precision in ("auto", "fp32", "bf16"), "auto, fp32 or bf16"),
        )
        for name, right, allowed in checks:
            if not right:
                raise SettingError(f"{name} is {getattr(self, name)!r}", fix=f"Give {allowed}")


def train(
    topics: Iterable[Topic],
    *,
    base: str,
    out: str | os.PathLike[str],
    max_tokens: int | None = None,
    template: Template | None = None,
    threads: int | None = None,
    device: str | None = None,
    vectors: CorpusVectors | None = None,
    **settings: Any,
) -> Path:
    """Trains an encoder on topics and returns its folder, which plain sentence-transformers loads.

    Args:
        topics: Topics with their documents.
        base: The encoder to start from: a folder, a hub name, or ``all-MiniLM-L6-v2``.
        out: The model's folder. It appears when training has ended; an older one is replaced only then.
        max_tokens: Token limit of queries and documents; by default the base's own.
        template: How inputs are built; by default the base's own.
        threads: Torch threads on a CPU.
        device: Where to train.
        vectors: Document vectors of the frozen base, to be reused with ``freeze_docs``.
        **settings: See :class:`Settings`.

    Raises:
        SettingError: If a setting makes no sense.
        InputError: If a query alone is longer than the token limit.
    """
    chosen = _settings(settings)
    rows = list(topics)
    check_topics(rows)
    by_id = {topic.topic_id: topic for topic in rows}
    plan = Plan(tuple(by_id), chosen.batch_size, chosen.epochs, chosen.seed)
    encoder = load_encoder(
        base, template=template, max_tokens=max_tokens, device=device, threads=threads
    )
    student = Encoder(
        base,
        load_model(base, device=device),
        encoder.template,
        encoder.max_tokens,
        encoder.batch_size,
    )
    student.model.max_seq_length = student.max_tokens
    batches = Batches(
        by_id,
        plan,
        student,
        max_negatives=chosen.max_negatives,
        in_batch=chosen.in_batch,
        plain_weight=chosen.plain_weight,
    )
    loss = MatrixLoss(
        student.model,
        temperature=chosen.temperature,
        keep_close=chosen.keep_close,
        frozen_docs=_freeze_docs(rows, encoder, batches, vectors) if chosen.freeze_docs else None,
        micro_batch=chosen.micro_batch,
    )
    if chosen.keep_close:
        batches.base = _base_vectors(rows, encoder, with_docs=not chosen.freeze_docs)
    _freeze_layers(student.model, chosen.freeze_layers)
    target = Path(out)
    work = target.with_name(f".{target.name}.part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        _fit(student.model, batches, loss, chosen, work)
        _average(student.model, encoder.model, chosen.average)
        _save(student, encoder, work, chosen, batches, base)
        _replace(work, target)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return target


def _settings(given: dict[str, Any]) -> Settings:
    unknown = set(given) - set(Settings.__dataclass_fields__)
    if unknown:
        raise SettingError(
            f"unknown setting {min(unknown)!r}",
            fix=f"Known: {', '.join(Settings.__dataclass_fields__)}",
        )
    return Settings(**given)


def _freeze_docs(
    topics: Sequence[Topic], encoder: Encoder, batches: Batches, vectors: CorpusVectors | None
) -> torch.Tensor:
    """Encodes every distinct document once; all of them are then candidates of every query."""
    from obverse.corpus_vectors import CorpusVectors

    docs: dict[int, Doc] = {}
    for topic in topics:
        for doc in topic.docs:
            docs.setdefault(text_uid(encoder.template.doc(doc)), doc)
    batches.frozen = {uid: encoder.template.doc(doc) for uid, doc in docs.items()}
    known = vectors if vectors is not None else CorpusVectors(encoder)
    return torch.from_numpy(known.of(list(docs.values()))).to(encoder.model.device)


def _base_vectors(topics: Sequence[Topic], encoder: Encoder, *, with_docs: bool) -> BaseVectors:
    queries = [
        encoder.template.query(topic.query) for topic in topics if topic.plain_view is not None
    ]
    found = BaseVectors(_by_text(queries, encoder, "query"))
    if with_docs:
        texts = [encoder.template.doc(doc) for topic in topics for doc in topic.docs]
        found.docs = _by_text(texts, encoder, "document")
    return found


def _by_text(texts: Sequence[str], encoder: Encoder, task: str) -> dict[str, torch.Tensor]:
    distinct = sorted(set(texts), key=len)
    rows = torch.from_numpy(encoder.encode(distinct, task=task))
    return dict(zip(distinct, rows, strict=True))


def _freeze_layers(model: SentenceTransformer, count: int) -> None:
    if not count:
        return
    network = model[0].auto_model
    layers = getattr(getattr(network, "encoder", network), "layer", None) or getattr(
        network, "layers", None
    )
    if layers is None or count > len(layers):
        raise SettingError(
            f"freeze_layers is {count} and the model has {0 if layers is None else len(layers)} layers",
            fix="Lower it",
        )
    for module in (
        network.get_input_embeddings(),
        getattr(network, "embeddings", None),
        *layers[:count],
    ):
        for parameter in module.parameters() if module is not None else ():
            parameter.requires_grad = False


class _Trainer(SentenceTransformerTrainer):  # type: ignore[misc]
    """The trainer of sentence-transformers over a data set of steps; each row is one batch of the plan."""

    def get_batch_sampler(self, dataset: Any, batch_size: int, drop_last: bool, **_: Any) -> Any:
        return torch.utils.data.BatchSampler(
            torch.utils.data.SequentialSampler(dataset), 1, drop_last=False
        )


class _Watch(TrainerCallback):  # type: ignore[misc]
    """Writes the loss log and moves the progress bar."""

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path, self.plan = path, plan
        self.meter = Meter("train", len(plan))
        self.began = time.monotonic()

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any
    ) -> None:
        if logs is None or "loss" not in logs:
            return
        row = {
            "step": state.global_step,
            "epoch": round(state.global_step / self.plan.steps_per_epoch, 4),
            "loss": logs["loss"],
            "learning_rate": logs.get("learning_rate"),
            "grad_norm": logs.get("grad_norm"),
            "seconds": round(time.monotonic() - self.began, 2),
        }
        parts = {key: value for key, value in logs.items() if key in ("contrast", "keep_close")}
        with self.path.open("ab") as stream:
            stream.write(to_json(row | parts) + b"\n")

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.meter.move()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.meter.stop()


def _fit(
    model: SentenceTransformer, batches: Batches, loss: MatrixLoss, settings: Settings, work: Path
) -> None:
    steps = len(batches.plan)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(work / "checkpoints"),
        num_train_epochs=1,
        per_device_train_batch_size=1,
        learning_rate=settings.learning_rate,
        warmup_steps=round(settings.warmup * steps),
        lr_scheduler_type=settings.schedule,
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        bf16=_use_bf16(settings.precision, model.device.type),
        use_cpu=model.device.type == "cpu",
        seed=settings.seed,
        data_seed=settings.seed,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_num_workers=0,
        dataloader_pin_memory=model.device.type == "cuda",
    )
    watch = _Watch(work / LOG_NAME, batches.plan)
    trainer = _Trainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict({"step": list(range(steps))}),
        loss=loss,
        data_collator=batches,
        callbacks=[watch],
    )
    for unwanted in (
        PrinterCallback,
        SentenceTransformerModelCardCallback,
    ):  # ours says what there is to say
        trainer.remove_callback(unwanted)
    trainer.train()
    if batches.lost.instructions:
        say(
            f"train: {batches.lost.instructions:,} instructions were shortened to the limit of "
            f"{batches.encoder.max_tokens} tokens ({batches.lost.instruction_tokens:,} tokens lost); no query was"
        )
    shutil.rmtree(work / "checkpoints", ignore_errors=True)


def _use_bf16(precision: str, device: str) -> bool:
    if precision == "fp32":
        return False
    on_gpu = device == "cuda"
    able = (
        torch.cuda.is_bf16_supported() if on_gpu else torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )
    if precision == "bf16" and not able:
        raise SettingError(
            "this machine does not compute in bf16", fix="Use --precision fp32 or auto"
        )
    return bool(able)


def _average(model: SentenceTransformer, base: SentenceTransformer, share: float) -> None:
    if not share:
        return
    with torch.no_grad():
        for trained, old in zip(model.parameters(), base.parameters(), strict=True):
            trained.lerp_(old, share)


def _save(
    student: Encoder, encoder: Encoder, work: Path, settings: Settings, batches: Batches, base: str
) -> None:
    model = student.model
    if settings.freeze_docs:
        # The base's document side goes into the folder too: one folder then answers for queries and documents.
        router = Router.for_query_document(
            query_modules=list(model), document_modules=list(encoder.model), default_route="query"
        )
        model = SentenceTransformer(modules=[router], device=str(model.device))
        model.max_seq_length = student.max_tokens
    # The template holds all that is put before a text; a prompt in the model's own settings would come on top.
    model.prompts = {"query": "", "document": ""}
    model.default_prompt_name = None
    model.save(str(work), create_model_card=False)
    row = {
        "version": __version__,
        "base": base,
        "template": template_row(student.template),
        "template_digest": student.template.digest,
        "max_tokens": student.max_tokens,
        "settings": {name: getattr(settings, name) for name in settings.__dataclass_fields__},
        "topics": len(batches.topics),
        "steps": len(batches.plan),
    }
    write_json(work / FILE_NAME, row)


def _replace(work: Path, target: Path) -> None:
    """Puts the finished folder in the place of the old one."""
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    work.rename(target)
    shutil.rmtree(old, ignore_errors=True)
