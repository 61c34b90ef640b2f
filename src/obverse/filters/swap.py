"""Does the new instruction really swap two documents? Decided on scores of a judge or a frozen encoder."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from obverse.errors import InputError
from obverse.files import read_json_lines
from obverse.log import say
from obverse.records import Label, Topic, View
from obverse.stages import Drops, Stage

if TYPE_CHECKING:
    from obverse.models import Encoder

NOT_A_NUMBER = "a score is missing or not a number"
OFF_TOPIC = "promoted document is off topic for the plain query"
PREFERS_NEGATIVE = "original instruction already prefers the negative"
TIE_BEFORE = "tie under the original instruction"
TIE = "tie under the new instruction"
STILL_WINS = "clicked document still wins under the new instruction"
THIRD_WINS = "a third document wins under the new instruction"
BLIND = (
    "this scorer cannot see instructions: none of {n} pairs changes its order with the instruction"
)

_NUMBERS = (
    *("s_orig_clicked", "s_orig_promoted", "s_new_clicked", "s_new_promoted"),
    *("s_plain_clicked", "s_plain_promoted"),
)
_FEWEST_FOR_BLIND = 5


@dataclass(frozen=True, slots=True)
class Scores:
    """What a scorer says of one pair of documents: clicked (right at first) and promoted (right afterwards).

    Attributes:
        orig_clicked: Under the original instruction, and so on for the promoted one and the new instruction.
        new_others: The further documents under the new instruction.
        plain_clicked: Under the query alone.
    """

    orig_clicked: float
    orig_promoted: float
    new_clicked: float
    new_promoted: float
    plain_clicked: float
    plain_promoted: float
    new_others: tuple[float, ...] = ()

    @property
    def turns(self) -> bool:
        """Whether the order of the two documents changes with the instruction."""
        return (self.orig_promoted > self.orig_clicked) != (self.new_promoted > self.new_clicked)

    @property
    def moves(self) -> bool:
        """Whether any score changes with the instruction."""
        return (self.orig_clicked, self.orig_promoted) != (self.new_clicked, self.new_promoted)


def swap_verdict(scores: Scores, margin: float = 0.0, floor: float = 0.3) -> str:
    """Returns why a pair must go, or an empty string where it is kept.

    Kept is what the comparison of the two documents proves: under the original instruction the clicked one is ahead,
    under the new one the promoted one is, of the clicked one and of every other document, by more than ``margin``;
    and the promoted one fits the query alone at least as well as ``floor``. Equal scores and NaN are never a pass.
    """
    s = scores
    values = (
        *(s.orig_clicked, s.orig_promoted, s.new_clicked, s.new_promoted, *s.new_others),
        s.plain_promoted,
    )
    if not all(map(math.isfinite, values)):
        return NOT_A_NUMBER
    if s.plain_promoted < floor:
        return OFF_TOPIC
    if s.orig_promoted > s.orig_clicked:
        return PREFERS_NEGATIVE
    if s.orig_clicked - s.orig_promoted <= margin:
        return TIE_BEFORE
    if s.new_promoted == s.new_clicked:
        return TIE
    if s.new_promoted - s.new_clicked <= margin:
        return STILL_WINS if s.new_clicked > s.new_promoted else TIE
    others = max(s.new_others, default=-math.inf)
    if others > s.new_promoted:
        return THIRD_WINS
    return TIE if s.new_promoted - others <= margin else ""


def is_blind(found: Sequence[Scores]) -> bool:
    """Whether a scorer cannot see instructions: no score moves, or of several pairs none changes its order."""
    if not found or any(scores.turns for scores in found):
        return False
    return len(found) >= _FEWEST_FOR_BLIND or not any(scores.moves for scores in found)


def read_scores(path: str | os.PathLike[str]) -> Iterator[tuple[str, Scores]]:
    """Yields ``(id, scores)`` of a JSON Lines file with the keys ``s_orig_clicked``, ``s_orig_promoted``,
    ``s_new_clicked``, ``s_new_promoted``, ``s_new_others``, ``s_plain_clicked``, ``s_plain_promoted``.

    Raises:
        InputError: With file, line and key, if a row is something else. A null score is NaN.
    """
    for number, row in read_json_lines(path):
        where = f"{os.fspath(path)}:{number}"
        if not isinstance(row, dict):
            raise InputError("is no object", where=where, fix="Write one object on each line")
        others = row.get("s_new_others", [])
        if not isinstance(others, list):
            raise InputError("should be a list", where=f"{where}, s_new_others", fix="Write [0.4]")
        third = [_number({"score": one}, "score", f"{where}, s_new_others") for one in others]
        numbers = {key[2:]: _number(row, key, where) for key in _NUMBERS}
        name = row.get("id", row.get("topic_id", number))
        yield str(name), Scores(**numbers, new_others=tuple(third))


def _number(row: Mapping[str, Any], key: str, where: str) -> float:
    if key not in row:
        raise InputError(f"lacks the key {key!r}", where=where, fix="Give all scores")
    value = row[key]
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError("is no number", where=f"{where}, {key}", fix="Write a number or null")
    return float(value)


def swap_report(
    found: Sequence[tuple[str, Scores]], margin: float = 0.0, floor: float = 0.3, examples: int = 3
) -> dict[str, Any]:
    """Returns verdicts by id, counts by reason and a few ids of each; and whether the scorer is blind."""
    rows = [
        {"id": name, "verdict": "drop" if reason else "keep", "reason": reason}
        for name, scores in found
        if (reason := swap_verdict(scores, margin, floor)) is not None
    ]
    blind = is_blind([scores for _, scores in found])
    counts = Counter(row["reason"] or "kept" for row in rows)
    return {
        "scorer": BLIND.format(n=len(rows)) if blind else "sees instructions",
        "blind": blind,
        "n": len(rows),
        "counts": dict(counts.most_common()),
        "examples": {
            reason: [row["id"] for row in rows if (row["reason"] or "kept") == reason][:examples]
            for reason in counts
        },
        "verdicts": rows,
    }


def swap(encoder: Encoder | str, margin: float = 0.0, floor: float = 0.3) -> Stage:
    """Returns the stage that drops a reversed view where the encoder does not swap the two documents.

    Only views that turn an earlier view of their topic round are looked at. It asks more than
    :func:`obverse.filters.similarity_gain.similarity_gain`: the order must turn, so it fits judges and trained
    encoders. Where the scorer cannot see instructions at all, that is said, and nothing is dropped. Topics are held
    in memory until all are scored.

    Args:
        encoder: The encoder, or the name of one.
        margin: By how much the right document must lead, in cosine.
        floor: The least cosine of the promoted document to the query alone.
    """

    def stage(topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
        held = list(topics)
        scored = list(_pairs(held, encoder))
        if scored and is_blind([scores for *_, scores in scored]):
            say(f"swap: {BLIND.format(n=len(scored))}; nothing is dropped")
            yield from held
            return
        reasons = {
            (number, place): reason
            for number, place, scores in scored
            if (reason := swap_verdict(scores, margin, floor))
        }
        for number, topic in enumerate(held):
            kept = []
            for place, view in enumerate(topic.views):
                if (number, place) in reasons:
                    drops.add(topic.topic_id, reasons[number, place], view=view)
                else:
                    kept.append(view)
            yield topic.with_views(kept)

    return stage


def _pairs(topics: Sequence[Topic], encoder: Encoder | str) -> Iterator[tuple[int, int, Scores]]:
    from obverse.filters.margin import view_scores
    from obverse.models import load_encoder

    wanted = [number for number, topic in enumerate(topics) if _turned(topic)]
    if not wanted:
        return
    model = load_encoder(encoder) if isinstance(encoder, str) else encoder
    bare = [_with_plain(topics[number]) for number in wanted]
    for number, topic, scores in zip(wanted, bare, view_scores(model, bare), strict=True):
        for old, new, clicked, promoted in _turned(topics[number]):
            before, after, plain = scores[old], scores[new], scores[-1]
            others = topic.views[new].ids(Label.NEGATIVE)
            yield (
                number,
                new,
                Scores(
                    *(before[clicked], before[promoted], after[clicked], after[promoted]),
                    *(plain[clicked], plain[promoted]),
                    tuple(after[doc_id] for doc_id in others if doc_id in after),
                ),
            )


def _with_plain(topic: Topic) -> Topic:
    return topic.with_views([*topic.views, View("", {})])


def _turned(topic: Topic) -> list[tuple[int, int, str, str]]:
    """Returns ``(earlier view, later view, clicked, promoted)`` for views that turn an earlier one round."""
    held = {doc.doc_id for doc in topic.docs}
    found = []
    for new, view in enumerate(topic.views):
        for old, earlier in enumerate(topic.views[:new]):
            if view.is_plain or earlier.is_plain:
                continue
            promoted = set(view.positives) & set(earlier.ids(Label.INSTRUCTION_NEGATIVE)) & held
            clicked = set(earlier.positives) & set(view.ids(Label.INSTRUCTION_NEGATIVE)) & held
            if promoted and clicked:
                found.append((old, new, min(clicked), min(promoted)))
                break
    return found
