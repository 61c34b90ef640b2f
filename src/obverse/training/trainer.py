"""Trains an encoder on topics: all views of a topic in one batch, each distinct document encoded once."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from obverse.cards.model_card import base_name, model_card
from obverse.errors import InputError, SettingError
from obverse.files import read_json, write_json
from obverse.inputs import Template
from obverse.ledger import ledger
from obverse.log import say
from obverse.models import PACKAGED, load_model, need_threads
from obverse.provenance import versions
from obverse.records import Topic
from obverse.training.checkpoints import (
    differences,
)
from obverse.training.incoming import say_what_comes_in
from obverse.training.model_names import LOG, remove_run
from obverse.training.out_folder import alone, own_folder, start_of
from obverse.training.processes import (
    one_voice,
    own_device,
    processes,
)
from obverse.training.run import Run, prepare
from obverse.training.settings import (
    PoolEncoding,
    Precision,
    Schedule,
    settings_from,
    without_effect,
)
from obverse.training.sides import asymmetric, merged, save_model, side
from obverse.training.steps import need_packages
from obverse.training.stopping import refuse_broken, refuse_unmoved
from obverse.training.topic_set import trainable
from obverse.training.watching import Watch, best_folder, watch_for

if TYPE_CHECKING:
    from obverse.corpus_vectors import CorpusVectors

MADE = "training.made.json"


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training run came to.

    Attributes:
        folder: The model folder.
        steps: Optimiser steps of the whole run.
        loss: The mean loss over the last tenth of the steps.
        seconds: How long this call took.
    """

    folder: Path
    steps: int
    loss: float
    seconds: float


