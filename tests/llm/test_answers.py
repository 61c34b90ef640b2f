"""Nasty replies, each with what must become of it."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from obverse.llm.answers import Unusable, read_answer
from obverse.llm.reply import Reply, reply_from_response


class One(BaseModel):
    new_instruction: str


class Verdict(BaseModel):
    evidence: str
    document: int = Field(ge=1, le=9)
    verdict: Literal["yes", "no"]
    others: list[int] = []
    note: str | None = None


class Maybe(BaseModel):
    new_instruction: str | None
    lever: str | None = None


GOOD = '{"evidence": "e", "document": 2, "verdict": "yes"}'
TAGS = "<evidence>e</evidence><document>2</document><verdict>yes</verdict>"
VERDICT = Verdict(evidence="e", document=2, verdict="yes")

USABLE: list[tuple[str, str, BaseModel]] = [
    ("plain json", GOOD, VERDICT),
    ("json with blanks", f"\n\n {GOOD} \n", VERDICT),
    ("fenced json", f"```json\n{GOOD}\n```", VERDICT),
    ("fence without language", f"```\n{GOOD}\n```", VERDICT),
    ("fence amid prose", f"Here it is:\n```json\n{GOOD}\n```\nHope it helps!", VERDICT),
    ("json amid prose", f"The answer is {GOOD} as you see.", VERDICT),
    ("the same twice", f"{GOOD}\n\nAgain: {GOOD}", VERDICT),
    ("think block", f"<think>{{'no': 1}}</think>{GOOD}", VERDICT),
    ("think block without start", f"so it is {{no}}\n</think>\n{GOOD}", VERDICT),
    ("thinking, two blocks", f"<think>a</think><thinking>b</thinking>{GOOD}", VERDICT),
    ("answer tags", f"<answer>{TAGS}</answer>", VERDICT),
    ("answer tags, blanks", f"<answer>\n{TAGS}\n</answer>", VERDICT),
    ("tags without answer", TAGS, VERDICT),
    ("upper case answer", f"<ANSWER>{TAGS}</ANSWER>", VERDICT),
    ("json in answer", f"<answer>{GOOD}</answer>", VERDICT),
    ("fenced json in answer", f"<answer>```json\n{GOOD}\n```</answer>", VERDICT),
    ("draft in thinking", f"<think><answer>{TAGS.replace('2', '3')}</answer></think><answer>{TAGS}</answer>", VERDICT),
    ("list in a tag", f"<answer>{TAGS}<others>[1, 2]</others></answer>", VERDICT.model_copy(update={"others": [1, 2]})),
    ("null in a tag", f"<answer>{TAGS}<note>none</note></answer>", VERDICT),
    ("unknown keys", GOOD[:-1] + ', "mood": "fine"}', VERDICT),
    ("bare text in answer", "<answer>Only red.</answer>", One(new_instruction="Only red.")),
    ("braces in a string", '{"new_instruction": "Only {x} and }."}', One(new_instruction="Only {x} and }.")),
    ("braces amid prose", 'So: {"new_instruction": "a } b \\" {"} done', One(new_instruction='a } b " {')),
    ("tags in a string", '{"new_instruction": "No <answer> tags"}', One(new_instruction="No <answer> tags")),
    ("think tag in a string", '{"new_instruction": "Use </think> well"}', One(new_instruction="Use </think> well")),
    ("entities stay", "<answer>a &amp; b</answer>", One(new_instruction="a &amp; b")),
    ("other scripts", "<answer>Только новые.</answer>", One(new_instruction="Только новые.")),
    ("none where it may be", "<answer>None</answer>", Maybe(new_instruction=None)),
    ("null where it may be", '{"new_instruction": null, "lever": "time"}', Maybe(new_instruction=None, lever="time")),
    ("bare null where it may be", "null", Maybe(new_instruction=None)),
]  # fmt: skip

UNUSABLE: list[tuple[str, str, type[BaseModel], str]] = [
    ("empty", "", One, "empty-reply"),
    ("blank", " \n\t ", One, "empty-reply"),
    ("none", "None", One, "model-declined"),
    ("none with a stop", "none.", One, "model-declined"),
    ("n/a in a block", "<answer>N/A</answer>", One, "model-declined"),
    ("null", "null", One, "model-declined"),
    ("fenced null", "```json\nnull\n```", One, "model-declined"),
    ("null field", '{"new_instruction": null}', One, "model-declined"),
    ("prose", "I would say only used goods.", One, "no-answer-block"),
    ("refusal", "I'm sorry, I can't help with that.", One, "no-answer-block"),
    ("json list", "[1, 2]", One, "no-answer-block"),
    ("other tags", "<answer><foo>x</foo></answer>", Verdict, "no-answer-block"),
    ("cut tag", "<answer><new_instruction>Only used goods that were", One, "cut-off"),
    ("cut json", '{"new_instruction": "truncated here because max_tok', One, "cut-off"),
    ("cut label", '{"evidence": "e", "document": 2, "verdict": "y', Verdict, "cut-off"),
    ("cut fence", '```json\n{"new_instruction": "a', One, "cut-off"),
    ("cut thinking", "<think>and then I", One, "cut-off"),
    ("cut list", '{"evidence": "e", "others": [1, 2', Verdict, "cut-off"),
    ("two answers", '{"new_instruction": "a"} {"new_instruction": "b"}', One, "several-answers"),
    ("two blocks", "<answer>Only a.</answer><answer>Only b.</answer>", One, "several-answers"),
    ("tag twice", "<new_instruction>a</new_instruction><new_instruction>b</new_instruction>", One, "several-answers"),
    ("wrong enum", GOOD.replace("yes", "maybe"), Verdict, "wrong-form"),
    ("out of range", GOOD.replace("2", "12"), Verdict, "wrong-form"),
    ("missing key", '{"evidence": "e"}', Verdict, "wrong-form"),
    ("text for a number", GOOD.replace("2", '"two"'), Verdict, "wrong-form"),
    ("object for text", '{"new_instruction": {"a": 1}}', One, "wrong-form"),
    ("whitespace loop", '{"new_instruction": "a"' + " \n" * 400, One, "whitespace-loop"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "answer"), USABLE, ids=[case[0] for case in USABLE])
def test_usable(name: str, text: str, answer: BaseModel) -> None:
    assert read_answer(Reply(text), type(answer)) == answer


@pytest.mark.parametrize(("name", "text", "kind", "code"), UNUSABLE, ids=[c[0] for c in UNUSABLE])
def test_unusable(name: str, text: str, kind: type[BaseModel], code: str) -> None:
    for finish_reason in (None, "stop"):
        with pytest.raises(Unusable) as caught:
            read_answer(Reply(text, finish_reason=finish_reason), kind)
        assert caught.value.code == code


SLIPS = [
    "{'new_instruction': 'Only red.'}",
    '{"new_instruction": "Only red.",}',
    '{new_instruction: "Only red."}',
]


@pytest.mark.parametrize("text", SLIPS)
def test_slips_are_mended_only_where_the_reply_is_known_to_be_whole(text: str) -> None:
    assert read_answer(Reply(text, finish_reason="stop"), One) == One(new_instruction="Only red.")
    for finish_reason in (None, "length"):
        with pytest.raises(Unusable):
            read_answer(Reply(text, finish_reason=finish_reason), One)


@pytest.mark.parametrize(
    ("finish_reason", "code"),
    [("length", "cut-off"), ("content_filter", "refused"), ("refusal", "refused")],
)
def test_an_ended_reply_is_not_read_however_good_it_looks(finish_reason: str, code: str) -> None:
    with pytest.raises(Unusable) as caught:
        read_answer(Reply(GOOD, finish_reason=finish_reason), Verdict)
    assert caught.value.code == code


def test_answer_in_the_reasoning_field() -> None:
    assert read_answer(Reply("", reasoning=GOOD), Verdict) == VERDICT
    with pytest.raises(Unusable, match="empty-reply"):
        read_answer(Reply("", reasoning=f"I think {GOOD}"), Verdict)


RESPONSES: list[tuple[Any, Reply]] = [
    ({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}, Reply("a", finish_reason="stop")),
    ({"choices": [{"message": {"content": None, "reasoning_content": "r"}}]}, Reply("", reasoning="r")),
    ({"choices": [{"message": {"content": [{"text": "a"}, {"text": "b"}]}}]}, Reply("ab")),
    ({"choices": [{"message": {"content": None, "refusal": "no"}}]}, Reply("", finish_reason="refusal")),
]  # fmt: skip


@pytest.mark.parametrize(("response", "reply"), RESPONSES)
def test_responses(response: Any, reply: Reply) -> None:
    assert reply_from_response(response) == reply


def test_usage_that_is_not_said_is_unknown() -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 3},
    }
    reply = reply_from_response({"choices": [{"message": {"content": "a"}}], "usage": usage})
    assert (reply.usage.prompt, reply.usage.cached, reply.usage.completion) == (9, 3, 4)
    assert reply.usage.reasoning is None
    for odd in ({}, {"choices": []}, None, {"choices": [{"message": 3}]}):
        with pytest.raises(ValueError, match="no chat completion"):
            reply_from_response(odd)
