"""mteb both ways: our encoders as mteb models with their own prompts, and mteb's result files read beside ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from obverse.errors import InputError, MissingExtra
from obverse.files import read_json
from obverse.models import Encoder, Vectors
from obverse.records import Doc


class MtebModel:
    """An encoder as mteb asks for one.

    mteb joins query and instruction itself and leaves a model no say in it; here the two are taken apart again and
    joined by the model's own template, which is what it was trained to read.

    Args:
        encoder: The model.
        joining: ``model`` for the encoder's own template, ``mteb`` for mteb's string.
    """

    def __init__(self, encoder: Encoder, *, joining: str = "model") -> None:
        try:
            from mteb.models.model_meta import ModelMeta
        except ImportError:
            raise MissingExtra("mteb", "mteb", "running mteb") from None
        self.encoder, self.joining = encoder, joining
        self.mteb_model_meta = ModelMeta.create_empty(
            {
                "name": f"obverse/{Path(encoder.name).name}",
                "revision": encoder.template.digest,
                "max_tokens": float(encoder.max_tokens),
                "framework": ["Sentence Transformers"],
            }
        )

    def encode(
        self,
        inputs: Any,
        *,
        task_metadata: Any = None,
        hf_split: str = "",
        hf_subset: str = "",
        prompt_type: Any = None,
        **options: Any,
    ) -> Vectors:
        """Returns the vectors of mteb's batches.

        Returns:
            float32 ``[n, d]``, unit length.
        """
        side = str(getattr(prompt_type, "value", prompt_type))
        texts: list[str] = []
        for batch in inputs:
            texts += self._queries(batch) if side == "query" else self._docs(batch)
        return self.encoder.encode(texts, task="query" if side == "query" else "document")

    def _queries(self, batch: Any) -> list[str]:
        template = self.encoder.template
        instructions = batch.get("instruction")
        if instructions is None or self.joining == "mteb" or "query" not in batch:
            return [template.query(text) for text in batch["text"]]
        return [
            template.query(query, instruction)
            for query, instruction in zip(batch["query"], instructions, strict=True)
        ]

    def _docs(self, batch: Any) -> list[str]:
        """mteb hands over title and text already joined as ``text``, and apart as ``title`` and ``body``."""
        bodies, titles = batch.get("body", batch["text"]), batch.get("title")
        if titles is None or "body" not in batch:
            titles = [""] * len(bodies)
        docs = [
            Doc("", body or "", title or "") for body, title in zip(bodies, titles, strict=True)
        ]
        return [self.encoder.template.doc(doc) for doc in docs]

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Returns the inner products ``[n, m]`` as a torch tensor."""
        import torch

        return torch.as_tensor(np.asarray(embeddings1)) @ torch.as_tensor(np.asarray(embeddings2)).T

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Returns the inner products of rows ``[n]`` as a torch tensor."""
        import torch

        return (
            torch.as_tensor(np.asarray(embeddings1)) * torch.as_tensor(np.asarray(embeddings2))
        ).sum(dim=-1)


def read_mteb_results(place: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Returns the rows of mteb's result files: one per task, split and subset.

    mteb's file says neither how many queries a mean runs over nor how query and instruction were joined; the rows say
    so (``n`` None, ``joining`` "mteb"), and that FollowIR's top-level values mix both instructions.

    Args:
        place: One result file, or a folder that holds some.

    Returns:
        Rows of ``{"model", "task", "split", "subset", "measures", "n", "joining", "version", "beware"}``.

    Raises:
        InputError: If a file is none of mteb's.
    """
    path = Path(place)
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    rows = []
    for file in files:
        if file.name == "model_meta.json":
            continue
        value = read_json(file)
        if not isinstance(value, dict) or "task_name" not in value or "scores" not in value:
            if path.is_dir():
                continue
            raise InputError(
                "is no result file of mteb",
                where=str(file),
                fix="Name a file with task_name and scores",
            )
        rows += _rows_of(value, file)
    if not rows:
        raise InputError("holds no result file of mteb", where=str(place), fix="Check the folder")
    return rows


def _rows_of(value: dict[str, Any], file: Path) -> list[dict[str, Any]]:
    meta = file.parent / "model_meta.json"
    model = read_json(meta).get("name") if meta.is_file() else file.parent.parent.name
    rows = []
    for split, subsets in value["scores"].items():
        for scores in subsets:
            measures = {k: v for k, v in scores.items() if isinstance(v, int | float)}
            groups = {
                f"{group}.{k}": v
                for group in ("og", "changed")
                for k, v in (scores.get(group) or {}).items()
                if isinstance(v, int | float)
            }
            rows.append(
                {
                    "model": model,
                    "task": value["task_name"],
                    "split": split,
                    "subset": scores.get("hf_subset", "default"),
                    "measures": measures | groups,
                    "n": None,
                    "joining": "mteb",
                    "version": value.get("mteb_version"),
                    "beware": "top-level values mix original and changed queries; use og.*"
                    if groups
                    else None,
                }
            )
    return rows
