"""An encoder behind an OpenAI-compatible embeddings endpoint."""

from __future__ import annotations

import json
import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

import numpy as np

from obverse.errors import ModelError
from obverse.inputs import Template, speakable
from obverse.models import UNBOUNDED, Encoder, Vectors

KEY = "OBVERSE_API_KEY"
_RETRIES = (1.0, 4.0, 10.0)


class EndpointEncoder(Encoder):
    """Vectors from ``POST <url>/embeddings``; the server cuts long texts by its own limit.

    Args:
        url: The endpoint's root: ``http://localhost:8000/v1``.
        model: The model's name there.
        template: Builds the input strings.
        batch_size: Texts per request.
        timeout: Seconds that one request may take.
    """

    def __init__(
        self,
        url: str,
        model: str,
        template: Template,
        *,
        batch_size: int = 32,
        timeout: float = 60.0,
    ) -> None:
        super().__init__(f"{url}#{model}", None, template, UNBOUNDED, batch_size)
        self._url, self._model, self._timeout = url.rstrip("/"), model, timeout
        self._answered = False

    def encode(self, texts: Sequence[str], *, task: str) -> Vectors:
        """Returns the vectors of finished input strings: equal strings are asked for once.

        Returns:
            float32 ``[n, d]``, unit length.

        Raises:
            ModelError: If the endpoint cannot be reached, refuses, or answers with something else.
        """
        texts = [speakable(text) for text in texts]
        distinct = list(dict.fromkeys(texts))
        rows: list[Any] = []
        for start in range(0, len(distinct), self.batch_size):
            rows += self._ask(distinct[start : start + self.batch_size])
        try:
            vectors = np.asarray(rows, dtype=np.float32)
        except (TypeError, ValueError):  # texts, or vectors of different widths
            vectors = np.empty(0, dtype=np.float32)
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise ModelError(
                "answers with vectors that are none, or not all of one width",
                where=self.name,
                fix="Check the model; numbers are expected, not base64",
            )
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        place = {text: row for row, text in enumerate(distinct)}
        found: Vectors = vectors[[place[text] for text in texts]]
        return found

    def count_tokens(self, text: str) -> int:
        """Returns the number of words: the endpoint's tokenizer is not known."""
        return len(text.split())

    def _ask(self, texts: list[str]) -> list[Any]:
        body = json.dumps({"model": self._model, "input": texts}).encode()
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(KEY):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(f"{self._url}/embeddings", body, headers)
        for pause in (*_RETRIES, None):
            try:
                with urllib.request.urlopen(request, timeout=self._timeout) as reply:
                    vectors = _vectors_of(json.load(reply), len(texts), self.name)
                    self._answered = True
                    return vectors
            except urllib.error.HTTPError as error:
                if pause is None or error.code not in (429, 500, 502, 503, 504):
                    raise ModelError(
                        f"refuses ({error.code} {error.reason})",
                        where=self.name,
                        fix=f"Check model name and {KEY}",
                    ) from None
            except (OSError, json.JSONDecodeError) as error:
                # A server that never answered is a wrong address; one that did is waited for.
                if pause is None or (not self._answered and _nobody_there(error)):
                    raise ModelError(
                        f"cannot be asked ({error})",
                        where=self.name,
                        fix="Check that the server runs",
                    ) from None
            time.sleep(pause)
        raise AssertionError("unreachable")


def _nobody_there(error: Exception) -> bool:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return isinstance(reason, ConnectionRefusedError | socket.gaierror)


def _vectors_of(reply: Any, expected: int, where: str) -> list[Any]:
    try:
        rows = sorted(reply["data"], key=lambda row: row["index"])
        vectors = [row["embedding"] for row in rows]
    except (KeyError, TypeError):
        raise ModelError(
            "answers with no embeddings", where=where, fix="Check the address"
        ) from None
    if len(vectors) != expected:
        raise ModelError(
            f"answers {len(vectors)} vectors for {expected} texts",
            where=where,
            fix="Check the server",
        )
    return vectors
