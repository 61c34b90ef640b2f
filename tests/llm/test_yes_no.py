"""Yes or no as a probability."""

from __future__ import annotations

import math
from typing import Any

import pytest

from obverse.llm.answers import Unusable
from obverse.llm.reply import Reply
from obverse.llm.yes_no import YesNo, read_yes_no


def logprobs(*places: dict[str, float]) -> dict[str, Any]:
    content = []
    for place in places:
        top = [{"token": word, "logprob": math.log(share)} for word, share in place.items()]
        content.append({**top[0], "top_logprobs": top})
    return {"content": content}


@pytest.mark.parametrize(
    ("places", "probability"),
    [
        ([{"yes": 0.6, "no": 0.2, "maybe": 0.2}], 0.75),
        ([{" Yes": 0.3, "yes": 0.3, "NO": 0.2, "**No": 0.0001}], 0.75),
        ([{"\n": 0.99, "yes": 0.001}, {"no": 0.9, "yes": 0.1}], 0.1),
        ([{"No": 1.0}], 0.0),
    ],
)
def test_the_first_place_that_answers_counts(
    places: list[dict[str, float]], probability: float
) -> None:
    reply = Reply("whatever", finish_reason="length", logprobs=logprobs(*places))
    assert read_yes_no(reply).measured
    assert read_yes_no(reply).probability == pytest.approx(probability, abs=1e-3)


def test_without_alternatives_the_token_itself_counts() -> None:
    said = {"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": []}]}
    assert read_yes_no(Reply("Yes", logprobs=said)) == YesNo(probability=1.0, measured=True)


@pytest.mark.parametrize(
    ("text", "probability"),
    [("Yes.", 1.0), ("**no**, because", 0.0), ("<think>no</think> yes", 1.0)],
)
@pytest.mark.parametrize("sent", [None, {}, {"content": None}, {"content": [None, {"token": 3}]}])
def test_else_the_word_counts(text: str, probability: float, sent: Any) -> None:
    assert read_yes_no(Reply(text, logprobs=sent)) == YesNo(probability=probability, measured=False)


@pytest.mark.parametrize(
    ("text", "finish", "code"),
    [
        ("", "stop", "empty-reply"),
        ("It depends; yes.", "stop", "no-answer-block"),
        ("nothing", "stop", "no-answer-block"),
        ("yes", "content_filter", "refused"),
    ],
)
def test_what_is_no_answer(text: str, finish: str, code: str) -> None:
    with pytest.raises(Unusable) as unusable:
        read_yes_no(Reply(text, finish_reason=finish))
    assert unusable.value.code == code
