from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from obverse.llm.forms import Form, chat_body, form_fields, form_note, wire_schema
from obverse.synthesis.dialogue import Prompt

FORBIDDEN = {
    "$ref", "$defs", "pattern", "format", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "default", "title",
}  # fmt: skip


class Judged(BaseModel):
    document: int = Field(ge=1, le=30, description="its number")
    verdict: Literal["yes", "no"]


class Answer(BaseModel):
    evidence: str = Field(min_length=3, max_length=400, pattern=r"\w", description="a quotation")
    judged: list[Judged] = Field(max_length=30)
    lever: str | None = None
    sure: bool = True


WIRE = {
    "type": "object",
    "properties": {
        "evidence": {"type": "string"},
        "judged": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "document": {"type": "integer"},
                    "verdict": {"enum": ["yes", "no"], "type": "string"},
                },
                "required": ["document", "verdict"],
                "additionalProperties": False,
            },
        },
        "lever": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "sure": {"type": "boolean"},
    },
    "required": ["evidence", "judged", "lever", "sure"],
    "additionalProperties": False,
}


def keywords(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "properties":
                for field in value.values():
                    yield from keywords(field)
            else:
                yield key
                yield from keywords(value)
    elif isinstance(node, list):
        for part in node:
            yield from keywords(part)


def test_wire_schema_is_dull() -> None:
    assert wire_schema(Answer) == WIRE
    assert not FORBIDDEN & set(keywords(wire_schema(Answer)))


@pytest.mark.parametrize("kind", [Form.JSON_SCHEMA, Form.VLLM, Form.JSON_OBJECT, Form.TAGS])
def test_fields_of_each_form(kind: Form) -> None:
    fields = {
        Form.JSON_SCHEMA: {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "Answer", "strict": True, "schema": WIRE},
            }
        },
        Form.VLLM: {"structured_outputs": {"json": WIRE}},
        Form.JSON_OBJECT: {"response_format": {"type": "json_object"}},
        Form.TAGS: {},
    }
    assert form_fields(Answer, kind) == fields[kind]


def test_notes() -> None:
    assert form_note(Answer, Form.TAGS).splitlines() == [
        "End your reply with one answer block and write nothing after it:",
        "<answer>",
        "<evidence>text</evidence>",
        '<judged>a JSON list of: {"document": a whole number, "verdict": "yes" or "no"}</judged>',
        "<lever>text or null</lever>",
        "<sure>true or false</sure>",
        "</answer>",
        "Where",
        "evidence: a quotation",
        "document: its number",
    ]
    assert form_note(Answer, Form.JSON_OBJECT).splitlines()[:2] == [
        "Reply with one JSON object and nothing else. Its keys, in this order:",
        '"evidence": text',
    ]


def test_the_users_message_goes_out_byte_for_byte() -> None:
    text = "{x} {{ query }} %s $HOME <answer>no</answer> \\ \u2028"
    prompt = Prompt("stage", "Judge.", text, Answer)
    body = chat_body(prompt, model="m", form=Form.TAGS)
    assert body["messages"][1] == {"role": "user", "content": text}
    assert body["messages"][0]["content"].startswith("Judge.\n\nEnd your reply")
