"""The sentence-transformers trainer with our plan, collator and loss in it."""

from __future__ import annotations

import importlib.util
import logging
import math
import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.errors import MissingExtra, SettingError
from obverse.log import progress
from obverse.sampling import seed_for
from obverse.training.allocation import keep_freed_memory
from obverse.training.averaging import Averages
from obverse.training.checkpoints import how_computed, write_state
from obverse.training.collator import Step
from obverse.training.gradient import Processes, is_sharded, step_gradient, summed
from obverse.training.log_file import LogFile
from obverse.training.loss import Losses, objective
from obverse.training.packed import packed_encoder
from obverse.training.processes import processes
from obverse.training.run import Run
from obverse.training.stopping import Guard
from obverse.training.watching import Watch, best_folder, by_label

if TYPE_CHECKING:
    from torch import Tensor


class Order:
    """The steps of a run as a sampler of one-step batches, with a progress bar."""

    def __init__(self, total: int, show: bool) -> None:
        self.total, self.show = total, show

    def __iter__(self) -> Iterator[list[int]]:
        steps: Iterator[int] = iter(range(self.total))
        if self.show:
            steps = progress(range(self.total), "train", self.total)
        for step in steps:
            yield [step]

    def __len__(self) -> int:
        return self.total


def need_packages(*, tensorboard: bool) -> None:
    """Raises MissingExtra if a package is not installed that training needs."""
    for name in ("accelerate", "datasets"):
        if importlib.util.find_spec(name) is None:
            raise MissingExtra(name, "train", "training")
    if tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise MissingExtra("tensorboard", "tensorboard", "writing TensorBoard files")


def make_trainer(
    run: Run, watch: Watch | None = None, *, save_every: int | None, tensorboard: bool
) -> Any:
    """Returns the trainer of a run."""
    if run.forward.device.type == "cpu":
        keep_freed_memory()
    trainer = _trainer_class()(run, _arguments(run, save_every), watch)
    trainer.log_file.tensorboard = tensorboard
    return trainer


def _arguments(run: Run, save_every: int | None) -> Any:
    from sentence_transformers import SentenceTransformerTrainingArguments

    settings, total = run.settings, len(run.plan)
    if save_every is not None and save_every < 1:
        raise SettingError(f"save every is {save_every}", fix="Give 1 or more steps")
    return SentenceTransformerTrainingArguments(
        output_dir=str(run.home),
        max_steps=total,
        per_device_train_batch_size=1,
        learning_rate=settings.learning_rate,
        warmup_steps=int(settings.warmup * total),
        lr_scheduler_type=settings.schedule
        if settings.schedule != "constant"
        else "constant_with_warmup",
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        optim="adamw_torch_fused",
        fp16=run.forward.precision == "fp16",
        use_cpu=run.forward.device.type == "cpu",
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="steps",
        save_steps=save_every or max(25, math.ceil(total / 10)),
        save_total_limit=2,
        report_to=[],
        disable_tqdm=True,
        seed=settings.seed % 2**32,
        dataloader_num_workers=0,
        dataloader_pin_memory=False,
    )


