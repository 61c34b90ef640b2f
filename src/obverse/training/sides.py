"""The encoder that is trained: which layers learn, which side of an asymmetric model, and what is saved."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.errors import MissingExtra, ModelError, SettingError
from obverse.files import read_json, write_json
from obverse.inputs import FILE_NAME, Template, template_row
from obverse.training.model_names import FRESH, is_side

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


def is_asymmetric(model: SentenceTransformer) -> bool:
    """Whether queries and documents take different routes."""
    routes = getattr(model[0], "sub_modules", {})
    return "query" in routes and "document" in routes


def side(model: SentenceTransformer, name: str) -> SentenceTransformer:
    """Returns one side (``query`` or ``document``) as a model of its own; a symmetric model is both sides."""
    if not is_asymmetric(model):
        return model
    from sentence_transformers import SentenceTransformer

    modules = [*model[0].sub_modules[name], *list(model.children())[1:]]
    return SentenceTransformer(modules=modules, device=str(model.device))


def asymmetric(query: SentenceTransformer, document: SentenceTransformer) -> SentenceTransformer:
    """Returns one model of two sides; ``encode`` without a task takes the query's."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Router

    router = Router.for_query_document(
        query_modules=list(query.children()),
        document_modules=list(document.children()),
        default_route="query",
    )
    return SentenceTransformer(modules=[router], device=str(query.device))


def freeze_layers(model: SentenceTransformer, count: int) -> None:
    """Takes the gradient from the embeddings and the first ``count`` layers.

    Raises:
        SettingError: If the encoder has no more layers than that.
        ModelError: If its layers cannot be found.
    """
    if not count:
        return
    from torch import nn

    transformer = model.transformers_model
    stacks = (
        []
        if transformer is None
        else [m for m in transformer.modules() if isinstance(m, nn.ModuleList) and len(m) > 0]
    )
    if transformer is None or not stacks:
        raise ModelError(
            "its layers cannot be found, so none can be frozen", fix="Leave --freeze-layers away"
        )
    layers = max(stacks, key=lambda stack: sum(p.numel() for p in stack.parameters()))
    if count >= len(layers):
        raise SettingError(
            f"{count} layers are to be frozen, and the encoder has {len(layers)}",
            fix=f"Freeze at most {len(layers) - 1}",
        )
    below = [getattr(transformer, "embeddings", transformer.get_input_embeddings())]
    for part in [*below, *list(layers)[:count]]:
        part.requires_grad_(False)


def add_lora(model: SentenceTransformer, rank: int, alpha: int | None, dropout: float) -> None:
    """Adds low-rank adapters to the attention's and feed-forward's linear layers; only they learn.

    After Hu et al. (2021), *LoRA: Low-Rank Adaptation of Large Language Models*, https://arxiv.org/abs/2106.09685.

    Raises:
        MissingExtra: If peft is missing, or does not fit the installed transformers.
    """
    try:
        from peft import LoraConfig, TaskType
    except ImportError:
        raise MissingExtra("peft", "lora", "training with LoRA") from None
    setting = LoraConfig(
        task_type=TaskType.FEATURE_EXTRACTION,
        r=rank,
        lora_alpha=alpha or 2 * rank,
        lora_dropout=dropout,
        target_modules="all-linear",
    )
    try:
        model.add_adapter(setting)
    except ImportError as error:
        raise ModelError(
            f"the installed peft does not fit transformers ({str(error).splitlines()[0][:160]})",
            fix="Install the pair that works: pip install 'obverse[lora]'",
        ) from None


def merged(learner: SentenceTransformer, base: SentenceTransformer) -> SentenceTransformer:
    """Puts the adapters' products into the base's weights and returns it: an ordinary model, as fast as the base."""
    import torch

    changed = dict(base.named_parameters())
    with torch.no_grad():
        for name, module in learner.named_modules():
            if hasattr(module, "get_delta_weight"):
                delta = module.get_delta_weight("default")
                weight = changed[f"{name}.weight"]
                weight.add_(delta.to(weight.dtype))
    return base


def weights_digest(model: SentenceTransformer) -> str:
    """Returns a short hash of a model's weights: of shapes, and of some values of each tensor."""
    found = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        values = tensor.detach().flatten()
        sample = values[:: max(1, len(values) // 64)].float().cpu().numpy()
        found.update(f"{name}{tuple(tensor.shape)}".encode() + sample.tobytes())
    return found.hexdigest()[:16]


def refuse_file(out: Path) -> None:
    """Raises SettingError if a model's folder cannot be made because it, or one above it, is a file."""
    there = next((path for path in (out, *out.parents) if path.exists()), out)
    if there.exists() and not there.is_dir():
        raise SettingError("is a file", where=str(there), fix="Give a folder with --out")


def save_model(
    model: SentenceTransformer, out: Path, template: Template, max_tokens: int, card: str
) -> None:
    """Writes the model folder; a model that stood there is replaced only when the new one is whole on disk.

    The base's own prompts are taken out of the saved config: the template of ``obverse.json`` is what was trained.

    Raises:
        SettingError: If something stands in the way that is not of a model trained here; nothing is replaced.
    """
    fresh = out / FRESH
    shutil.rmtree(fresh, ignore_errors=True)
    model.eval()
    model.prompts, model.default_prompt_name = {}, None
    model.max_seq_length = max_tokens
    model.save_pretrained(str(fresh), create_model_card=False)
    (fresh / "README.md").write_text(card, encoding="utf-8")
    write_json(fresh / FILE_NAME, {"template": template_row(template), "max_tokens": max_tokens})
    ours = (out / FILE_NAME).is_file()
    old = set(_model_parts(out)) if ours else set()
    new = {path.name for path in fresh.iterdir()}
    if not ours and (there := sorted(name for name in new if (out / name).exists())):
        shutil.rmtree(fresh)
        raise SettingError(
            f"{', '.join(there)} would be replaced by the model and is not of one",
            where=str(out),
            fix="Move it away and run the same command again: the last checkpoint stays",
        )
    # What says that it is obverse's comes first, and what makes it a model last: killed in between, the folder is
    # neither taken for somebody else's model nor for a whole one.
    for name in sorted(new, key=lambda name: (name != FILE_NAME, name == "modules.json", name)):
        target = out / name
        if target.is_dir():
            shutil.rmtree(target)
        (fresh / name).replace(target)
    for name in old - new:
        path = out / name
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    fresh.rmdir()


def _model_parts(folder: Path) -> Iterator[str]:
    """The files and folders of a model that a new one of another kind would leave lying about."""
    try:
        modules: list[Mapping[str, Any]] = read_json(folder / "modules.json")
    except Exception:
        return
    for module in modules:
        name = str(module.get("path") or "").split("/")[0]
        if name and not name.startswith("."):
            yield name
    yield from ("model.safetensors", "router_config.json", "adapter_config.json")
    yield "adapter_model.safetensors"
    yield from (path.name for path in folder.iterdir() if is_side(path.name) and path.is_dir())
