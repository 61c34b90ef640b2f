from __future__ import annotations

from typing import Any

import pytest

from obverse.llm.request import Tags, make_request, parts, request_key

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "héllo {x} \u2028"}],
    "max_tokens": 64,
    "temperature": 0.0,
    "response_format": {"type": "json_object"},
}


def test_golden_key() -> None:
    assert request_key(BODY) == GOLDEN


GOLDEN = "1b72a18a6375f5c271951fbfffee0da2e30139b802fdfeeb75862193dd6326ea"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", "n"),
        ("messages", [{"role": "user", "content": "héllo {x} \u2029"}]),
        ("max_tokens", 65),
        ("temperature", 0.1),
        ("response_format", {"type": "text"}),
        ("top_p", 0.9),
    ],
)
def test_everything_sent_alters_the_key(field: str, value: Any) -> None:
    assert request_key(BODY | {field: value}) != request_key(BODY)


def test_the_sample_alters_the_key_and_nothing_else_of_the_tags_does() -> None:
    here = make_request(BODY, Tags("m", "s", "t"))
    there = make_request(BODY, Tags("other", "stage", "topic", repair=True), order=9)
    assert here.key == there.key
    assert make_request(BODY, Tags("m", "s", "t", sample=1)).key != here.key


def test_the_order_of_keys_does_not_matter() -> None:
    assert request_key(dict(reversed(BODY.items()))) == request_key(BODY)


def test_parts_name_what_a_person_knows() -> None:
    before, after = parts(BODY), parts(BODY | {"temperature": 1.0, "model": "n"})
    assert before["model"] == "m"
    assert {name for name in before if before[name] != after[name]} == {"model", "sampling"}


def test_lone_surrogates_have_a_key() -> None:
    assert request_key({"messages": "\ud800"}) != request_key({"messages": "\ud801"})
