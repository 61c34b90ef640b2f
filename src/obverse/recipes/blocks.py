"""A page as blocks, written as Markdown and as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from obverse.report.markup import Content, Markup, element, with_code


@dataclass(frozen=True, slots=True)
class Heading:
    """A section's title."""

    text: str


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Points:
    """A list."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its first column is text, the others are numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to type."""

    text: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """An SVG; Markdown goes without it."""

    svg: Markup


Block = Heading | Words | Points | Table | Code | Drawing


def as_markdown(title: str, blocks: Sequence[Block]) -> str:
    """Returns the page as Markdown."""
    parts = [f"# {title}"]
    parts += [text for block in blocks if (text := _markdown(block))]
    return "\n\n".join(parts) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"## {block.text}"
    if isinstance(block, Words):
        return block.text
    if isinstance(block, Points):
        return "\n".join(f"- {line}" for line in block.lines)
    if isinstance(block, Code):
        return f"```\n{block.text}\n```"
    if isinstance(block, Table):
        rule = ["---", *["---:"] * (len(block.head) - 1)]
        return "\n".join("| " + " | ".join(_cell(c) for c in r) + " |" for r in _rows(block, rule))
    return ""


def _rows(table: Table, rule: Sequence[str]) -> list[Sequence[str]]:
    return [table.head, rule, *table.rows]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def as_html(title: str, blocks: Sequence[Block]) -> str:
    """Returns the page as HTML without scripts or requests."""
    style = files("obverse.report").joinpath("page.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    )
    body: list[Content] = [element("h1", title), *map(_html, blocks)]
    page = element("html", head, element("body", element("main", body)), lang="en")
    return f"<!doctype html>\n{page}\n"


def _html(block: Block) -> Content:
    if isinstance(block, Heading):
        return element("h2", block.text)
    if isinstance(block, Words):
        return element("p", with_code(block.text))
    if isinstance(block, Points):
        return element("ul", (element("li", with_code(line)) for line in block.lines))
    if isinstance(block, Code):
        return element("pre", element("code", block.text))
    if isinstance(block, Table):
        return element(
            "table",
            element("thead", element("tr", (element("th", name) for name in block.head))),
            element("tbody", (_html_row(row) for row in block.rows)),
            class_="scores",
        )
    return block.svg


def _html_row(row: Sequence[str]) -> Markup:
    first, *others = row
    return element(
        "tr",
        element("th", with_code(first), scope="row"),
        (element("td", with_code(cell), class_="number") for cell in others),
    )