@lru_cache(maxsize=1)
def _trainer_class() -> Any:
    from sentence_transformers import SentenceTransformerTrainer
    from torch import nn
    from torch.utils.data import DataLoader
    from transformers.trainer_callback import PrinterCallback

    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    # The library's own arguments, passed on with several processes under a name that grows old.
    warnings.filterwarnings("ignore", message="`broadcast_buffers` is deprecated")

    class Loss(nn.Module):
        """Holds the encoder where the trainer looks for what it optimises."""

        def __init__(self, model: nn.Module) -> None:
            super().__init__()
            self.model = model

    class Trainer(SentenceTransformerTrainer):  # type: ignore[misc]
        """Runs steps of the plan; everything else is the library's."""

        def __init__(self, run: Run, args: Any, watch: Watch | None) -> None:
            args._n_gpu = min(args.n_gpu, 1)
            self.run, self.watch, self.guard = run, watch, Guard(run)
            self.seen: dict[str, Any] = {}
            self.losses: list[float] = []
            self.steps = StepLoss(run, processes())
            super().__init__(
                model=run.learner, args=args, loss=Loss(run.learner), data_collator=run.collator
            )
            self.remove_callback(PrinterCallback)
            self.log_file = LogFile(run, self.steps.who)
            last = run.settings.average_last
            first = math.floor(len(run.plan) * (1 - last)) + 1 if last else None
            self.averages = Averages(run.learner, run.settings.average, first)

        def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
            """The card is written by obverse."""

        def get_train_dataloader(self) -> DataLoader[Step]:
            total = len(self.run.plan)
            return DataLoader(
                range(total),  # type: ignore[arg-type]
                batch_sampler=Order(total, self.steps.who.rank == 0),
                collate_fn=self.run.collator,
            )

        def _get_num_items_in_batch(self, batch_samples: list[Any], device: Any) -> None:
            return None

        def floating_point_ops(self, inputs: Any) -> int:
            return 0

        def training_step(self, model: Any, inputs: Step, num_items_in_batch: Any = None) -> Tensor:
            if inputs.batch.step == self.state.global_step == 0:
                self._look(0)
            self.guard.before(inputs)
            scaler = getattr(self.accelerator, "scaler", None)
            value, losses = self.steps(inputs, scaler.scale if scaler else None)
            self.guard.after(inputs, float(value), losses)
            terms = {name: float(term.detach()) for name, term in losses.terms.items()}
            codes = inputs.matrix.codes.to(value.device)
            self.seen = by_label(losses, codes, self.run.settings.terms.temperature)
            self.seen |= {"terms": terms} if len(terms) > 1 else {}
            return value

        def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
            super().log(logs, start_time)
            if "loss" in logs:
                self.losses.append(logs["loss"])
                self.guard.rate(self.state.global_step, logs["learning_rate"])
                self.log_file.add(self.state.global_step, logs, self.seen)
                # Before the step's checkpoint, so that going on from that finds the look and the best weights done.
                self._look(self.state.global_step)

        def _load_from_checkpoint(self, checkpoint_path: str, model: Any = None) -> None:
            load_weights(self.run.learner, Path(checkpoint_path))
            self.averages.load(Path(checkpoint_path))
            step = int(checkpoint_path.rpartition("-")[2])
            self.log_file.go_back(step, self.losses)
            if self.watch is not None:
                self.watch.go_back(step)

        def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
            folder = Path(output_dir or self.args.output_dir)
            save_weights(self.run.learner, folder)
            self.averages.save(folder)

        def _save_checkpoint(self, model: Any, trial: Any) -> None:
            super()._save_checkpoint(model, trial)
            self.wait()
            if self.steps.who.rank == 0:
                self._state_of_data()
            self.wait()

        def _state_of_data(self) -> None:
            plan, step = self.run.plan, self.state.global_step
            epoch, topics = plan.seen(step)
            write_state(
                self.run.home / f"checkpoint-{step}",
                self.run.identity,
                {
                    "step": step,
                    "steps": len(plan),
                    "epoch": epoch,
                    "topics_of_epoch": topics,
                    "topics_seen": epoch * plan.epoch_size + topics,
                    **how_computed(),
                },
            )

        def wait(self) -> None:
            """Waits for all processes."""
            self.accelerator.wait_for_everyone()

        def _maybe_log_save_evaluate(self, *args: Any, **kwargs: Any) -> None:
            self.averages.after(self.state.global_step)
            super()._maybe_log_save_evaluate(*args, **kwargs)

        def _look(self, step: int) -> None:
            """Only the first process looks; the others wait for it."""
            if self.watch is None or not self.watch.due(step):
                return
            if self.steps.who.rank == 0:
                if self.watch.look(step):
                    save_weights(self.run.learner, best_folder(self.run))
                self.log_file.draw(step, {"held_out": self.watch.looks[step]})
            self.watch.looks.setdefault(step, {})
            self.wait()

    return Trainer


def save_weights(model: Any, folder: Path) -> None:
    """Writes the weights that learn, and nothing else: a checkpoint is for going on."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    learned = {
        name: p.detach().contiguous().clone()
        for name, p in model.named_parameters()
        if p.requires_grad
    }
    save_file(learned, str(folder / "learned.safetensors"))


def load_weights(model: Any, folder: Path) -> None:
    """Puts the weights of :func:`save_weights` back."""
    import torch
    from safetensors.torch import load_file

    learned = load_file(str(folder / "learned.safetensors"))
    own = dict(model.named_parameters())
    with torch.no_grad():
        for name, value in learned.items():
            own[name].copy_(value)


class StepLoss:
    """Computes one step: vectors, matrix, loss, gradient."""

    def __init__(self, run: Run, who: Processes) -> None:
        self.run, self.who = run, who
        if run.forward.precision == "fp32" and not run.settings.gradient_checkpointing:
            run.forward.packed = None if is_sharded(run.learner) else packed_encoder(run.learner)

    def __call__(self, step: Step, scale: Any = None) -> tuple[Tensor, Losses]:
        """Adds the step's gradient to the weights; returns the loss and its terms."""
        import torch

        run, settings = self.run, self.run.settings
        device = run.forward.device
        run.learner.train()
        fixed = self._fixed(step)
        matrix = _on(step.matrix, device)
        count, found = len(step.rows), Losses()

        def loss(vectors: Tensor) -> Tensor:
            nonlocal found
            docs = vectors[count:]
            if fixed is not None:
                docs = torch.cat([docs, fixed])
            found = objective(vectors[:count], docs, matrix, settings.terms)
            return found.total

        value = step_gradient(
            run.forward,
            step.texts,
            loss,
            processes=self.who,
            chunked=settings.chunked,
            keep_tokens=settings.keep_tokens,
            scale=scale,
            seed=seed_for(settings.seed, "dropout", step.batch.step),
        )
        if self.who.count > 1:
            summed(list(run.learner.parameters()))
        return value, found

    def _fixed(self, step: Step) -> Tensor | None:
        if step.unlearned:
            return self.run.forward.frozen(step.unlearned)
        return None if step.fixed is None else step.fixed.to(self.run.forward.device)


def _on(matrix: Any, device: Any) -> Any:
    from dataclasses import fields, replace

    values = {f.name: getattr(matrix, f.name) for f in fields(matrix)}
    return replace(matrix, **{k: v.to(device) for k, v in values.items() if v is not None})
