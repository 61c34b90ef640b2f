"""The form in which an answer is asked for: constraints that go over the wire, and the line that says it in words.

Wire schemas are kept dull: servers drop or explode on lengths, patterns and bounds, so those are checked on our side
after the fact.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, Protocol

import orjson
from pydantic import BaseModel

_DROPPED = {
    "default", "examples", "exclusiveMaximum", "exclusiveMinimum", "format", "maxItems", "maxLength", "maximum",
    "minItems", "minLength", "minimum", "multipleOf", "pattern", "title", "uniqueItems", "description",
}  # fmt: skip


NOTE = "Reply with one word and nothing else: yes or no."
FIELDS: Mapping[str, Any] = {"logprobs": True, "top_logprobs": 20}
"""What a question for the probability of yes is sent with."""


class Form(StrEnum):
    """How an answer's form is asked for, the strictest first."""

    JSON_SCHEMA = "json_schema"
    VLLM = "vllm"
    JSON_OBJECT = "json_object"
    TAGS = "tags"


class Question(Protocol):
    """What a lane needs to know to ask; a synthesis ``Prompt`` is one."""

    @property
    def system(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def answer(self) -> type[BaseModel]: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def temperature(self) -> float: ...


def chat_body(
    question: Question, *, model: str, form: Form, extra: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Returns the body of a chat completion that asks a question.

    The system message ends with the form of the answer; the user message goes out byte for byte.

    Args:
        question: What is asked.
        model: The model's name.
        form: How the form of the answer is asked for.
        extra: Further fields; one that is None takes a field away.
    """
    yes_no = getattr(question, "yes_no", False)
    note = NOTE if yes_no else form_note(question.answer, form)
    system = f"{question.system.rstrip()}\n\n{note}".lstrip()
    body = {
        "model": model,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": question.user},
        ],
        "max_tokens": question.max_tokens,
        "temperature": question.temperature,
        **(FIELDS if yes_no else form_fields(question.answer, form)),
        **(extra or {}),
    }
    return {field: value for field, value in body.items() if value is not None}


@lru_cache(maxsize=256)
def form_fields(answer: type[BaseModel], form: Form) -> dict[str, Any]:
    """Returns the fields of a request that bind a server to the answer's form."""
    if form is Form.JSON_SCHEMA:
        schema = {"name": answer.__name__, "strict": True, "schema": wire_schema(answer)}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    if form is Form.VLLM:
        return {"structured_outputs": {"json": wire_schema(answer)}}
    if form is Form.JSON_OBJECT:
        return {"response_format": {"type": "json_object"}}
    return {}


@lru_cache(maxsize=256)
def form_note(answer: type[BaseModel], form: Form) -> str:
    """Returns the words that say in which form to reply, from the fields' names, kinds and descriptions."""
    schema = wire_schema(answer)["properties"]
    if form is Form.TAGS:
        lines = ["End your reply with one answer block and write nothing after it:", "<answer>"]
        lines += [f"<{name}>{_tag_kind(schema[name])}</{name}>" for name in answer.model_fields]
        lines.append("</answer>")
    else:
        lines = ["Reply with one JSON object and nothing else. Its keys, in this order:"]
        lines += [f'"{name}": {_kind(schema[name])}' for name in answer.model_fields]
    told = _descriptions(answer.model_json_schema())
    return "\n".join([*lines, *(["Where", *told] if told else [])])


def _descriptions(schema: Mapping[str, Any]) -> list[str]:
    objects = [schema, *schema.get("$defs", {}).values()]
    return [
        f"{name}: {field['description']}"
        for part in objects
        for name, field in part.get("properties", {}).items()
        if "description" in field
    ]


def _tag_kind(schema: Mapping[str, Any]) -> str:
    words = _kind(schema)
    return words.replace("a list", "a JSON list", 1).replace("an object", "a JSON object", 1)


@lru_cache(maxsize=256)
def wire_schema(answer: type[BaseModel]) -> dict[str, Any]:
    """Returns the answer's JSON schema in the dialect that every server can keep.

    References are inlined, every object is closed and all its keys are required; lengths, patterns, formats and
    bounds are left out.
    """
    schema = answer.model_json_schema()
    plain: dict[str, Any] = _plain(schema, schema.get("$defs", {}))
    return plain


def _plain(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(part, definitions) for part in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(definitions[node["$ref"].rsplit("/", 1)[1]], definitions)
    kept = {key: value for key, value in node.items() if key not in _DROPPED | {"$defs"}}
    if "const" in kept:
        kept["enum"] = [kept.pop("const")]
    result = {
        key: {name: _plain(field, definitions) for name, field in value.items()}
        if key == "properties"
        else _plain(value, definitions)
        for key, value in kept.items()
    }
    if "properties" in result:
        result["additionalProperties"] = False
        result["required"] = list(result["properties"])
    return result


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(orjson.dumps(value).decode() for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_kind(part) for part in schema["anyOf"])
    if "allOf" in schema:
        return _kind(schema["allOf"][0])
    if schema.get("type") == "array":
        return f"a list of: {_kind(schema.get('items', {}))}"
    if schema.get("type") == "object":
        if "properties" not in schema:
            values = schema.get("additionalProperties")
            return f"an object of: {_kind(values)}" if isinstance(values, dict) else "an object"
        fields = ", ".join(
            f'"{name}": {_kind(part)}' for name, part in schema["properties"].items()
        )
        return f"{{{fields}}}"
    names = {
        "string": "text",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "true or false",
    }
    return names.get(str(schema.get("type")), str(schema.get("type", "anything")))
