"""A bi-encoder exported by ``obverse export``: ONNX graphs that are asked like a sentence-transformers model.

Needs onnxruntime and a tokenizer, and no torch. The folder holds a graph for each side (one graph where both sides are
the same encoder) with pooling and normalising in it, the tokenizer, and ``obverse.json``, which names them.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obverse.errors import InputError, MissingExtra, ModelError
from obverse.files import read_json
from obverse.inputs import FILE_NAME

KEY = "onnx"
Vectors = NDArray[np.float32]


def exported(folder: str | Path) -> dict[str, Any] | None:
    """Returns what ``obverse.json`` says of the graphs in a folder, or None if it holds no exported model."""
    path = Path(folder) / FILE_NAME
    if not path.is_file():
        return None
    try:
        found = read_json(path).get(KEY)
    except (InputError, AttributeError):
        return None
    return found if isinstance(found, dict) else None


class OnnxModel:
    """The graphs of a folder.

    Attributes:
        max_seq_length: The limit of an input, in tokens.
        tokenizer: The tokenizer of the model that was exported.
        device: Where it runs: on the CPU.
        prompts: Prompts of its own: none, the template of the folder says all.
    """

    def __init__(self, folder: str | Path, *, threads: int | None = None) -> None:
        """Loads the graphs.

        Raises:
            ModelError: If the folder holds no exported model, or a graph cannot be read.
            MissingExtra: If onnxruntime or transformers is not installed.
        """
        self.folder, self.device = Path(folder), "cpu"
        self.prompts: dict[str, str | None] = {}
        if importlib.util.find_spec("onnxruntime") is None:
            raise MissingExtra("onnxruntime", "onnx", "an ONNX model")
        made = exported(folder)
        if made is None:
            raise ModelError(
                "holds no exported model", where=str(folder), fix="Make one: obverse export"
            )
        self.max_seq_length = int(made["max_tokens"])
        try:
            from transformers import AutoTokenizer
        except ImportError:
            raise MissingExtra("transformers", "train", "the tokenizer of a model") from None
        self.tokenizer: Any = AutoTokenizer.from_pretrained(str(folder))
        files = {made["query"], made["document"]}
        sessions = {name: _session(self.folder / name, threads) for name in files}
        self._query, self._document = sessions[made["query"]], sessions[made["document"]]
        self._files = sorted(files)

    @property
    def digest(self) -> str:
        """A hash of the graphs."""
        found = hashlib.sha256()
        for name in self._files:
            with (self.folder / name).open("rb") as stream:
                found.update(hashlib.file_digest(stream, "sha256").digest())
        return found.hexdigest()

    def encode_query(self, texts: Sequence[str] | str, **options: Any) -> Vectors:
        """Returns the vectors of query inputs, float32 ``[n, d]``, unit length; see :meth:`encode`."""
        return self._encode(self._query, texts, **options)

    def encode_document(self, texts: Sequence[str] | str, **options: Any) -> Vectors:
        """Returns the vectors of document inputs, float32 ``[n, d]``, unit length; see :meth:`encode`."""
        return self._encode(self._document, texts, **options)

    def encode(self, texts: Sequence[str] | str, **options: Any) -> Vectors:
        """Returns the vectors of inputs by the query side, float32 ``[n, d]``, unit length.

        Args:
            texts: Finished input strings; one string gives one vector ``[d]``.
            **options: ``batch_size``, ``prompt`` (put before each text). Others of sentence-transformers are
                accepted and change nothing: vectors are numpy arrays of unit length on the CPU.
        """
        return self._encode(self._query, texts, **options)

    def _encode(
        self,
        session: Any,
        texts: Sequence[str] | str,
        *,
        batch_size: int = 32,
        prompt: str | None = None,
        **_: Any,
    ) -> Vectors:
        given = [(prompt or "") + text for text in _list(texts)]
        order = sorted(range(len(given)), key=lambda place: -len(given[place]))
        parts = []
        for at in range(0, len(order), batch_size):
            feed = self._tokens([given[place] for place in order[at : at + batch_size]])
            wanted = {entry.name: feed[entry.name] for entry in session.get_inputs()}
            parts.append(session.run(None, wanted)[0])
        width = session.get_outputs()[0].shape[-1]
        found = np.concatenate(parts) if parts else np.zeros((0, width))
        vectors: Vectors = np.empty(found.shape, dtype=np.float32)
        vectors[order] = found
        return vectors[0] if isinstance(texts, str) else vectors

    def _tokens(self, texts: list[str]) -> Mapping[str, NDArray[np.int64]]:
        found = self.tokenizer(
            texts,
            padding=True,
            truncation=True,
            max_length=self.max_seq_length,
            return_tensors="np",
        )
        return {name: values.astype(np.int64) for name, values in found.items()}


def _list(texts: Sequence[str] | str) -> Sequence[str]:
    return [texts] if isinstance(texts, str) else texts


def _session(path: Path, threads: int | None) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        reason = str(error).splitlines()[0][:200]
        raise ModelError(
            f"cannot be read ({reason})", where=str(path), fix="Export the model again"
        ) from None
