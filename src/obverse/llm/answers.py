"""Raw replies into answers: what counts as an answer, and why a reply is unusable.

Only the reply is looked at, never the prompt: documents may hold braces, tags and orders. A reply is repaired only
where it is known to be whole; half an answer never becomes one.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from obverse.llm.reply import Reply

A = TypeVar("A", bound=BaseModel)

_THINK = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THINK_END = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_THINK_START = re.compile(r"<(?:think|thinking|reasoning)>.*$", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_NOTHING = re.compile(r"^[\s\"'`*({\[<]*(none|null|n/?a)[\s\"'`*)}\]>.]*$", re.IGNORECASE)
_MAX_BLANKS = 40


class Unusable(Exception):
    """A reply is no answer.

    Args:
        code: A fixed code: ``empty-reply``, ``cut-off``, ``whitespace-loop``, ``refused``, ``model-declined``,
            ``no-answer-block``, ``several-answers``, ``wrong-form``.
        detail: What was seen, for people.
    """

    def __init__(self, code: str, detail: str = "") -> None:
        self.code, self.detail = code, detail
        super().__init__(f"{code}: {detail}" if detail else code)


class _Nothing(Exception):
    """The place of the answer holds a bare none."""


def says_nothing(text: str) -> bool:
    """Whether a text is a bare none, null or n/a: the model declines."""
    return bool(_NOTHING.match(text))


def read_answer(reply: Reply, answer: type[A]) -> A:
    """Returns the answer that a reply holds.

    Looked for in this order, in what is left when thinking is taken away: the whole text as JSON; one fenced block;
    an ``<answer>`` block with a tag for each field; one JSON object amid prose; and only where the reply is known to
    have ended by itself, an object that needs mending.

    Raises:
        Unusable: With a code, where there is no answer, half of one, several, or one of another form.
    """
    text = reply.text or _answer_in_reasoning(reply)
    _refuse_ended_early(reply, text)
    if isinstance(whole := _json(text), dict):
        return _validated(whole, answer)
    said, text = text.strip(), without_thinking(text).strip()
    if not text:
        raise Unusable("cut-off", "nothing but thinking") if said else Unusable("empty-reply")
    if says_nothing(text):
        return _declined(answer)
    try:
        found = _distinct(_candidates(text, answer))
    except _Nothing:
        return _declined(answer)
    if not found:
        found = _mended(text, reply)
    if not found:
        raise Unusable("cut-off" if _looks_cut(text) else "no-answer-block", text[:200])
    if len(found) > 1:
        raise Unusable("several-answers", f"{len(found)} different answers in one reply")
    return _validated(found[0], answer)


def without_thinking(text: str) -> str:
    """Returns the text without its thinking, also where its beginning or its end is missing."""
    text = _THINK.sub("", text)
    text = _THINK_END.sub("", text)
    return _THINK_START.sub("", text)


def _refuse_ended_early(reply: Reply, text: str) -> None:
    if reply.finish_reason in ("content_filter", "refusal"):
        raise Unusable("refused", text[:200])
    if len(text) > 4 * _MAX_BLANKS and len("".join(text.split())) < len(text) / 2:
        raise Unusable("whitespace-loop", f"{len(text):,} characters, mostly white space")
    if reply.finish_reason == "length":
        raise Unusable("cut-off", "the limit of tokens was reached")


def _answer_in_reasoning(reply: Reply) -> str:
    """Some servers put the constrained answer into the reasoning field: taken only where it is nothing but JSON."""
    text = reply.reasoning.strip()
    return text if is_json_object(text) else ""


def is_json_object(text: str) -> bool:
    """Whether a text is one JSON object and nothing else."""
    return isinstance(_json(text), dict)


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _candidates(text: str, answer: type[BaseModel]) -> list[dict[str, Any]]:
    """Returns the answers of the first kind of place that holds any."""
    whole = _json(text)
    if isinstance(whole, dict):
        return [whole]
    if blocks := [match[1].strip() for match in _ANSWER.finditer(text)]:
        return [_from_block(block, answer) for block in blocks]
    fenced = [match[1].strip() for match in _FENCE.finditer(text)]
    if objects := [value for block in fenced if isinstance(value := _json(block), dict)]:
        return objects
    if any(says_nothing(block) for block in fenced):
        raise _Nothing
    if tagged := _from_tags(text, answer):
        return [tagged]
    return [value for part in _objects(text) if isinstance(value := _json(part), dict)]


def _from_block(block: str, answer: type[BaseModel]) -> dict[str, Any]:
    if says_nothing(block):
        raise _Nothing
    inner = _FENCE.fullmatch(block)
    value = _json(inner[1] if inner else block)
    if isinstance(value, dict):
        return value
    if tagged := _from_tags(block, answer):
        return tagged
    if len(answer.model_fields) == 1 and "<" not in block and "{" not in block:
        return {next(iter(answer.model_fields)): block}
    raise Unusable("no-answer-block", f"the answer block holds none of the fields: {block[:200]}")


def _from_tags(text: str, answer: type[BaseModel]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in answer.model_fields.items():
        values = re.findall(rf"<{re.escape(name)}>(.*?)</{re.escape(name)}>", text, re.DOTALL)
        if len(set(values)) > 1:
            raise Unusable("several-answers", f"<{name}> stands {len(values)} times")
        if values:
            found[name] = _tag_value(values[0].strip(), field.annotation)
    return found


def _tag_value(text: str, kind: Any) -> Any:
    """A tag's text is a string where the field is one; any other field is read as JSON."""
    if says_nothing(text) and _allows(kind, type(None)):
        return None
    if _allows(kind, str):
        return text
    value = _json(text)
    return text if value is None else value


