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
    if schema is not None:
        filled = _filled(schema, draw, numbers)
        return orjson.dumps(_fitting(filled, body) if isinstance(filled, dict) else filled).decode()
    system = "\n".join(str(m.get("content")) for m in body["messages"] if m.get("role") == "system")
    form = system[system.rfind("\n\n") + 1 :]
    asked = (_TAG if "<answer>" in form else _KEY).findall(form)
    said = _fitting({name: _value(kind, draw, numbers) for name, kind in asked}, body)
    if "<answer>" in form:
        fields = "".join(f"<{name}>{_text(value)}</{name}>" for name, value in said.items())
        return f"<answer>{fields}</answer>"
    return orjson.dumps(said).decode() if said else _sentence(draw)


def fake_logprobs(text: str) -> dict[str, Any]:
    """Returns log-probabilities as a server sends them: four to one for the word that was said."""
    other = {"yes": "no", "no": "yes"}.get(text.lower(), "")
    words = ((text, 0.8), (other, 0.2))
    top = [{"token": word, "logprob": math.log(share), "bytes": None} for word, share in words]
    return {"content": [{**top[0], "top_logprobs": top}]}


def _fitting(said: dict[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer with what is looked up in the prompt: an offered lever, evidence out of each document."""
    text = str(body["messages"][-1].get("content"))
    if "lever" in said:
        offered = _OFFERED.search(text)
        said["lever"] = offered[1] if offered else None
    judged = said.get("documents")
    for one in judged if isinstance(judged, list) else []:
        if isinstance(one, dict) and "evidence" in one:
            found = re.search(rf"^<document {one.get('document')}\b.*\n(.+)", text, re.MULTILINE)
            one["evidence"] = " ".join(found[1].split()[:4]) if found else ""
    return said


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


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _sentence(draw: random.Random) -> str:
    return f"Only {draw.choice(_WORDS)} and {draw.choice(_WORDS)} results of {draw.randrange(1900, 2030)}."
