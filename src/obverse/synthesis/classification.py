"""The first question of the methods that promote a natural negative: what is each candidate, in one call.

After *Natural Hard-Negative Mining from Positives for Instruction-Following Retrieval* (step "clean and classify").
The question is the same string for every method that asks it, so an answer is paid for once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from pydantic import BaseModel, Field

from obverse.records import Label, Topic
from obverse.synthesis.dialogue import Prompt, Rejected, Skip
from obverse.synthesis.documents import Shown, candidates, plain_positive
from obverse.synthesis.prompts import CLASSIFY, RULES, SYSTEM


class Verdict(BaseModel):
    """What one candidate is."""

    document: int
    verdict: Literal["false_negative", "convertible", "other"]
    instruction: str | None = None


class Classification(BaseModel):
    """What every candidate is."""

    positive_confirmed: bool = Field(
        description="does the document that is taken to answer the query really do so?"
    )
    documents: list[Verdict] = Field(
        description="one entry for each document that you were asked to judge"
    )


@dataclass(frozen=True, slots=True)
class Classified:
    """The candidates of a topic, told apart.

    Attributes:
        positive: The plain view's positive.
        false_negatives: Candidates that answer the query too.
        ideas: The convertible candidates, each with a first instruction (may be empty).
    """

    positive: str
    false_negatives: frozenset[str]
    ideas: dict[str, str]

    def choose(self, rng: Random, topic: Topic) -> tuple[str, str]:
        """Returns the candidate to promote and the first idea for its instruction.

        Only negatives of the plain view are promoted, those with an idea first.

        Raises:
            Skip: If no candidate can be promoted.
        """
        labels = topic.plain_view.labels if topic.plain_view else {}
        open_ = {
            doc_id: idea
            for doc_id, idea in self.ideas.items()
            if labels.get(doc_id) in (Label.NEGATIVE, Label.INSTRUCTION_NEGATIVE)
        }
        if not open_:
            raise Skip("no convertible negative")
        best = [doc_id for doc_id, idea in open_.items() if idea] or list(open_)
        promoted = rng.choice(best)
        return promoted, open_[promoted]


def classify(topic: Topic, shown: Shown) -> Generator[Prompt[Any], Any, Classified]:
    """Asks what the candidates are.

    Raises:
        Skip: If there is nothing to ask about, or the positive turns out not to answer the query.
    """
    positive = plain_positive(topic, shown)
    others = candidates(topic, shown)
    question = CLASSIFY.format(
        positive=shown.numbers[positive], others=shown.enumerated(others), rules=RULES
    )
    answer: Classification = yield Prompt(
        "classify",
        SYSTEM,
        f"{shown.text}\n\n{question}",
        Classification,
        _check([shown.numbers[doc_id] for doc_id in others]),
    )
    if not answer.positive_confirmed:
        raise Skip("the positive does not answer the query")
    by_id = {doc_id: number for doc_id, number in shown.numbers.items() if doc_id in others}
    verdicts = {verdict.document: verdict for verdict in answer.documents}
    return Classified(
        positive,
        frozenset(d for d, n in by_id.items() if verdicts[n].verdict == "false_negative"),
        {
            d: (verdicts[n].instruction or "").strip()
            for d, n in by_id.items()
            if verdicts[n].verdict == "convertible"
        },
    )


def _check(asked: list[int]) -> Callable[[Classification], None]:
    def check(answer: Classification) -> None:
        judged = [verdict.document for verdict in answer.documents]
        if sorted(judged) != sorted(asked):
            raise Rejected(
                "wrong-documents", f"asked about {sorted(asked)}, judged {sorted(judged)}"
            )

    return check
