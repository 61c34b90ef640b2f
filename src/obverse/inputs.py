"""The one place that builds an encoder's input from query, instruction and document.

Mining, filters, training, evaluation and serving all call :meth:`Template.query` and :meth:`Template.doc`; the
template is saved in the model folder (``obverse.json``), so that a model is asked as it was taught.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.records import Doc

FILE_NAME = "obverse.json"
_SLOT = re.compile(r"\{(query|instruction|title|text)\}")


@dataclass(frozen=True, slots=True)
class Template:
    """How query, instruction and document become the strings that are encoded.

    Attributes:
        instructed: The pattern of a query with an instruction, with the slots ``{query}`` and ``{instruction}``.
        plain: The pattern of a query without one, with the slot ``{query}``.
        document: The pattern of a document, with the slots ``{title}`` and ``{text}``.
    """

    instructed: str = "{query} {instruction}"
    plain: str = "{query}"
    document: str = "{title} {text}"

    def __post_init__(self) -> None:
        for pattern, slots in (
            (self.instructed, {"query", "instruction"}),
            (self.plain, {"query"}),
            (self.document, {"text"}),
        ):
            missing = slots - set(_SLOT.findall(pattern))
            if missing:
                raise SettingError(
                    f"the template {pattern!r} lacks the slot {{{min(missing)}}}",
                    fix="Add it to the template",
                )

    def query(self, query: str, instruction: str | None = None) -> str:
        """Returns the encoder's input for a query. Outer white space goes; a blank instruction leaves no trace.

        What stands in the user's own text is never taken for a slot. A query that begins with the words that the
        template puts first does not get them twice, and one that has the template's form already stays as it is.
        """
        query, instruction = query.strip(), (instruction or "").strip()
        if not instruction and _has_form(query, self.plain, self.instructed):
            return query
        query = _without_lead(query, self.plain, self.instructed)
        pattern = self.instructed if instruction else self.plain
        return _fill(pattern, query=query, instruction=instruction)

    def doc(self, doc: Doc) -> str:
        """Returns the encoder's input for a document; documents never get a query's prompt, nor their own twice."""
        title, text = doc.title.strip(), doc.text.strip()
        if title:
            title = _without_lead(title, self.document)
            return _fill(self.document, title=title, text=text).strip()
        bare = self.document.replace("{title} ", "", 1)
        return _fill(bare, title="", text=_without_lead(text, bare)).strip()

    @property
    def digest(self) -> str:
        """A short hash that two templates share only if they build the same strings."""
        return hashlib.sha256(
            "\0".join([self.instructed, self.plain, self.document]).encode()
        ).hexdigest()[:12]


TEMPLATES: dict[str, Template] = {
    "default": Template(),
    "e5": Template("query: {query} {instruction}", "query: {query}", "passage: {title} {text}"),
    "bge": Template(
        "Represent this sentence for searching relevant passages: {query} {instruction}",
        "Represent this sentence for searching relevant passages: {query}",
    ),
    "gte": Template(),
    "qwen3": Template(
        "Instruct: {instruction}\nQuery:{query}",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:{query}",
    ),
    "e5-mistral": Template(
        "Instruct: {instruction}\nQuery: {query}",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: {query}",
    ),
    "promptriever": Template(
        "query:  {query} {instruction}", "query:  {query}", "passage:  {title} {text}"
    ),
    "instruction-first": Template("{instruction} {query}"),
}
"""Query templates by name; models that were trained with a prompt need theirs."""


def template_named(name: str) -> Template:
    """Returns a template of :data:`TEMPLATES`.

    Raises:
        SettingError: If there is none of that name.
    """
    try:
        return TEMPLATES[name]
    except KeyError:
        raise SettingError(
            f"unknown template {name!r}", fix=f"Use one of {', '.join(TEMPLATES)}"
        ) from None


def saved_template(folder: str | Path) -> Template | None:
    """Returns the template that a model folder was saved with, or None."""
    import orjson

    path = Path(folder) / FILE_NAME
    if not path.is_file():
        return None
    try:
        row: dict[str, Any] = orjson.loads(path.read_bytes())["template"]
        return Template(**row)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise InputError(
            "holds no template", where=str(path), fix="Save the model again with obverse"
        ) from None


def speakable(text: str) -> str:
    """Returns a text with U+FFFD for each half of a surrogate pair, which no tokenizer takes."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def template_row(template: Template) -> dict[str, str]:
    """Returns the template as it is saved in a model folder."""
    return asdict(template)


@dataclass(slots=True)
class Shortened:
    """What shortening took: how many instructions, and tokens of instructions and documents."""

    instructions: int = 0
    instruction_tokens: int = 0


def fit(
    template: Template,
    query: str,
    instruction: str | None,
    max_tokens: int,
    count: Callable[[str], int],
    lost: Shortened | None = None,
) -> str:
    """Returns the query's input within a token limit: whole words go from the instruction's end, the query stays.

    Args:
        max_tokens: The encoder's limit in tokens, special tokens included.
        count: Counts the tokens of a string, special tokens included.
        lost: Adds up what was cut.

    Raises:
        InputError: If the query alone is longer than the limit.
    """
    whole = template.query(query, instruction)
    size = count(whole)
    if size <= max_tokens:
        return whole
    if count(template.query(query)) > max_tokens:
        raise InputError(
            f"the query {query[:60]!r} alone has more than {max_tokens} tokens",
            fix="Raise the limit or shorten the query",
        )
    words = (instruction or "").split()
    fits, over = 0, len(words)
    while over - fits > 1:
        middle = (fits + over) // 2
        if count(template.query(query, " ".join(words[:middle]))) <= max_tokens:
            fits = middle
        else:
            over = middle
    short = template.query(query, " ".join(words[:fits]))
    if lost is not None:
        lost.instructions += 1
        lost.instruction_tokens += size - count(short)
    return short


def _lead(pattern: str) -> str:
    """What a pattern puts before its first slot."""
    return _SLOT.split(pattern, maxsplit=1)[0]


def _without_lead(text: str, *patterns: str) -> str:
    for lead in sorted(map(_lead, patterns), key=len, reverse=True):
        if lead.strip() and text.startswith(lead):
            return text.removeprefix(lead).lstrip() or text
    return text


def _has_form(text: str, *patterns: str) -> bool:
    """Whether a text is what one of the patterns makes; patterns that put nothing first tell nothing."""
    return any(
        _lead(pattern).strip() and re.fullmatch(_form(pattern), text, flags=re.DOTALL)
        for pattern in patterns
    )


@lru_cache(maxsize=256)
def _form(pattern: str) -> str:
    places = [match.span() for match in _SLOT.finditer(pattern)]
    ends = [0, *(end for _, end in places)]
    starts = [*(start for start, _ in places), len(pattern)]
    return ".+".join(re.escape(pattern[e:s]) for e, s in zip(ends, starts, strict=True))


def _fill(pattern: str, **values: str) -> str:
    return _SLOT.sub(lambda match: values.get(match[1], ""), pattern)
