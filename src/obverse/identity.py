"""When two texts are the same document: the one rule that mining, training, filters and checks share.

Only comparisons use the normalised form; stored texts are never rewritten.
"""

from __future__ import annotations

import hashlib
import unicodedata


def normalised(text: str) -> str:
    """Returns the text as compared: NFKC, case-folded, runs of white space as one blank, trimmed."""
    if text.isascii():
        lower = text.lower()
        if lower.isprintable() and "  " not in lower and lower == lower.strip():
            return lower  # nothing to take away, and most texts are like that
        return " ".join(lower.split())
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def text_uid(text: str) -> int:
    """Returns a 63-bit content hash: equal for texts that are equal after :func:`normalised`. Never 0."""
    digest = hashlib.blake2b(
        normalised(text).encode("utf-8", "surrogatepass"), digest_size=8
    ).digest()
    return (int.from_bytes(digest, "big") >> 1) or 1


def same_text_rule(a: str, b: str) -> str | None:
    """Says by which rule two texts are the same, the strictest first, or returns None.

    The rules: ``exact``; ``nfc, case and space``; ``nfkc``.
    """
    if a == b:
        return "exact"
    if _loose(a) == _loose(b):
        return "nfc, case and space"
    return "nfkc" if normalised(a) == normalised(b) else None


def _loose(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
