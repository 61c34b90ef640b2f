"""By what an instruction tells two documents apart, and in whose voice: drawn by the code, not by the LLM.

Left alone, an LLM takes the same lever for half of its instructions. A quota table and the topic's own chance
decide which ones a prompt offers.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from obverse.synthesis.dialogue import Rejected

LEVERS: dict[str, str] = {
    "scope": "a narrower or a wider subject within the query's own",
    "population": "who or what was studied: people, patients, animals, cells, products, places",
    "region": "a country, region or setting",
    "time": "a period, a date, recency or duration",
    "audience": "who is going to read it, and how much they know",
    "form": "the kind of text: overview, report, guide, news, opinion, data",
    "method": "how it was found out: experiment, survey, trial, model, measurement",
    "evidence": "what counts as proof: numbers, comparisons, mechanisms, outcomes, examples",
    "exclusion": "something that is not wanted, said outright",
}

QUOTAS: dict[str, float] = {
    "scope": 0.14,
    "population": 0.14,
    "region": 0.08,
    "time": 0.08,
    "audience": 0.10,
    "form": 0.10,
    "method": 0.14,
    "evidence": 0.12,
    "exclusion": 0.10,
}
"""The share of prompts whose first lever is this one."""

VOICES: tuple[str, ...] = (
    "a plain order, such as a colleague would give",
    "a remark in the first person about who is asking and why",
    "a preference, as in a note to a librarian",
    "a short exclusion followed by what is wanted instead",
    "a bare phrase without a verb, as people type it",
)


def draw_levers(rng: Random, take: int = 3, quotas: Mapping[str, float] = QUOTAS) -> list[str]:
    """Returns distinct levers, the first drawn by the quotas, the others by the quotas of what is left."""
    left = dict(quotas)
    drawn: list[str] = []
    for _ in range(min(take, len(left))):
        (lever,) = rng.choices(list(left), list(left.values()))
        drawn.append(lever)
        del left[lever]
    return drawn


def draw_voice(rng: Random) -> str:
    """Returns one of :data:`VOICES`."""
    return rng.choice(VOICES)


def check_lever(lever: str | None, offered: list[str]) -> None:
    """Checks that an answer keeps to the levers that were offered; it may leave the name out.

    Raises:
        Rejected: With the code ``other-lever``.
    """
    if lever is not None and lever not in offered:
        raise Rejected("other-lever", f"{lever!r} instead of {', '.join(offered)}")


def offer(levers: list[str]) -> str:
    """Returns the levers as lines of a prompt."""
    return "\n".join(f'  - "{lever}": {LEVERS[lever]}' for lever in levers)
