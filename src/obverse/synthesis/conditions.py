"""Conditions on a document that a program proves: what they are, whether a document meets one, which tell two apart.

A condition stands in a view's origin as ``{"kind", "value", "negated"}``; :func:`satisfies` is the judge that labels,
filters and the compliance measure share. Title and text count as one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from obverse.errors import InputError
from obverse.identity import normalised
from obverse.records import Doc
from obverse.synthesis.wording import script

LENGTHS = (80, 100, 120, 150, 180, 200, 250, 300, 400)
"""Word limits that people say."""

_PATTERNS: dict[str, re.Pattern[str]] = {
    "percentages": re.compile(r"\d\s?%|\bper ?cent\b", re.IGNORECASE),
    "p_value": re.compile(r"\bp\s*(?:-?\s*values?\s*)?[<=>≤≥]\s*0?[.·]\d", re.IGNORECASE),
    "interval": re.compile(r"\bconfidence intervals?\b|\b9[059]\s?%\s?CI\b", re.IGNORECASE),
    "year": re.compile(r"\b(?:19|20)\d\d\b"),
    "digits": re.compile(r"\d"),
    "headings": re.compile(
        r"\b(?:BACKGROUND|OBJECTIVES?|AIMS?|METHODS|METHODOLOGY|RESULTS|FINDINGS|CONCLUSIONS?)\b(?=[: ])"
    ),
    "steps": re.compile(
        r"\(\s*(?:i|1|a)\s*\).*\(\s*(?:ii|2|b)\s*\)|(?:^|\n)\s*(?:[-*•]|\d+[.)])\s", re.DOTALL
    ),
    "question": re.compile(r"\?"),
    "first_person": re.compile(r"\b(?:we|our|us|I|my)\b(?<!\bUS)"),
    "quotes": re.compile(r"[\"“”«»]|''"),
    "abbreviation": re.compile(r"\([A-Z][A-Z0-9][A-Za-z0-9-]{0,6}\)"),
    "sample_size": re.compile(r"\bn\s*=\s*\d", re.IGNORECASE),
    "measured": re.compile(
        r"\b\d+(?:[.,·]\d+)?\s?(?:mg|kg|g|ml|mm|cm|nm|µm|°C|hours?|days?|weeks?|months?|years?)\b"
    ),
    "link": re.compile(r"\bhttps?://|\bwww\."),
}
_FIRST_PERSON = re.compile(r"\b(?:we|our|ours|us|my)\b", re.IGNORECASE)
_TITLE_PATTERNS = {
    "title_question": re.compile(r"\?\s*$"),
    "title_colon": re.compile(r":\s"),
}
KINDS: tuple[str, ...] = (
    "word",
    "shorter",
    *(kind for kind in _PATTERNS),
    *_TITLE_PATTERNS,
    "script",
)
"""What can be asked for. ``word`` has a word as its value, ``shorter`` a number of words, ``script`` a writing
system; the others have none."""

_TOKEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_STOP = frozenset(
    re.findall(
        r"\S+",
        """
a about above across after again against all also although always among an analysis and another
any are article as associated association at average background be because been before being below
best better between both but by can cannot case cases change changes common conclusion conclusions
could current data decrease did different do does doing done down due during each early effect
effects either even ever every evidence factor factors few finding findings first following for
form forms found four from further gain given good group groups had has have having he her here
high higher him his how however i identify if important in include includes including increase
increased into is it its itself just key known large large-scale late least less level levels like
likely long long-term loss low lower made main major make many may method methods minor more most
much must my near need new no non nor not novel now number numbers objective of off on once one
only or other others our out over own paper part parts per possible potential present previous
problem process provide provides rate rates reduction relationship report reports result results
role roles same second see set several shall she short should show showed shown shows significant
significantly similar since single small so some specific still studies study such suggest
suggests support term terms than that the their them then there thereby therefore these they this
those three through thus time times to together too total two type types under understanding until
up upon us use used using various very was we well were what when where whether which while who
whom whose why will with within without work works would year years yet you your
""",
    )
)


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that a document meets or not.

    Attributes:
        kind: One of :data:`KINDS`.
        value: What the kind needs, else empty.
        negated: Whether the contrary is asked for.
    """

    kind: str
    value: str = ""
    negated: bool = False

    def contrary(self) -> Condition:
        """Returns the condition that exactly the other documents meet."""
        return Condition(self.kind, self.value, not self.negated)

    def row(self) -> dict[str, Any]:
        """Returns the condition as it stands in a view's origin."""
        return asdict(self)


def condition_from(row: Mapping[str, Any]) -> Condition:
    """Returns the condition of a view's origin.

    Raises:
        InputError: If it is none.
    """
    try:
        condition = Condition(row["kind"], str(row.get("value", "")), bool(row.get("negated")))
    except (KeyError, TypeError, AttributeError):
        raise InputError("is no condition", where="condition", fix='Write {"kind": ...}') from None
    if condition.kind not in KINDS:
        raise InputError(
            f"unknown kind of condition {condition.kind!r}",
            where="condition",
            fix=f"Use one of {', '.join(KINDS)}",
        )
    return condition