def _allows(kind: Any, wanted: type) -> bool:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return any(_allows(part, wanted) for part in typing.get_args(kind))
    return isinstance(kind, type) and issubclass(kind, wanted)


def _objects(text: str) -> Iterator[str]:
    """Yields the outermost ``{...}`` parts; braces within strings do not count."""
    depth, start, in_string, escaped = 0, 0, False, False
    for place, char in enumerate(text):
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == "{":
            start = place if depth == 0 else start
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if depth == 0:
                yield text[start : place + 1]
        elif char == '"' and depth:
            in_string, escaped = True, False


def _distinct(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [value for place, value in enumerate(values) if value not in values[:place]]


def _mended(text: str, reply: Reply) -> list[dict[str, Any]]:
    """Mends one object with slips (a trailing comma, single quotes); only if the server says that the reply ended
    by itself and the object is closed: mending a cut-off reply would make half an answer a whole one."""
    inner = _FENCE.search(text)
    body = (inner[1] if inner else text).strip()
    whole = reply.finish_reason == "stop" and body.startswith("{") and body.endswith("}")
    if not whole or body.count("{") != body.count("}"):
        return []
    import json_repair

    value = json_repair.loads(body)
    return [value] if isinstance(value, dict) and value else []


def _looks_cut(text: str) -> bool:
    for name in re.findall(r"<([A-Za-z_]\w*)>", text):
        if f"</{name}>" not in text:
            return True
    if text.count("```") % 2:
        return True
    return text.lstrip("`jsonxml \n").startswith(("{", "[")) and not text.endswith(("}", "]", "`"))


def _declined(answer: type[A]) -> A:
    """Returns the answer whose fields are null, where its type has one: the method then decides what that means."""
    nulls = {name: None for name, field in answer.model_fields.items() if field.is_required()}
    try:
        return answer.model_validate(nulls)
    except ValidationError:
        raise Unusable("model-declined") from None


def _validated(value: dict[str, Any], answer: type[A]) -> A:
    try:
        return answer.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the answer"
        if first["input"] is None and first["type"].endswith("_type"):
            raise Unusable("model-declined", f"{place} is null") from None
        raise Unusable("wrong-form", f"{place}: {first['msg']}") from None
