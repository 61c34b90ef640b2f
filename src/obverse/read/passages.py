"""Documents as people write them: objects, strings, lists of either, and the holes in them."""

from __future__ import annotations

import ast
import hashlib
import io
import re
import tokenize
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from math import isinf
from typing import Any

from obverse.files import parse_json
from obverse.read.faults import Findings
from obverse.read.half_pairs import note_half_pairs

ID_KEYS = ("id", "doc_id", "_id", "docid", "document_id", "pid", "docno")
TEXT_KEYS = ("text", "contents", "content", "passage", "body", "document", "document_text")
TITLE_KEYS = ("title", "headline", "name")

_DIGITS = re.compile(rb"\d+")

Passage = tuple[str, str, str]
"""``(doc_id, title, text)``."""


def passages(
    value: Any, field: str, line: int, findings: Findings, *, bare: bool = False
) -> tuple[list[tuple[Passage, Any]], str | None]:
    """Returns the usable documents of a field beside what they were, and why the last unusable one is none.

    Args:
        value: A list of objects or strings, or one of them alone.
        field: The column's name, for reports.
        bare: Whether strings are the format's own way and need no warning.

    Returns:
        The passages, each with the item that it was made of, and a reason for :func:`lacking`, or None.
    """
    if isinstance(value, list):
        items = value
    elif value is None:
        return [], None
    else:
        items = _listed(value, field, line, findings, bare)
    found: list[tuple[Passage, Any]] = []
    reason: str | None = None
    for number, item in enumerate(items):
        passage = passage_of(item, field, number, line, findings, bare or item is value)
        if isinstance(passage, tuple):
            found.append((passage, item))
        else:
            reason = passage
    return found, reason


_WRONG = "wrong"


def lacking(reason: str | None, what: str) -> str:
    """Returns why there is no positive (or whatever it is) as a fixed phrase.

    Args:
        reason: What :func:`passages` said of the last unusable one: ``blank``, ``null``, ``missing``, ``wrong``.
    """
    if reason == _WRONG:
        return f"{what} of the wrong type"
    return f"{reason or 'no'} {what}"


def passage_of(
    item: Any, field: str, number: int, line: int, findings: Findings, bare: bool
) -> Passage | str:
    """Returns the document that one item of a list is, or a fixed reason why it is none."""
    if type(item) is dict:
        return _from_object(item, field, number, line, findings)
    return _from_other(item, field, number, line, findings, bare)


def _listed(value: Any, field: str, line: int, findings: Findings, bare: bool) -> list[Any]:
    """Returns a list for what stands where one belongs: a string, an object, or a list written as a string."""
    if isinstance(value, str):
        found = _said_list(value)
        if found is not None:
            findings.note("json_in_string", line, field, f"{_start(value)} read as a list")
            note_half_pairs(line, value.encode(errors="replace"), found, findings, field)
            return found
        if not bare:
            findings.note("string_for_list", line, field, f"{_start(value)} read as one passage")
    elif isinstance(value, dict) and not bare and field != "document":
        findings.note("object_for_list", line, field, "one object read as a list of one")
    return [value]