def train(
    topics: Iterable[Topic],
    *,
    base: str = PACKAGED,
    out: str | os.PathLike[str],
    template: Template | str | None = None,
    epochs: float = 1,
    steps: int | None = None,
    batch_size: int = 16,
    learning_rate: float | None = None,
    temperature: float = 0.02,
    max_tokens: int = 128,
    freeze_docs: bool = False,
    freeze_layers: int = 0,
    keep_close: float | None = None,
    contrast_instructions: float = 0.0,
    contrast_queries: float = 0.0,
    margin_weight: float = 0.0,
    margin: float = 0.1,
    distill: float = 0.0,
    teacher_temperature: float = 1.0,
    matryoshka: Iterable[int] = (),
    matryoshka_weight: float = 0.5,
    plain_weight: float = 1.0,
    plain_share: float | str = 1.0,
    instructed_share: float | str = 1.0,
    source_weights: Mapping[str, float | str] | None = None,
    plain_per_batch: int | None = None,
    keep_last: bool = True,
    max_views: int | None = None,
    negatives: int = 30,
    instruction_negatives: int = 3,
    pick: Literal["random", "first"] = "random",
    in_batch: bool | Mapping[str, bool] = True,
    pool_negatives: int | None = None,
    pool_encoding: PoolEncoding = "frozen",
    warmup: float = 0.1,
    schedule: Schedule = "linear",
    weight_decay: float = 0.01,
    max_grad_norm: float = 1.0,
    average: float = 0.0,
    average_last: float = 0.0,
    lora: int = 0,
    lora_alpha: int | None = None,
    lora_dropout: float = 0.0,
    gradient_checkpointing: bool = False,
    chunked: bool = False,
    keep_tokens: int = 0,
    micro_tokens: int | None = None,
    precision: Precision = "auto",
    device: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    save_every: int | None = None,
    restart: bool = False,
    tensorboard: bool = False,
    vectors: CorpusVectors | None = None,
    held_out: Iterable[Topic] | None = None,
    watch_every: int | None = None,
    guard_loss: float = 0.01,
) -> Trained:
    """Trains an encoder and writes it to a folder that ``SentenceTransformer(folder)`` loads.

    Run it again after a stop and it goes on from the last whole checkpoint; the weights are those of an
    uninterrupted run. Under ``torchrun`` the processes share out each batch.

    Args:
        topics: Topics with their documents.
        base: The encoder to start from: a folder, a hub name, or ``all-MiniLM-L6-v2``.
        out: The model folder. ``training.jsonl`` in it holds step, loss, learning rate.
        template: How inputs are built: a :class:`Template`, or a name such as ``e5``; by default the base's.
        epochs: How often each topic is seen.
        steps: So many steps of full batches instead of ``epochs``.
        batch_size: Topics per step, over all processes; all views of a topic come along.
        learning_rate: The highest learning rate; by default 1.2e-4 with ``freeze_docs``, else 5e-5.
        temperature: Divides the similarities.
        max_tokens: The limit of an input, special tokens included.
        freeze_docs: Train the query side alone against the base's document vectors: existing indexes stay valid.
        freeze_layers: The embeddings and this many first layers do not learn.
        keep_close: Weight of the distance of plain queries and documents to the frozen base; by default 10 with
            ``freeze_docs``, else 0.
        contrast_instructions: Weight of documents against the topic's other views.
        contrast_queries: Weight of documents against other topics' queries.
        margin_weight: Weight of the margin on documents that swap between views.
        margin: That margin, in cosine.
        distill: Weight of a teacher's scores, ``checks["teacher"]`` of the views.
        teacher_temperature: Divides the teacher's scores.
        matryoshka: Shorter widths trained along.
        matryoshka_weight: Their share of the loss.
        plain_weight: Weight of plain rows; instructed ones weigh 1.
        plain_share: The share of topics whose plain view comes along. ``"0.8:0.2"`` moves in a straight line from
            the first step to the last, here and in the next two.
        instructed_share: The share of topics whose instructed views come along, where they have a plain one too.
        source_weights: The weight of rows in InfoNCE's mean by their source; ``""`` is any other.
        plain_per_batch: Plain-only topics added to each batch; by default they are topics like others.
        keep_last: Whether what is left at the end makes a last, smaller batch; else it is left out.
        max_views: Instructed views of a topic in a batch at most.
        negatives: Negatives per view at most, instruction negatives first.
        instruction_negatives: Instruction negatives per view at most.
        pick: How the hard negatives are picked: ``random`` by seed, epoch and topic, or the ``first``.
        in_batch: Whether other topics' documents are negatives; or that by source of the view.
        pool_negatives: Further documents per batch from other topics; by default none, or all with frozen documents.
        pool_encoding: Whether those keep the ``frozen`` base's vectors or are encoded anew (``current``).
        warmup: The share of steps in which the learning rate rises.
        schedule: How it falls afterwards: ``linear``, ``cosine``, ``constant``.
        weight_decay: Of AdamW.
        max_grad_norm: The gradient is cut to this length; 0 for no limit.
        average: The base's share in the final weights.
        average_last: The last share of steps whose weights are averaged.
        lora: The rank of low-rank adapters; 0 trains all weights.
        lora_alpha: Their scale; by default twice the rank.
        lora_dropout: Their dropout.
        gradient_checkpointing: Recompute activations inside the encoder.
        chunked: Encode twice in micro-batches instead of keeping activations: any batch size in bounded memory.
        keep_tokens: With ``chunked``, the activations of so many tokens are kept all the same: faster. With 0, a part
            of those of 4,096 tokens a thread, where encoders run without padding.
        micro_tokens: Tokens per micro-batch at most; by default 1024, and 512 if ``chunked``.
        precision: ``auto`` is bf16 where the machine has it, else fp32.
        device: Where to train; by default the best there is.
        threads: Torch threads on a CPU.
        seed: Every draw depends on it.
        save_every: Steps between checkpoints; by default a tenth of the run, at least 25; removed at its end.
        restart: Begin anew even if a checkpoint is there.
        tensorboard: Write TensorBoard files too.
        vectors: Document vectors of the base, to be reused.
        held_out: Topics to look at during training; the best step's weights are kept.
        watch_every: Steps between looks; by default a fifth of the run.
        guard_loss: How much plain nDCG@10 on them the best step may lose against the base.

    Raises:
        SettingError: If a setting makes no sense, or a checkpoint belongs to other data or settings.
        InputError: If the topics cannot be trained on.
        ModelError: If the base cannot be loaded or trained.
    """
    given = dict(locals())
    settings = settings_from(given)
    for name, value in (("save every", save_every), ("watch every", watch_every)):
        if value is not None and value < 1:
            raise SettingError(f"{name} is {value}", fix="Give 1 or more steps")
    if not math.isfinite(guard_loss):
        raise SettingError(f"guard loss is {guard_loss}", fix="Give a number, such as 0.01")
    need_threads(threads)
    need_packages(tensorboard=tensorboard)
    began = time.monotonic()
    home = own_folder(Path(out), base)
    with one_voice():
        for line in without_effect(given):
            say(f"train: {line}")
        # Faults of the input are said before the seconds that torch takes to load.
        topics = list(trainable(topics))
        held_out = None if held_out is None else _held_out(held_out)
        run = prepare(
            topics,
            settings,
            base=base,
            out=home,
            template=template,
            device=own_device(device),
            threads=threads,
            vectors=vectors,
        )
        say_what_comes_in(run)
        watch = None
        if held_out is not None:
            watch = watch_for(run, held_out, every=watch_every, guard_loss=guard_loss)
        run.identity["held_out"] = None if watch is None else watch.identity
        if not restart and (done := _finished(run)) is not None:
            return done
        with alone(run):
            start = start_of(run, restart=restart)
            return _train(run, began, watch, start, save_every=save_every, tensorboard=tensorboard)