def satisfies(condition: Condition, doc: Doc) -> bool:
    """Whether a document meets a condition."""
    return _holds(condition, facts(doc)) != condition.negated


@dataclass(frozen=True, slots=True)
class Facts:
    """What conditions look at, computed once for a document.

    Attributes:
        text: Title and text.
        words: Number of words of the text alone.
        tokens: How often each word stands in title and text, lower case.
        title_tokens: The words of the title.
        surface: How words are written that never stand there in lower case: names, acronyms.
        holds: The kinds without a value that the document meets.
    """

    text: str
    words: int
    tokens: Counter[str]
    title_tokens: tuple[str, ...]
    surface: dict[str, str]
    holds: frozenset[str]


@lru_cache(maxsize=100_000)
def facts(doc: Doc) -> Facts:
    """Returns what conditions look at."""
    text = f"{doc.title}\n{doc.text}" if doc.title else doc.text
    holds = {kind for kind, pattern in _PATTERNS.items() if pattern.search(text)}
    holds.discard("first_person")
    if _FIRST_PERSON.search(text.replace("US", "")):
        holds.add("first_person")
    holds |= {kind for kind, p in _TITLE_PATTERNS.items() if p.search(doc.title.strip())}
    title = tuple(_TOKEN.findall(normalised(doc.title)))
    tokens = Counter(_TOKEN.findall(normalised(text)))
    written = set(_TOKEN.findall(text))
    surface = {
        lower: form for form in sorted(written) if (lower := normalised(form)) not in written
    }
    return Facts(text, len(doc.text.split()), tokens, title, surface, frozenset(holds))


def _holds(condition: Condition, known: Facts) -> bool:
    if condition.kind == "word":
        word = normalised(condition.value)
        return any(form in known.tokens for form in (word, f"{word}s", f"{word}es"))
    if condition.kind == "shorter":
        return known.words < int(condition.value)
    if condition.kind == "script":
        return script(known.text) == condition.value
    return condition.kind in known.holds


def telling_apart(wanted: Doc, unwanted: Doc, query: str) -> Iterator[Condition]:
    """Yields conditions that one document meets and the other does not.

    A word counts only where the other document has no relative of it (a word that begins with the same letters), and
    where the query does not hold it; a length only where both are well off the limit.
    """
    a, b = facts(wanted), facts(unwanted)
    for condition in _differences(a, b, query):
        if _holds(condition, a) != condition.negated == _holds(condition, b):
            yield condition


def _differences(a: Facts, b: Facts, query: str) -> Iterator[Condition]:
    for kind in sorted(a.holds ^ b.holds):
        yield Condition(kind, negated=kind in b.holds)
    for limit in LENGTHS:
        if a.words < 0.85 * limit and b.words > 1.15 * limit:
            yield Condition("shorter", str(limit))
        if b.words < 0.85 * limit and a.words > 1.15 * limit:
            yield Condition("shorter", str(limit), negated=True)
    if (mine := script(a.text)) and (other := script(b.text)) and mine != other:
        yield Condition("script", mine)
    asked = {_stem(word) for word in _TOKEN.findall(normalised(query))}
    yield from (Condition("word", word) for word in _own_words(a, b, asked))
    yield from (Condition("word", word, negated=True) for word in _own_words(b, a, asked))


def _own_words(a: Facts, b: Facts, asked: set[str], most: int = 6) -> list[str]:
    """Returns the words that matter most to a document and that the other has no relative of."""
    others = {_stem(word) for word in b.tokens} | asked
    weights = {
        word: times + 3 * (word in a.title_tokens)
        for word, times in a.tokens.items()
        if (times > 1 or word in a.title_tokens) and is_topical(word) and _stem(word) not in others
    }
    best = sorted(weights, key=lambda word: (-weights[word], word))[:most]
    return [a.surface.get(word, word) for word in best]


def is_topical(word: str) -> bool:
    """Whether a word says something about a subject, so that a person would ask for it."""
    return (
        3 < len(word) < 21
        and word not in _STOP
        and not word.endswith(("ed", "ly"))
        and not any(char.isdigit() for char in word)
    )


def _stem(word: str) -> str:
    return word[:5]


def shared_subject(wanted: Doc, other: Doc, most: int = 6) -> str:
    """Returns words of a title, in order, whose subject the other document speaks of too."""
    theirs = {_stem(word) for word in facts(other).tokens}
    seen: list[str] = []
    for word in facts(wanted).title_tokens:
        if is_topical(word) and _stem(word) in theirs and word not in seen:
            seen.append(word)
    return " ".join(seen[:most])