def _said_list(text: str) -> list[Any] | None:
    """Returns the list that a cell of a table spells, as JSON or as Python prints it."""
    if not (text.startswith("[") and text.rstrip().endswith("]")):
        return None
    try:
        found = parse_json(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        try:
            found = _python_list(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, tokenize.TokenError):
            return None
    fits = isinstance(found, list) and all(isinstance(item, (str, dict)) for item in found)
    return found if fits else None


def _python_list(text: str) -> Any:
    """Returns the list that Python or NumPy printed; NumPy puts no commas, and Python would join its strings."""
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    kinds = [token.type for token in tokens if token.type != tokenize.NL]
    if any(pair == (tokenize.STRING, tokenize.STRING) for pair in pairwise(kinds)):
        return [ast.literal_eval(each.string) for each in tokens if each.type == tokenize.STRING]
    return ast.literal_eval(text)


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: white space, zero-width, control and filling characters alone."""
    if not text or text.isspace():
        return True
    if text[0] > " " and text.isascii():
        return False
    return all(char in _FILLERS or unicodedata.category(char)[0] in "ZCM" for char in text)


_FILLERS = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and symbols of which nothing can be seen."""


def _from_object(
    item: Mapping[str, Any], field: str, number: int, line: int, findings: Findings
) -> Passage | str:
    findings.object_documents = True
    names = names_of(tuple(item))
    text: Any = item[names[1]] if names[1] else _MISSING
    title: Any = item[names[2]] if names[2] else ""
    if type(title) is not str:
        title = (
            "" if title is None else _said_string(title, f"{field}[{number}].title", line, findings)
        )
    if type(text) is not str or is_blank(text) or text[0] == "\ufeff":
        text = _text_or_reason(text, title, f"{field}[{number}].text", line, findings)
        if text is None:
            return "null"
        if text is _MISSING:
            return "missing"
        if is_blank(text) and is_blank(title):
            return "blank"
    doc_id: Any = item[names[0]] if names[0] else None
    if type(doc_id) is not str or not doc_id:
        doc_id = string_id(doc_id, f"{field}[{number}].id", line, findings)
    return doc_id or text_id(title, text), title, text


def _from_other(
    item: Any, field: str, number: int, line: int, findings: Findings, expected: bool
) -> Passage | str:
    where = f"{field}[{number}]"
    if item is None:
        findings.note("null_text", line, where, "the document is null")
        return "null"
    if not isinstance(item, str):
        findings.note("wrong_type", line, where, f"a document cannot be {item!r:.40}")
        return _WRONG
    if is_blank(item):
        code = "blank_text" if item else "empty_text"
        findings.note(code, line, where, "the document is blank")
        return "blank"
    if not expected:
        findings.note("string_for_document", line, where, f"{_start(item)} read as one passage")
    text = item.removeprefix("\ufeff")
    return text_id("", text), "", text


def _text_or_reason(text: Any, title: str, where: str, line: int, findings: Findings) -> Any:
    """Returns a text, None for null, or ``_MISSING``; a title alone is a text too."""
    if isinstance(text, str):
        text = text.removeprefix("\ufeff")
        if is_blank(text) and is_blank(title):
            findings.note(
                "blank_text" if text else "empty_text", line, where, "the document is blank"
            )
        return text
    if title.strip() and (text is None or text is _MISSING):
        return ""
    if text is None:
        findings.note("null_text", line, where, "the text is null")
    elif text is _MISSING:
        findings.note("missing_text", line, where, f"no key {', '.join(TEXT_KEYS[:3])} ...")
    else:
        return _said_string(text, where, line, findings)
    return text


def _said_string(value: Any, where: str, line: int, findings: Findings) -> str:
    text = ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        text = " ".join(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value == value:
        text = str(value)
    read = f"read as {text!r:.40}" if text else "not used"
    findings.note("wrong_type", line, where, f"should be a string: {value!r:.40}; {read}")
    return text


def string_id(value: Any, field: str, line: int, findings: Findings) -> str | None:
    """Returns an id as the string it is, or None where there is none; a JSON number is reported.

    A whole number that some tool turned into 7.0 is read as 7, so that one document has one id.
    """
    if isinstance(value, str):
        return value or None
    if value is None:
        findings.note("missing_id", line, field, "has no id")
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        findings.note("wrong_type", line, field, f"an id cannot be {value!r:.40}")
        return None
    if value != value:
        findings.note("missing_id", line, field, "has no id (NaN)")
        return None
    if isinf(value):
        findings.note("wrong_type", line, field, f"an id cannot be {value!r}")
        return None
    text = _digits(value, findings.raw)
    findings.note("number_id", line, field, f"the number {value} read as the string {text!r}")
    return text


def _digits(value: int | float, raw: bytes) -> str:
    """A number's digits; those of one beyond 64 bits, which the parser rounds, are looked up in the line."""
    if isinstance(value, int):
        return str(value)
    if abs(value) >= 2**53:
        exact = (digits.decode() for digits in _DIGITS.findall(raw))
        return next((digits for digits in exact if float(digits) == value), repr(value))
    return str(int(value)) if value == int(value) else repr(value)


def text_id(title: str, text: str) -> str:
    """Returns an id made from a document's exact content: the same text has the same id in every file."""
    digest = hashlib.blake2b(
        f"{title}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8
    ).hexdigest()
    return f"text-{digest}"


@lru_cache(maxsize=10_000)
def names_of(keys: tuple[str, ...]) -> tuple[str, str, str]:
    """Returns which of an object's keys hold id, text and title; empty where none does. Files have few sets of keys."""
    found = [
        next((name for name in names if name in keys), "")
        for names in (ID_KEYS, TEXT_KEYS, TITLE_KEYS)
    ]
    return found[0], found[1], found[2]


def _start(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:39] + "…")


class _Missing:
    """Stands for a key that is not there, where null means something else."""


_MISSING = _Missing()
