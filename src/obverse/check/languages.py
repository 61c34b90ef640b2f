"""Which script and language a text is in, roughly: enough to show a stray one among many of another."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_WORDS = {
    "English": "the of and is are was with for that this from have which not you it be as on by",
    "German": "der die das und ist nicht ein eine mit für auf den von zu im sich auch dem als wird",
    "French": "le la les des est une dans pour pas avec sur qui que du au par plus sont ce cette",
    "Spanish": "el los las una es por con para del que como más pero sus está son este al se lo",
    "Italian": "il lo gli di che è per una con non del della sono nel alla più come dei anche si",
    "Portuguese": "o os uma não com para do da dos das em por mais como são seu ao que na no",
    "Dutch": "het een van de en niet dat met voor zijn op te ook aan er door bij naar wordt uit",
}
_ENOUGH = 3
_OF_WORD: dict[str, list[str]] = {}
for _language, _words in _WORDS.items():
    for _word in _words.split():
        _OF_WORD.setdefault(_word, []).append(_language)

CODES = {
    "English": "en",
    "German": "de",
    "French": "fr",
    "Spanish": "es",
    "Italian": "it",
    "Portuguese": "pt",
    "Dutch": "nl",
    "Chinese": "zh",
    "Japanese": "ja",
    "Hangul": "ko",
    "Greek": "el",
    "Hebrew": "he",
    "Thai": "th",
}
"""Codes of ISO 639 for what :func:`language` says, where it names one language."""


def codes_of(texts: Iterable[str], least: float = 0.1) -> list[str]:
    """Returns the codes of the languages of texts, the commonest first; rare ones (below ``least``) are left out."""
    found = Counter(CODES[name] for text in texts if (name := language(text)) in CODES)
    return [code for code, count in found.most_common() if count >= least * found.total()]


def language(text: str, most: int = 300) -> str | None:
    """Returns the script of a text, or its language for Latin script; None where it is too short to tell.

    Latin languages are told by their small words; a text needs three of them, and twice as many as of the next.
    """
    text = text[:most]
    if text.isascii():
        return _latin(text)
    scripts = Counter(map(_script, filter(str.isalpha, text)))
    if sum(scripts.values()) < 10:
        return None
    script, count = scripts.most_common(1)[0]
    if script in ("CJK", "HIRAGANA", "KATAKANA"):
        return "Japanese" if scripts["HIRAGANA"] + scripts["KATAKANA"] else "Chinese"
    if count < 0.6 * sum(scripts.values()):
        return None
    return _latin(text) if script == "LATIN" else script.capitalize()


@lru_cache(maxsize=50_000)
def _script(char: str) -> str:
    return unicodedata.name(char, "UNKNOWN").split()[0]


def _latin(text: str) -> str | None:
    small = list(filter(_OF_WORD.__contains__, text.lower().split()))
    if len(small) < _ENOUGH:
        return None
    counts: dict[str, int] = {}
    for word in small:
        for name in _OF_WORD[word]:
            counts[name] = counts.get(name, 0) + 1
    first = max(counts, key=counts.__getitem__)
    count = counts.pop(first)
    return first if count >= _ENOUGH and count >= 2 * max(counts.values(), default=0) else None
