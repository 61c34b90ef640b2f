"""What a benchmark is: documents, searches over them, and how the runs are scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from obverse.filed_docs import ChosenDocs
from obverse.measures.measured import Measured
from obverse.records import Ask, Doc, Run


@dataclass(frozen=True, slots=True)
class Search:
    """One pass of queries over documents.

    Attributes:
        name: Names the run file.
        asks: What is asked.
        doc_ids: The collection that is searched; None for the whole corpus.
        candidates: By query_id, the only documents that are ranked; None where the collection is searched.
        depth: How many documents are kept per query.
    """

    name: str
    asks: tuple[Ask, ...]
    doc_ids: tuple[str, ...] | None = None
    candidates: Mapping[str, tuple[str, ...]] | None = None
    depth: int = 1_000


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Documents, searches and the measures over their runs.

    Attributes:
        name: The benchmark's name, with its subset.
        docs: The corpus by id.
        searches: What is searched.
        score: Runs by search name, and a seed, to measures by key.
        joinings: How query and instruction are joined, by rule (``paper``, ``mteb``); see
            :mod:`obverse.benchmarks.joining`.
        about: Licence, citation, candidates rule, published values, and what a reader must know.
    """

    name: str
    docs: Mapping[str, Doc]
    searches: tuple[Search, ...]
    score: Callable[[Mapping[str, Run], int], dict[str, Measured]]
    joinings: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)

    def docs_of(self, search: Search) -> ChosenDocs:
        """Returns the documents that a search may return, in corpus order; texts are read when they are needed."""
        if search.candidates is not None:
            wanted = {doc_id for ids in search.candidates.values() for doc_id in ids}
            return ChosenDocs([doc_id for doc_id in self.docs if doc_id in wanted], self.docs)
        return ChosenDocs(list(self.docs if search.doc_ids is None else search.doc_ids), self.docs)
