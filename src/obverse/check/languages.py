"""Which script and language a text is in, roughly: enough to show a stray one among many of another."""

from __future__ import annotations

import unicodedata
from collections import Counter

_WORDS = {
    "English": "the of and is are was with for that this from have which not you it be as on by",
    "German": "der die das und ist nicht ein eine mit für auf den von zu im sich auch dem als wird",
    "French": "le la les des est une dans pour pas avec sur qui que du au par plus sont ce cette",
    "Spanish": "el los las una es por con para del que como más pero sus está son este al se lo",
    "Italian": "il lo gli di che è per una con non del della sono nel alla più come dei anche si",
    "Portuguese": "o os uma não com para do da dos das em por mais como são seu ao que na no",
    "Dutch": "het een van de en niet dat met voor zijn op te ook aan er door bij naar wordt uit",
}
_OF_WORD: dict[str, list[str]] = {}
for _language, _words in _WORDS.items():
    for _word in _words.split():
        _OF_WORD.setdefault(_word, []).append(_language)


def language(text: str, most: int = 600) -> str | None:
    """Returns the script of a text, or its language for Latin script; None where it is too short to tell.

    Latin languages are told by their small words; a text needs three of them, and twice as many as of the next.
    """
    text = text[:most]
    if text.isascii():
        return _latin(text)
    scripts = Counter(_script(char) for char in text if char.isalpha())
    if sum(scripts.values()) < 10:
        return None
    script, count = scripts.most_common(1)[0]
    if count < 0.6 * sum(scripts.values()):
        return None
    if script in ("CJK", "HIRAGANA", "KATAKANA"):
        return "Japanese" if scripts["HIRAGANA"] + scripts["KATAKANA"] else "Chinese"
    return _latin(text) if script == "LATIN" else script.capitalize()


def _script(char: str) -> str:
    return unicodedata.name(char, "UNKNOWN").split()[0]


def _latin(text: str) -> str | None:
    counts = Counter(
        name
        for word in text.lower().split()
        for name in _OF_WORD.get(word.strip(".,;:!?()\"'"), ())
    )
    if not counts:
        return None
    ranked = counts.most_common(2)
    first, count = ranked[0]
    second = ranked[1][1] if len(ranked) > 1 else 0
    return first if count >= 3 and count >= 2 * second else None
