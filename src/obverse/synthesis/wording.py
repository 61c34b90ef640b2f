"""What makes an instruction unusable, whatever its labels: found by string checks, before anything is paid for."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from obverse.identity import normalised
from obverse.synthesis.dialogue import Rejected

MAX_SENTENCES = 2
MAX_WORDS = 60
COPIED_WORDS = 8
"""A run of this many words that also stands in a document is a copy."""

_PLACEHOLDER = re.compile(
    r"^\W*(?:(?:put|insert|write|place) )?(?:(?:your|the|a|new|final|short) )*instruction(?: here)?\W*$"
    r"|^\s*[\[<{].*[\]>}]\s*$|^[\W_]*$",
    re.IGNORECASE,
)
_TASK_TALK = re.compile(
    r"\b(?:passages?|documents?|docs?|candidates?|options?|abstracts?)\s*(?:no\.?|number|#|id)?\s*\[?\d+\b"
    r"|(?:^|[^\w+])(?:P\+|N\*|d\+|N_?\d+\b)"
    r"|\b(?:positive|negative|promoted|first|second|other|above|given|clicked)\s+(?:passage|document|candidate)s?\b"
    r"|\b(?:doc|passage|document)[ _-]?ids?\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"^\W*(?:none|null|n/?a)?\W*$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?:[.!?]+[\"'”’)]*(?=\s+\S)|[。！？]+(?=\S))")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|dr|st|u\.s|u\.k)|\b[A-Z])$", re.I
)
_WORD = re.compile(r"\w+")


def check_instruction(
    instruction: str,
    *,
    query: str,
    texts: Iterable[str],
    original: str | None = None,
    max_sentences: int = MAX_SENTENCES,
    max_words: int = MAX_WORDS,
) -> None:
    """Checks an instruction's wording.

    Args:
        instruction: What the LLM wrote.
        query: The topic's query, for the language.
        texts: The documents, from which no run of words may be copied.
        original: An instruction that the new one must differ from.
        max_sentences: More are too long.
        max_words: More are too long.

    Raises:
        Rejected: With one of the codes ``empty-instruction``, ``placeholder``, ``refers-to-passages``,
            ``same-as-original``, ``copies-passage``, ``too-long``, ``other-language``.
    """
    text = instruction.strip()
    if not text:
        raise Rejected("empty-instruction")
    if _PLACEHOLDER.search(text):
        raise Rejected("placeholder", text[:80])
    if found := _TASK_TALK.search(text):
        raise Rejected("refers-to-passages", found[0].strip())
    if original is not None and _same(text, original):
        raise Rejected("same-as-original")
    if run := copied_run(text, texts):
        raise Rejected("copies-passage", run)
    sentences, words = count_sentences(text), len(text.split())
    if sentences > max_sentences or words > max_words:
        raise Rejected("too-long", f"{sentences} sentences, {words} words")
    if (wanted := script(query)) and (got := script(text)) and wanted != got:
        raise Rejected("other-language", f"{got} instead of {wanted}")


def said(instruction: str | None) -> str:
    """Returns an answer's instruction, trimmed.

    Raises:
        Rejected: With the code ``model-declined``, where the answer says that there is none (null, blank, "none").
            To decline is allowed; nobody asks again.
    """
    if instruction is None or _NOTHING.match(instruction):
        raise Rejected("model-declined")
    return instruction.strip()


def count_sentences(text: str) -> int:
    """Returns the number of sentences; abbreviations and initials end none."""
    ends = [
        match
        for match in _SENTENCE_END.finditer(text.strip())
        if not _ABBREVIATION.search(text.strip()[: match.start()])
    ]
    return len(ends) + 1


def copied_run(text: str, sources: Iterable[str], words: int = COPIED_WORDS) -> str | None:
    """Returns the first run of ``words`` words that a source holds too, or None.

    A shorter text of at least four words is copied where a source holds the whole of it.
    """
    tokens = _WORD.findall(normalised(text))
    size = min(words, len(tokens))
    if size < 4:
        return None
    runs = [" ".join(tokens[i : i + size]) for i in range(len(tokens) - size + 1)]
    for source in sources:
        held = f" {' '.join(_WORD.findall(normalised(source)))} "
        for run in runs:
            if f" {run} " in held:
                return run
    return None


def script(text: str) -> str | None:
    """Returns the writing system of most letters (LATIN, CYRILLIC, CJK, ...), or None where there is no letter."""
    names = Counter(unicodedata.name(char, "?").split(" ", 1)[0] for char in text if char.isalpha())
    return names.most_common(1)[0][0] if names else None


def _same(a: str, b: str) -> bool:
    return _WORD.findall(normalised(a)) == _WORD.findall(normalised(b))
