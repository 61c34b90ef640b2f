"""A trained model for other runtimes: ONNX, and ONNX with int8 weights, through sentence-transformers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

from obverse.errors import MissingExtra, SettingError
from obverse.inputs import FILE_NAME
from obverse.log import say
from obverse.models import load_model, locate

Kind = Literal["onnx", "int8"]
_TEXTS = (
    "mountain bike",
    "mountain bike Only second-hand.",
    "How to mend the gears of a bicycle",
    "A long report about the use of bicycles in the city, with figures by month and by district",
)


def export(model: str, out: str | Path, *, to: Kind = "onnx", threshold: float = 0.99) -> float:
    """Exports a model folder and returns the lowest cosine between its vectors and the original's.

    Args:
        model: A model folder.
        out: Where the exported model goes; it carries the query template too.
        to: ``onnx``, or ``int8`` for 8-bit weights on CPUs.
        threshold: Below this cosine it says that the export is not to be trusted.

    Raises:
        SettingError: If the kind is unknown.
        MissingExtra: If optimum is not installed.
    """
    if to not in ("onnx", "int8"):
        raise SettingError(f"unknown kind {to!r}", fix="Use onnx or int8")
    try:
        import optimum.onnxruntime  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        raise MissingExtra("optimum[onnxruntime]", "onnx", "exporting a model") from None
    from sentence_transformers import SentenceTransformer

    original = load_model(model, device="cpu")
    exported = SentenceTransformer(
        locate(model), backend="onnx", device="cpu", model_kwargs={"export": True}
    )
    exported.save_pretrained(str(out))
    if to == "int8":
        from sentence_transformers.backend import export_dynamic_quantized_onnx_model

        export_dynamic_quantized_onnx_model(exported, "avx2", str(out))
        small = next(Path(out).rglob("*qint8*.onnx"))
        exported = SentenceTransformer(
            str(out),
            backend="onnx",
            device="cpu",
            model_kwargs={"file_name": small.name},
        )
    template = Path(locate(model)) / FILE_NAME
    if template.is_file():
        shutil.copyfile(template, Path(out) / FILE_NAME)
    ours, theirs = (m.encode(list(_TEXTS), normalize_embeddings=True) for m in (original, exported))
    lowest = float((ours * theirs).sum(1).min())
    verdict = (
        "" if lowest >= threshold else ": too far apart to be trusted, measure before you use it"
    )
    say(f"export: {out}, lowest cosine to the original {lowest:.4f}{verdict}")
    return lowest
