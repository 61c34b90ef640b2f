"""A trained model for other runtimes: ONNX, and ONNX with 8-bit weights.

The graph is made by ``torch.onnx`` and holds everything after the tokenizer, pooling and normalising included, so that
any ONNX runtime gives the vectors. The folder is loaded by name like any other (:mod:`obverse.onnx_model`).
"""

from __future__ import annotations

import contextlib
import io
import logging
import shutil
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from obverse.errors import MissingExtra, ModelError, SettingError
from obverse.files import in_folder, read_corpus, write_json
from obverse.inputs import FILE_NAME, template_row
from obverse.log import say
from obverse.models import Encoder, load_encoder
from obverse.onnx_model import KEY, OnnxModel, exported
from obverse.records import Doc
from obverse.sample import sample_folder
from obverse.training.sides import is_asymmetric, refuse_file, side

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Kind = Literal["onnx", "int8"]
_BLOCK = 128
_COMPARED = 32


def export(model: str, out: str | Path, *, to: Kind = "onnx", threshold: float = 0.99) -> float:
    """Exports a model and returns the lowest cosine between its vectors and the original's.

    Compared are queries with and without an instruction and documents of the packaged sample, cut at the model's
    limit.

    Args:
        model: A model folder, or a hub name.
        out: Where the exported model goes; it carries the query template too.
        to: ``onnx``, or ``int8``: weights of 8 bits, matrices in blocks of 128, with computation in float32.
        threshold: Below this cosine it says that the export is not to be trusted.

    Raises:
        SettingError: If the kind is unknown, or the folder holds something else.
        MissingExtra: If a package is not installed.
        ModelError: If the model cannot be turned into a graph.
    """
    if to not in get_args(Kind):
        raise SettingError(f"unknown kind {to!r}", fix=f"Use {' or '.join(get_args(Kind))}")
    _need_packages()
    folder = _own_folder(Path(out)).resolve()
    original = load_encoder(model, device="cpu")
    if isinstance(original.model, OnnxModel):
        raise SettingError("is exported already", where=model, fix="Name the model it came from")
    fresh = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        _write(original, fresh, to)
        lowest = _lowest_cosine(original, load_encoder(str(fresh)))
        shutil.rmtree(folder, ignore_errors=True)
        fresh.replace(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    verdict = (
        "" if lowest >= threshold else ": too far apart to be trusted, measure before you use it"
    )
    size = sum(path.stat().st_size for path in folder.glob("*.onnx*")) / 1e6
    say(
        f"export: {out}, {size:,.0f} MB, lowest cosine to the original {lowest:.4f} "
        f"over {3 * _COMPARED} texts{verdict}"
    )
    return lowest


def _need_packages() -> None:
    for name in ("onnx", "onnxscript", "onnxruntime"):
        try:
            __import__(name)
        except ImportError:
            raise MissingExtra(name, "onnx", "exporting a model") from None


def _own_folder(out: Path) -> Path:
    refuse_file(out)
    if out.is_dir() and any(out.iterdir()) and exported(out) is None:
        raise SettingError(
            "holds something else than an exported model", where=str(out), fix="Give another --out"
        )
    return out


def _write(original: Encoder, folder: Path, to: Kind) -> None:
    model: SentenceTransformer = original.model
    made: dict[str, Any] = {"kind": to, "max_tokens": original.max_tokens}
    if is_asymmetric(model):
        for name in ("query", "document"):
            made[name] = f"{name}.onnx"
            _write_graph(side(model, name), folder / made[name], to)
    else:
        made |= {"query": "model.onnx", "document": "model.onnx"}
        _write_graph(model, folder / "model.onnx", to)
    model.tokenizer.save_pretrained(str(folder))
    transformer = side(model, "query").transformers_model
    if transformer is not None:
        transformer.config.save_pretrained(str(folder))
    write_json(
        folder / FILE_NAME,
        {
            "template": template_row(original.template),
            "max_tokens": original.max_tokens,
            KEY: made,
        },
    )


def _write_graph(model: SentenceTransformer, path: Path, to: Kind) -> None:
    import torch

    model.eval()
    example = model.preprocess(["mountain bike", "how to mend the gears of a mountain bike"])
    names = [name for name, value in example.items() if isinstance(value, torch.Tensor)]
    batch, tokens = torch.export.Dim("batch"), torch.export.Dim("tokens")
    try:
        with torch.no_grad(), _quiet():
            program = torch.onnx.export(
                _graph_of(model, names).eval(),
                tuple(example[name] for name in names),
                dynamo=True,
                verbose=False,
                input_names=names,
                output_names=["sentence_embedding"],
                dynamic_shapes=(tuple({0: batch, 1: tokens} for _ in names),),
            )
            assert program is not None
            program.save(str(path))
            if to == "int8":
                _shrink(path)
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise ModelError(
            f"cannot be turned into an ONNX graph ({reason})",
            fix="Report the model's architecture; plain BERT-like encoders work",
        ) from None


def _graph_of(model: SentenceTransformer, names: list[str]) -> Any:
    import torch

    class Whole(torch.nn.Module):
        """All modules of an encoder in one call, from token ids to unit vectors."""

        def __init__(self) -> None:
            super().__init__()
            self.parts = torch.nn.ModuleList(model.children())

        def forward(self, *values: Any) -> Any:
            features: Any = dict(zip(names, values, strict=True))
            for part in self.parts:
                features = part(features)
            return torch.nn.functional.normalize(features["sentence_embedding"], dim=1)

    return Whole()


def _shrink(path: Path) -> None:
    """Gives matrices 8-bit weights in blocks, and the word embeddings 8-bit rows.

    Activations stay in float32: dynamic 8-bit activations were measured at a lowest cosine of 0.92 (0.986 with a
    scale for each channel), blocks of weights at 0.999.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.matmul_nbits_quantizer import (
        DefaultWeightOnlyQuantConfig,
        MatMulNBitsQuantizer,
    )

    blocks = DefaultWeightOnlyQuantConfig(block_size=_BLOCK, is_symmetric=True, bits=8)
    maker = MatMulNBitsQuantizer(onnx.load(str(path)), algo_config=blocks)
    maker.process()
    middle = path.with_suffix(".blocks.onnx")
    maker.model.save_model_to_file(str(middle), False)
    quantize_dynamic(
        str(middle), str(path), weight_type=QuantType.QInt8, op_types_to_quantize=["Gather"]
    )
    middle.unlink()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Lets the exporter's notes about its own making go unheard."""
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def _lowest_cosine(original: Encoder, other: Encoder) -> float:
    """The lowest cosine over queries, queries with instructions, and documents of the packaged sample."""
    corpus = read_corpus(in_folder(sample_folder(), "corpus.jsonl"))
    docs: list[Doc] = list(islice(corpus.values(), _COMPARED))
    asked = [(" ".join(doc.text.split()[:12]), "") for doc in docs]
    asked += [(query, "Only from children, not from animals.") for query, _ in asked]
    lowest = 1.0
    for ours, theirs in (
        (original.queries(asked), other.queries(asked)),
        (original.docs(docs), other.docs(docs)),
    ):
        lowest = min(lowest, float((ours * theirs).sum(1).min()))
    return lowest
