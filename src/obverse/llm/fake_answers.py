"""Answers that have the form asked for and mean nothing: what the fake endpoint says."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from typing import Any

import orjson

_TAG = re.compile(r"<(\w+)>([^<\n]+)</\1>")
_KEY = re.compile(r'^"(\w+)": (.+)$', re.MULTILINE)
_ASKED = re.compile(r"Judge document ([\d, and]+)")
_OFFERED = re.compile(r'^ +- "(\w+)": ', re.MULTILINE)
_MARK = re.compile(r"^<document (\d+)", re.MULTILINE)
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
    if schema is None and body.get("logprobs"):
        return draw.choice(("yes", "no"))
    numbers = _documents(body)
    lever = _lever(body)
    if schema is not None:
        filled = _filled(schema, draw, numbers)
        if isinstance(filled, dict) and "lever" in filled:
            filled["lever"] = lever
        return orjson.dumps(filled).decode()
    system = "\n".join(str(m.get("content")) for m in body["messages"] if m.get("role") == "system")
    form = system[system.rfind("\n\n") + 1 :]
    if "<answer>" in form:
        tags = _TAG.findall(form)
        said = {name: _said(kind, draw, numbers) for name, kind in tags}
        if "lever" in said:
            said["lever"] = lever or "null"
        fields = "".join(f"<{name}>{text}</{name}>" for name, text in said.items())
        return f"<answer>{fields}</answer>"
    keys = {name: _value(kind, draw, numbers) for name, kind in _KEY.findall(form)}
    if "lever" in keys:
        keys["lever"] = lever
    return orjson.dumps(keys).decode() if keys else _sentence(draw)


def fake_logprobs(text: str) -> dict[str, Any]:
    """Returns log-probabilities as a server sends them: four to one for the word that was said."""
    other = {"yes": "no", "no": "yes"}.get(text.lower(), "")
    words = ((text, 0.8), (other, 0.2))
    top = [{"token": word, "logprob": math.log(share), "bytes": None} for word, share in words]
    return {"content": [{**top[0], "top_logprobs": top}]}


def _lever(body: Mapping[str, Any]) -> str | None:
    """Returns the first lever that a prompt offers."""
    found = _OFFERED.search(str(body["messages"][-1].get("content")))
    return found[1] if found else None


def _schema(body: Mapping[str, Any]) -> Any:
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        return form["json_schema"]["schema"]
    return (body.get("structured_outputs") or {}).get("json")


def _documents(body: Mapping[str, Any]) -> list[int]:
    """Returns the numbers of the documents to judge: those after the last "Judge document", else all in the text."""
    text = str(body["messages"][-1].get("content"))
    asked = _ASKED.findall(text)
    found = re.findall(r"\d+", asked[-1]) if asked else _MARK.findall(text)
    return list(dict.fromkeys(map(int, found)))


def _filled(schema: Mapping[str, Any], draw: random.Random, numbers: list[int]) -> Any:
    if "enum" in schema:
        return draw.choice(schema["enum"])
    if "anyOf" in schema:
        return _filled(schema["anyOf"][0], draw, numbers)
    kind = schema.get("type")
    if kind == "object":
        fields = schema.get("properties", {}).items()
        return {name: _filled(part, draw, numbers) for name, part in fields}
    if kind == "array":
        part = schema.get("items", {})
        each = numbers if part.get("type") == "object" else []
        return [_filled(part, draw, [number]) for number in each]
    simple = {"integer": numbers[0] if numbers else 1, "number": 0.5, "boolean": True, "null": None}
    return simple.get(str(kind), _sentence(draw))


def _value(kind: str, draw: random.Random, numbers: list[int]) -> Any:
    """Returns a value of a kind in the words of :func:`obverse.llm.forms.form_note`."""
    if kind.startswith('"'):
        return draw.choice(re.findall(r'"([^"]*)"', kind))
    if "list of: {" in kind:
        parts = re.findall(r'"(\w+)": ((?:"[^"]*"(?: or )?)+|[^,}]+)', kind)
        return [{n: _value(part, draw, [number]) for n, part in parts} for number in numbers]
    if "list" in kind[:12]:
        return []
    simple = {
        "a whole number": numbers[0] if numbers else 1,
        "a number": 0.5,
        "true or false": True,
    }
    return simple.get(kind.removesuffix(" or null"), _sentence(draw))


def _said(kind: str, draw: random.Random, numbers: list[int]) -> str:
    value = _value(kind, draw, numbers)
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _sentence(draw: random.Random) -> str:
    return f"Only {draw.choice(_WORDS)} and {draw.choice(_WORDS)} results of {draw.randrange(1900, 2030)}."
