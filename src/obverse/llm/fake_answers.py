"""Answers that have the form asked for and mean nothing: what the fake endpoint says."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import orjson

_TAG = re.compile(r"<(\w+)>([^<\n]+)</\1>")
_KEY = re.compile(r'^"(\w+)": (.+)$', re.MULTILINE)
_WORDS = (
    "recent",
    "older",
    "British",
    "clinical",
    "rural",
    "printed",
    "free",
    "brief",
    "annual",
    "early",
)


def fake_answer(body: Mapping[str, Any], draw: random.Random) -> str:
    """Returns a text that a request's schema, or the form in its system message, allows."""
    schema = _schema(body)
    if schema is not None:
        return orjson.dumps(_filled(schema, draw)).decode()
    system = "\n".join(str(m.get("content")) for m in body["messages"] if m.get("role") == "system")
    form = system[system.rfind("\n\n") + 1 :]
    if "<answer>" in form:
        fields = "".join(f"<{n}>{_said(kind, draw)}</{n}>" for n, kind in _TAG.findall(form))
        return f"<answer>{fields}</answer>"
    keys = [(name, _value(kind, draw)) for name, kind in _KEY.findall(form)]
    return orjson.dumps(dict(keys)).decode() if keys else _sentence(draw)


def _schema(body: Mapping[str, Any]) -> Any:
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        return form["json_schema"]["schema"]
    return (body.get("structured_outputs") or {}).get("json")


def _filled(schema: Mapping[str, Any], draw: random.Random) -> Any:
    if "enum" in schema:
        return draw.choice(schema["enum"])
    if "anyOf" in schema:
        return _filled(schema["anyOf"][0], draw)
    kind = schema.get("type")
    if kind == "object":
        return {name: _filled(part, draw) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return []
    return {"integer": 1, "number": 0.5, "boolean": True, "null": None}.get(
        str(kind), _sentence(draw)
    )


def _value(kind: str, draw: random.Random) -> Any:
    """Returns a value of a kind in the words of :func:`obverse.llm.forms.form_note`."""
    if kind.startswith('"'):
        return draw.choice(re.findall(r'"([^"]*)"', kind))
    if "list" in kind[:12]:
        return []
    simple = {"a whole number": 1, "a number": 0.5, "true or false": True}
    return simple.get(kind.removesuffix(" or null"), _sentence(draw))


def _said(kind: str, draw: random.Random) -> str:
    value = _value(kind, draw)
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _sentence(draw: random.Random) -> str:
    return f"Only {draw.choice(_WORDS)} and {draw.choice(_WORDS)} results of {draw.randrange(1900, 2030)}."
