"""What InfoSearch's three measures share: the three modes of a query, and which documents they look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from obverse.errors import InputError
from obverse.measures.ranks import Ties, is_constant, ranks_of
from obverse.records import Qrels, Run


@dataclass(frozen=True, slots=True)
class Modes:
    """The runs of a query without instruction, with it, and with its reverse."""

    original: Run
    instructed: Run
    reversed: Run

    def have(self, query_id: str) -> bool:
        """Whether all three runs know the query."""
        return all(query_id in run for run in (self.original, self.instructed, self.reversed))

    def constant(self, query_ids: Iterable[str]) -> list[str]:
        """Returns the queries for which one of the three runs gives every document one score."""
        runs = (self.original, self.instructed, self.reversed)
        return [q for q in query_ids if any(is_constant(run.get(q, {})) for run in runs)]

    def places(self, query_id: str, doc_id: str, ties: Ties) -> tuple[Place, Place, Place]:
        """Returns where a document stands in the three modes."""
        try:
            o, i, r = (
                Place(
                    ranks_of(run[query_id], [doc_id], ties=ties)[0], run[query_id].get(doc_id, 0.0)
                )
                for run in (self.original, self.instructed, self.reversed)
            )
        except InputError as error:
            raise error.at(f"query {query_id}") from None
        return o, i, r


@dataclass(frozen=True, slots=True)
class Place:
    """A rank (``len + 1`` where the run lacks the document) and a score (0 there)."""

    rank: int
    score: float


DocSets = Mapping[str, list[str]]


def positives_and_negatives(
    original: Qrels, instructed: Qrels
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Returns, by query, the documents that stay relevant and those that the instruction rules out.

    Positives have the grade 1 in both sets of judgements. Negatives changed and have the grade 0 with the
    instruction; changes from 0 to 1 are neither. A document that the instructed judgements lack counts as 0 there.
    """
    positives: dict[str, list[str]] = {}
    negatives: dict[str, list[str]] = {}
    for query_id, grades in original.items():
        now = instructed.get(query_id, {})
        positives[query_id] = [d for d, grade in grades.items() if grade == 1 == now.get(d, 0)]
        negatives[query_id] = [d for d, grade in grades.items() if grade != 0 == now.get(d, 0)]
    return positives, negatives
