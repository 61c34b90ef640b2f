"""Yes or no, as a probability: read from the first word's log-probabilities where the server sends them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from obverse.llm.answers import Unusable, without_thinking
from obverse.llm.reply import Reply

_WORDS = {"yes": True, "no": False}
_SAID = re.compile(r"^\W*(yes|no)\b", re.IGNORECASE)
_LEAST = 0.01
"""Less than this on yes and no together is no answer at that place."""
_PLACES = 4


class YesNo(BaseModel):
    """An answer.

    Attributes:
        probability: Of yes, among yes and no.
        measured: Whether it comes from log-probabilities; else the word that was said counts as certain.
    """

    probability: float
    measured: bool


def read_yes_no(reply: Reply) -> YesNo:
    """Returns the answer in a reply, whether or not it was cut off after its first word.

    Raises:
        Unusable: If it says neither yes nor no.
    """
    if reply.finish_reason in ("content_filter", "refusal"):
        raise Unusable("refused", reply.text[:200])
    for place in _places(reply.logprobs):
        yes, no = _masses(place)
        if yes + no >= _LEAST:
            return YesNo(probability=yes / (yes + no), measured=True)
    text = without_thinking(reply.text).strip()
    if found := _SAID.match(text):
        return YesNo(probability=float(_WORDS[found[1].lower()]), measured=False)
    raise Unusable("empty-reply" if not text else "no-answer-block", text[:200])


def _places(logprobs: Any) -> Iterator[list[Mapping[str, Any]]]:
    """Yields, for each of the first tokens, the tokens that might have stood there."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    for token in (content or [])[:_PLACES]:
        if isinstance(token, dict):
            top = token.get("top_logprobs")
            yield top if isinstance(top, list) and top else [token]


def _masses(place: list[Mapping[str, Any]]) -> tuple[float, float]:
    """Returns the probabilities of yes and of no at one place; " Yes" and "yes" are the same word."""
    masses = {True: 0.0, False: 0.0}
    for token in place:
        word, logprob = token.get("token"), token.get("logprob")
        if isinstance(word, str) and isinstance(logprob, int | float):
            meant = _WORDS.get(word.strip(" \n\t\"'*.▁Ġ").lower())
            if meant is not None:
                masses[meant] += math.exp(min(0.0, logprob))
    return masses[True], masses[False]