def _held_out(topics: Iterable[Topic]) -> list[Topic]:
    try:
        return list(trainable(topics))
    except InputError as error:
        raise error.at("held-out topics") from None


def _finished(run: Run) -> Trained | None:
    """The result of an earlier call, if the same run stands finished in the folder."""
    if not (run.out / MADE).is_file() or not (run.out / "modules.json").is_file():
        return None
    made = read_json(run.out / MADE)
    if found := differences(made.get("run") or {}, run.identity):
        say(f"train: {run.out} holds another finished run: {'; '.join(found)}")
        return None
    say(f"train: {run.out} holds this very run, finished; --restart trains it again")
    return Trained(run.out, made["steps"], made["loss"], 0.0)


def _train(
    run: Run,
    began: float,
    watch: Watch | None,
    start: Path | None,
    *,
    save_every: int | None,
    tensorboard: bool,
) -> Trained:
    from obverse.training.steps import make_trainer

    trainer = make_trainer(run, watch, save_every=save_every, tensorboard=tensorboard)
    trainer.train(resume_from_checkpoint=str(start) if start else None)
    refuse_unmoved(run)
    losses = trainer.losses
    tail = losses[-max(1, len(losses) // 10) :]
    done = Trained(run.out, len(run.plan), sum(tail) / max(1, len(tail)), time.monotonic() - began)
    if processes().rank == 0:
        _finish(run, trainer, done, keep=save_every is not None)
    trainer.wait()
    return done


def _finish(run: Run, trainer: Any, done: Trained, *, keep: bool) -> None:
    from obverse.training.steps import load_weights

    if run.settings.average or run.settings.average_last:
        trainer.averages.apply()
        if trainer.watch is not None:
            say("train: the averaged weights are kept, not those of the best step")
    elif trainer.watch is not None and (best := trainer.watch.best()) not in (None, done.steps):
        say(f"train: the weights after step {best} are kept: the best on the held-out topics")
        load_weights(run.learner, best_folder(run))
    refuse_broken(run.forward)
    model = run.learner
    if run.settings.lora:
        model = merged(model, side(load_model(run.base, device=str(model.device)), "query"))
    if run.settings.freeze_docs:
        model = asymmetric(model, run.docs_forward.module)
    made = {
        "command": "train",
        "run": run.identity,
        "base": run.base,
        "base_name": base_name(run.base),
        "trained_on": ledger(run.topics.topics, tokens=None).to_json(hashes=False),
        "steps": done.steps,
        "loss": done.loss,
        "seconds": round(done.seconds, 1),
        "versions": versions(),
    }
    card = model_card(run.out.resolve().name, made, run.template, run.settings.max_tokens)
    # From here on the folder holds the earlier run no longer; killed, this one is trained to its end again.
    (run.out / MADE).unlink(missing_ok=True)
    save_model(model, run.out, run.template, run.settings.max_tokens, card)
    shutil.copyfile(run.home / LOG, run.out / LOG)
    write_json(run.out / MADE, made)
    if not keep:
        remove_run(run.home)
    say(
        f"train: {done.steps:,} steps, loss {done.loss:.3f} (mean of the last tenth), "
        f"{done.seconds:.0f} s; model in {run.out}"
    )
