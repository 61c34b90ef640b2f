"""A step's number becomes a step's input: texts, the label matrix, and vectors that are known beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from obverse.training.loss import Matrix
from obverse.training.plan import Batch, Plan
from obverse.training.relations import relations
from obverse.training.topic_set import Row

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(slots=True)
class Known:
    """Vectors of the frozen base, computed before training.

    Attributes:
        place: The row of each text.
        vectors: float32 ``[n, d]``, unit length.
    """

    place: dict[str, int] = field(default_factory=dict)
    vectors: Any = None

    def of(self, texts: Sequence[str]) -> Tensor:
        """Returns the vectors of texts, ``[n, d]``."""
        import torch

        rows = torch.tensor([self.place[text] for text in texts], dtype=torch.int64)
        found: Tensor = self.vectors[rows]
        return found


@dataclass(slots=True)
class Step:
    """What one step reads.

    Attributes:
        batch: Its place in the plan.
        rows: Its queries.
        docs: The content hashes of its documents, those of the pool last.
        texts: What is encoded: the queries, then the trained documents.
        fixed: Vectors of the documents that are not trained, columns after those that are; or None.
        matrix: What each document is to each query.
        unlearned: Texts whose vectors need no gradient: pool documents under the current weights.
    """

    batch: Batch
    rows: list[Row]
    docs: list[int]
    texts: list[str]
    fixed: Tensor | None
    matrix: Matrix
    unlearned: list[str]


@dataclass(slots=True)
class Collator:
    """Builds the input of a step; the same in every process.

    Attributes:
        plan: Which topics are in which batch.
        in_batch: Whether documents of other topics are negatives, or that by source.
        freeze_docs: Whether documents keep the base's vectors.
        pool_encoding: ``frozen`` takes the base's vectors of pool documents, ``current`` encodes them anew.
        keep_close: Whether the base's vectors of the batch are needed.
        queries: The base's vectors of queries.
        docs: The base's vectors of documents.
    """

    plan: Plan
    in_batch: bool | Mapping[str, bool] = True
    freeze_docs: bool = False
    pool_encoding: str = "frozen"
    keep_close: bool = False
    queries: Known = field(default_factory=Known)
    docs: Known = field(default_factory=Known)

    def __call__(self, steps: Sequence[int]) -> Step:
        """Returns the input of the one step of ``steps``."""
        import torch

        (number,) = steps
        topics = self.plan.topics
        batch = self.plan.batch(number)
        rows = self.plan.rows(batch)
        docs = self.plan.documents(batch, rows)
        pool = self.plan.pool(batch, docs)
        codes = relations(topics, rows, docs, pool, in_batch=self.in_batch)
        queries = [row.text for row in rows]
        own = [topics.docs[uid] for uid in docs]
        extra = [topics.docs[uid] for uid in pool]
        trained = [] if self.freeze_docs else own
        fixed = self._fixed(own if self.freeze_docs else [], extra)
        matrix = self._matrix(rows, [*docs, *pool], codes, trained)
        if self.plan.source_weights:
            matrix.weight = torch.tensor([self.plan.weight(row, number) for row in rows])
        unlearned = extra if not self.freeze_docs and self.pool_encoding == "current" else []
        return Step(batch, rows, [*docs, *pool], queries + trained, fixed, matrix, unlearned)

    def _fixed(self, own: list[str], extra: list[str]) -> Tensor | None:
        if self.freeze_docs:
            return self.docs.of([*own, *extra])
        if extra and self.pool_encoding == "frozen":
            return self.docs.of(extra)
        return None

    def _matrix(
        self, rows: Sequence[Row], columns: Sequence[int], codes: Any, trained: list[str]
    ) -> Matrix:
        import torch

        matrix = Matrix(
            torch.from_numpy(codes),
            torch.tensor([row.topic for row in rows]),
            torch.tensor([row.plain for row in rows]),
        )
        if any(row.teacher for row in rows):
            scores = np.full(codes.shape, np.nan, dtype=np.float32)
            for line, row in zip(scores, rows, strict=True):
                for column, uid in enumerate(columns):
                    line[column] = row.teacher.get(uid, np.nan)
            matrix.teacher = torch.from_numpy(scores)
        if self.keep_close:
            matrix.base_queries = self._plain_vectors(rows)
            matrix.base_docs = self.docs.of(trained) if trained else None
        return matrix

    def _plain_vectors(self, rows: Sequence[Row]) -> Tensor | None:
        """The base's vectors of plain rows; those of instructed ones, which are free to move, are never read."""
        import torch

        if self.queries.vectors is None:
            return None
        found = torch.zeros(len(rows), self.queries.vectors.shape[1])
        plain = [place for place, row in enumerate(rows) if row.plain]
        if plain:
            found[plain] = self.queries.of([rows[place].text for place in plain])
        return found
