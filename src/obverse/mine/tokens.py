"""Words for BM25: nothing that people search for is lost, in any script.

One-letter words stay; ``C++``, ``C#`` and ``F#`` are words of their own; marks that belong to letters (accents,
Indic vowel signs) stay with them; scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese), and Korean,
whose particles hang on to the words, give single characters and pairs; an emoji is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from obverse.errors import MissingExtra, SettingError

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7a3\U00020000-\U000323af"
)
_EMOJI = "\u2600-\u27bf\u2b50-\u2b55\U0001f000-\U0001faff"


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    marks = "".join(
        chr(point)
        for point in range(0x300, 0x3100)
        if unicodedata.category(chr(point)) in ("Mn", "Mc")
    )
    letter = rf"[\w{marks}]"
    return re.compile(rf"[^\W\d_](?:\+\+|#)(?!\w)|{letter}+(?:\+\+|#(?!\w))?|[{_EMOJI}]")


_RUN = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")

_LUCENE = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
    "this to was will with"
)
ENGLISH_STOPWORDS = frozenset(_LUCENE.split())
"""The words that Lucene's English analyser leaves out."""


class Tokeniser:
    """Turns texts into words.

    Args:
        language: Whose stemmer cuts word ends (``english``, ``german`` ...), or ``none``.
        stopwords: ``off``, or ``english``: leave out :data:`ENGLISH_STOPWORDS`.

    Raises:
        SettingError: If there is no such stemmer or list.
        MissingExtra: If PyStemmer is not installed.
    """

    def __init__(self, language: str = "english", stopwords: str = "off") -> None:
        if stopwords not in ("off", "english"):
            raise SettingError(f"no stop words {stopwords!r}", fix="Use off or english")
        self.name = f"words-2/{language}/{stopwords}"
        self._left_out = ENGLISH_STOPWORDS if stopwords == "english" else frozenset()
        self._stem = lru_cache(maxsize=500_000)(_stemmer(language))

    def __call__(self, text: str) -> list[str]:
        """Returns the words of a text, in order."""
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
        words: list[str] = []
        for word in _word().findall(text.casefold()):
            if word.isascii():
                if word not in self._left_out:
                    words.append(self._stem(word))
            else:
                words.extend(self._parts(word))
        return words

    def _parts(self, word: str) -> Iterable[str]:
        for run in _RUN.findall(word):
            if not re.match(rf"[{_UNSPACED}]", run):
                yield self._stem(run)
                continue
            yield from run
            yield from (run[at : at + 2] for at in range(len(run) - 1))


def _stemmer(language: str) -> Any:
    if language == "none":
        return str
    try:
        import Stemmer
    except ImportError:
        raise MissingExtra("PyStemmer", "mine", "mining with BM25") from None
    if language not in Stemmer.algorithms():
        known = ", ".join(sorted(Stemmer.algorithms()))
        raise SettingError(f"no stemmer {language!r}", fix=f"Use none, {known}")
    stem = Stemmer.Stemmer(language).stemWord
    return lambda word: stem(word) if word.isalpha() else word
