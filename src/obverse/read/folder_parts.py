"""Corpora, queries and judgements that lie apart, put together: shared by TREC, MS MARCO and ir_datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from obverse.read.faults import Findings
from obverse.read.gathering import Gathering
from obverse.read.judgements import NEGATIVE, POSITIVE
from obverse.read.passages import Passage
from obverse.read.qrels import Judgement
from obverse.records import Topic


@dataclass(slots=True)
class Parts:
    """Judgements and queries, waiting for the documents that they name.

    Attributes:
        method: The format's name, for the views' origin.
        queries: Query and instruction by query_id.
        judgements: Judgements; a grade above 0 is positive.
    """

    findings: Findings
    method: str
    queries: dict[str, tuple[str, str]] = field(default_factory=dict)
    judgements: list[Judgement] = field(default_factory=list)
    judged_in: str = "-"

    @property
    def wanted(self) -> set[str]:
        """The ids of the judged documents."""
        return {judgement[2] for judgement in self.judgements}

    def topics(self, documents: Iterable[tuple[int, Passage]]) -> Iterator[Topic]:
        """Yields one topic for each judged query, from the documents with the wanted ids."""
        gathering = Gathering(self.findings, self.method)
        gathering.positive_field = gathering.negative_field = "judgements"
        wanted = self.wanted
        numbers: dict[str, int] = {}
        for line, passage in documents:
            if passage[0] in wanted:
                number = gathering.documents.number(passage, line, "document")
                numbers.setdefault(passage[0], number)
        self.findings.file = self.judged_in
        for judgement in self.judgements:
            self._judge(gathering, judgement, numbers)
        self.findings.rows += len({judgement[1] for judgement in self.judgements})
        before = self.findings.usable
        for topic in gathering:
            self.findings.usable = before = before + 1
            yield topic
        self.findings.usable = before

    def _judge(self, gathering: Gathering, judgement: Judgement, numbers: dict[str, int]) -> None:
        line, query_id, doc_id, grade = judgement
        if query_id not in self.queries:
            self.findings.note("missing_query", line, "query_id", f"no query {query_id!r}")
            return
        query, instruction = self.queries[query_id]
        if not query.strip():
            return
        topic = gathering.topic(query_id, query_id, query, line)
        number = numbers.get(doc_id)
        if number is None:
            self.findings.note("missing_document", line, "doc_id", f"no document {doc_id!r}")
            gathering.because(topic, "judged documents are not in the corpus")
            return
        kind = POSITIVE if grade > 0 else NEGATIVE
        gathering.judgements.add(gathering.view(topic, instruction), number, kind, line)
