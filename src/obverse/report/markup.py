"""HTML and SVG as text that is escaped unless it was built here."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import TypeAlias

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_VOID = frozenset({"meta", "br", "hr", "wbr"})
_CODE = re.compile(r"`([^`]+)`")


class Markup(str):
    """Text that is HTML already; every other string is escaped."""

    __slots__ = ()


Content: TypeAlias = "str | Iterable[Content] | None"


def text(content: Content) -> Markup:
    """Returns content as HTML: plain strings escaped, markup as it is, nested iterables in their order."""
    if content is None:
        return Markup("")
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return Markup(html.escape(_UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", content)))
    return Markup("".join(text(part) for part in content))


def element(
    name: str, /, *content: Content, **attributes: str | int | float | bool | None
) -> Markup:
    """Returns an element with escaped content and attributes.

    Args:
        name: The tag.
        *content: What stands inside; plain strings are escaped.
        **attributes: ``class_`` is class, ``stroke_width`` is stroke-width; None and False leave one out, True sets
            it without a value, numbers are written short.
    """
    written = "".join(
        f" {key}" if value is True else f' {key}="{text(_short(value))}"'
        for key, value in ((k.rstrip("_").replace("_", "-"), v) for k, v in attributes.items())
        if value is not None and value is not False
    )
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{text(content)}</{name}>")


def with_code(words: str) -> Markup:
    """Returns text in which words between backticks are set as code."""
    parts = _CODE.split(words)
    return text(element("code", part) if number % 2 else part for number, part in enumerate(parts))


def _short(value: str | int | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
