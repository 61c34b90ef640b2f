"""Instructions whose keeping a program can check, on anybody's documents: five kinds.

Each maker looks at what a query finds without instruction and returns instructions with the documents that each
rules out. No judgement and no LLM is needed: a document mentions a word or does not, has figures or has none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from obverse.records import Doc

_WORD = re.compile(r"[^\W\d_]{5,}")
_FIGURE = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Demand:
    """An instruction and the documents among the first ten that it rules out."""

    instruction: str
    ruled_out: tuple[str, ...]


class Shelf:
    """The documents of a probe, with what the rules need to know of each.

    Args:
        docs: The documents.
    """

    def __init__(self, docs: Sequence[Doc]) -> None:
        self.docs: Mapping[str, Doc] = {doc.doc_id: doc for doc in docs}
        self.words = {d: set(_words(doc)) for d, doc in self.docs.items()}

    @cached_property
    def frequency(self) -> Counter[str]:
        """In how many documents each word stands."""
        return Counter(word for words in self.words.values() for word in words)

    @cached_property
    def length(self) -> dict[str, float]:
        return {d: float(len(doc.text.split())) for d, doc in self.docs.items()}

    @cached_property
    def difficulty(self) -> dict[str, float]:
        """The mean length of a word, in letters."""
        return {
            d: sum(map(len, words)) / len(words) if (words := _words(doc)) else 0.0
            for d, doc in self.docs.items()
        }

    def has_figures(self, doc_id: str) -> bool:
        return bool(_FIGURE.search(self.docs[doc_id].text))


Maker = Callable[[str, Sequence[str], Shelf], list[Demand]]


def exclusion(query: str, top: Sequence[str], shelf: Shelf) -> list[Demand]:
    """Returns a demand to leave out a subject that some of the first ten have and the query does not ask for."""
    return [
        Demand(f"Leave out everything about {word}.", _having(word, top, shelf))
        for word in telling_words(query, top, shelf)[:1]
    ]


def negation(query: str, top: Sequence[str], shelf: Shelf) -> list[Demand]:
    """Returns two demands that differ by a negation: mention a word, do not mention it."""
    demands = []
    for word in telling_words(query, top, shelf)[1:2]:
        having = _having(word, top, shelf)
        lacking = tuple(d for d in top if d not in having)
        demands.append(Demand(f"Only texts that do not mention {word}.", having))
        demands.append(Demand(f"Only texts that mention {word}.", lacking))
    return demands


def audience(query: str, top: Sequence[str], shelf: Shelf) -> list[Demand]:
    """Returns a demand for lay readers and one for specialists, ruled by the length of words."""
    low, high = _thirds(shelf.difficulty)
    hard = tuple(d for d in top if shelf.difficulty[d] > high)
    easy = tuple(d for d in top if shelf.difficulty[d] < low)
    return [
        Demand("For lay readers: plain everyday words, no jargon.", hard),
        Demand("For specialists who want the technical terms.", easy),
    ]


def form(query: str, top: Sequence[str], shelf: Shelf) -> list[Demand]:
    """Returns a demand for texts with figures and one for texts without."""
    with_figures = tuple(d for d in top if shelf.has_figures(d))
    without = tuple(d for d in top if d not in with_figures)
    return [
        Demand("Only texts that give figures and percentages.", without),
        Demand("In words alone, without any figures or percentages.", with_figures),
    ]


def length(query: str, top: Sequence[str], shelf: Shelf) -> list[Demand]:
    """Returns a demand for short texts and one for long ones."""
    low, high = _thirds(shelf.length)
    return [
        Demand(
            "Short texts only, a few sentences.", tuple(d for d in top if shelf.length[d] > high)
        ),
        Demand("Long, detailed texts only.", tuple(d for d in top if shelf.length[d] < low)),
    ]


KINDS: dict[str, Maker] = {
    "exclusion": exclusion,
    "negation": negation,
    "audience": audience,
    "format": form,
    "length": length,
}


def telling_words(query: str, top: Sequence[str], shelf: Shelf) -> list[str]:
    """Returns words that two to six of the first ten have and the query does not, the rarest elsewhere first."""
    asked = query.casefold()
    found = Counter(word for d in top for word in shelf.words[d])
    words = [w for w, n in found.items() if 2 <= n <= 6 and w not in asked and w[:5] not in asked]
    return sorted(words, key=lambda w: (shelf.frequency[w] / found[w], -found[w], w))


def _words(doc: Doc) -> list[str]:
    return _WORD.findall(f"{doc.title} {doc.text}".casefold())


def _having(word: str, top: Sequence[str], shelf: Shelf) -> tuple[str, ...]:
    return tuple(d for d in top if word in shelf.words[d])


def _thirds(values: Mapping[str, float]) -> tuple[float, float]:
    ordered = sorted(values.values())
    return ordered[len(ordered) // 3], ordered[2 * len(ordered) // 3]
