"""What can be put on a benchmark: anything that ranks documents for a query with an instruction.

Bi-encoders (folders, hub names, an HTTP endpoint, ONNX), BM25, and cross-encoders that reorder candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from obverse.corpus_vectors import CorpusVectors
from obverse.errors import InputError, MissingExtra, ModelError, SettingError
from obverse.filed_docs import by_id_of, ids_of
from obverse.inputs import Shortened, Template, fit, speakable
from obverse.log import progress
from obverse.models import Encoder, locate, template_note
from obverse.records import Ask, Doc
from obverse.search import as_run, tie_places, top_docs

Candidates = Mapping[str, Sequence[str]]
RunDict = dict[str, dict[str, float]]


class Ranker(Protocol):
    """Ranks documents for asks."""

    name: str

    def note(self) -> dict[str, Any]:
        """Returns what a result must say about how the model was asked."""
        ...

    def inputs(self, asks: Sequence[Ask], joining: str | None) -> list[str]:
        """Returns the query strings that the model reads.

        Args:
            asks: What is asked.
            joining: A benchmark's pattern of query and instruction; None for the model's own template.
        """
        ...

    def rank(
        self,
        asks: Sequence[Ask],
        texts: Sequence[str],
        docs: Sequence[Doc],
        *,
        depth: int,
        candidates: Candidates | None = None,
    ) -> RunDict:
        """Returns the run: for every ask the best documents, in order of rank.

        Args:
            asks: What is asked.
            texts: Their input strings, from :meth:`inputs`.
            docs: The documents that are searched.
            depth: How many are kept.
            candidates: By query_id, the only documents that are ranked.
        """
        ...


def joined(pattern: str, query: str, instruction: str) -> str:
    """Returns query and instruction joined by a benchmark's pattern; a query without instruction stays as it is.

    Nothing is stripped, as in the public evaluators, and what stands in the texts is never taken for a slot.
    """
    if not instruction:
        return query
    before, _, rest = pattern.partition("{query}")
    if "{instruction}" in before:
        first, _, middle = before.partition("{instruction}")
        return f"{first}{instruction}{middle}{query}{rest}"
    middle, _, after = rest.partition("{instruction}")
    return f"{before}{query}{middle}{instruction}{after}"


def model_input(template: Template, ask: Ask, joining: str | None) -> str:
    """Returns the string that a model with this template reads for an ask."""
    if joining is None:
        return template.query(ask.query, ask.instruction)
    return template.query(joined(joining, ask.query, ask.instruction))


class EncoderRanker:
    """A bi-encoder: exact search over its vectors."""

    def __init__(self, encoder: Encoder, vectors: CorpusVectors | None = None) -> None:
        self.encoder, self.name = encoder, encoder.name
        self.vectors = vectors or CorpusVectors(encoder)
        self.shortened = Shortened()
        self.cut: dict[str, None] = {}

    def note(self) -> dict[str, Any]:
        note = {**template_note(self.encoder), "kind": "bi-encoder"}
        if self.cut:
            note["queries_cut_at_the_token_limit"] = list(self.cut)
        if self.shortened.instructions:
            note["instructions_shortened"] = self.shortened.instructions
            note["instruction_tokens_lost"] = self.shortened.instruction_tokens
        return note

    def inputs(self, asks: Sequence[Ask], joining: str | None) -> list[str]:
        encoder = self.encoder
        if joining is not None:
            return [model_input(encoder.template, ask, joining) for ask in asks]
        return [self._fitted(ask) for ask in asks]

    def _fitted(self, ask: Ask) -> str:
        encoder = self.encoder
        try:
            return fit(
                encoder.template,
                ask.query,
                ask.instruction,
                encoder.max_tokens,
                encoder.count_tokens,
                self.shortened,
            )
        except (
            InputError
        ):  # a public set's query cannot be shortened: the encoder cuts it, and it is named
            self.cut[ask.query_id] = None
            return encoder.template.query(ask.query, ask.instruction)

    def rank(
        self,
        asks: Sequence[Ask],
        texts: Sequence[str],
        docs: Sequence[Doc],
        *,
        depth: int,
        candidates: Candidates | None = None,
    ) -> RunDict:
        doc_ids = ids_of(docs)
        stored = self.vectors.stored(docs)
        queries = self.encoder.encode(texts, task="query")
        if candidates is None:
            places = tie_places(doc_ids)[stored.order]
            rows, scores = top_docs(queries, [stored], depth, places=places)
            return as_run([ask.query_id for ask in asks], doc_ids, stored.order[rows], scores)
        place = {doc_id: row for row, doc_id in enumerate(doc_ids)}
        run: RunDict = {}
        for number, ask in enumerate(asks):
            own = list(candidates[ask.query_id])
            part = stored.of([place[doc_id] for doc_id in own])
            rows, scores = top_docs(
                queries[number : number + 1], part, depth, places=tie_places(own)
            )
            run |= as_run([ask.query_id], own, rows, scores)
        return run


@dataclass(slots=True)
class BM25Ranker:
    """The lexical baseline: BM25 over title and text, query and instruction as one bag of words."""

    name: str = "bm25"
    _indexes: dict[tuple[str, ...], Any] = field(default_factory=dict)

    def note(self) -> dict[str, Any]:
        return {"kind": "bm25", "k1": 0.9, "b": 0.4, "max_tokens": None, "template_digest": None}

    def inputs(self, asks: Sequence[Ask], joining: str | None) -> list[str]:
        return [model_input(Template(), ask, joining) for ask in asks]

    def rank(
        self,
        asks: Sequence[Ask],
        texts: Sequence[str],
        docs: Sequence[Doc],
        *,
        depth: int,
        candidates: Candidates | None = None,
    ) -> RunDict:
        from obverse.mine.bm25 import BM25Index

        index = BM25Index(docs)
        doc_ids = ids_of(docs)
        everyone = sorted(doc_ids, reverse=True)
        run: RunDict = {}
        for ask, text in zip(asks, texts, strict=True):
            hits = {doc_ids[row]: score for row, score in index.search(text, len(docs))}
            if candidates is not None:
                own = sorted(candidates[ask.query_id], reverse=True)
                ranked = sorted(own, key=lambda doc_id: -hits.get(doc_id, 0.0))[:depth]
            else:
                # Documents without a common word score 0, so that a full ranking has no gaps.
                rest = (doc_id for doc_id in everyone if doc_id not in hits)
                ranked = [*hits, *rest][:depth] if depth >= len(docs) else list(hits)[:depth]
            run[ask.query_id] = {doc_id: hits.get(doc_id, 0.0) for doc_id in ranked}
        return run


class CrossEncoderRanker:
    """A cross-encoder on candidates: those of the benchmark, else the best of a first stage by BM25."""

    def __init__(
        self,
        folder: str,
        *,
        first_stage: int = 100,
        max_tokens: int | None = None,
        device: str | None = None,
    ) -> None:
        where = locate(folder)  # before the slow import: a wrong name is said at once
        try:
            from sentence_transformers import CrossEncoder
        except ImportError:
            raise MissingExtra("sentence-transformers", "train", "a cross-encoder") from None
        self.name, self.first_stage = f"cross-encoder:{folder}", first_stage
        try:
            self.model = CrossEncoder(where, max_length=max_tokens, device=device)
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0][:200]
            raise ModelError(
                f"cannot be loaded as a cross-encoder ({reason})",
                where=folder,
                fix="Check the folder",
            ) from None

    def note(self) -> dict[str, Any]:
        return {
            "kind": "cross-encoder",
            "max_tokens": self.model.max_length,
            "template_digest": None,
            "candidates_of_searches": f"the benchmark's own, else BM25's best {self.first_stage}",
        }

    def inputs(self, asks: Sequence[Ask], joining: str | None) -> list[str]:
        return [model_input(Template(), ask, joining) for ask in asks]

    def rank(
        self,
        asks: Sequence[Ask],
        texts: Sequence[str],
        docs: Sequence[Doc],
        *,
        depth: int,
        candidates: Candidates | None = None,
    ) -> RunDict:
        by_id = by_id_of(docs)
        if candidates is None:
            first = BM25Ranker().rank(asks, texts, docs, depth=max(1, self.first_stage))
            candidates = {query_id: list(scores) for query_id, scores in first.items()}
        run: RunDict = {}
        pairs = list(zip(asks, texts, strict=True))
        for ask, text in progress(pairs, f"{self.name}: scoring candidates"):
            own = sorted(candidates[ask.query_id], reverse=True)
            if not own:
                run[ask.query_id] = {}
                continue
            inputs = [(speakable(text), speakable(Template().doc(by_id[doc_id]))) for doc_id in own]
            found = self.model.predict(inputs, show_progress_bar=False).tolist()
            ranked = sorted(zip(own, found, strict=True), key=lambda row: -row[1])
            run[ask.query_id] = dict(ranked[:depth])
        return run


def load_ranker(
    name: str,
    *,
    template: Template | None = None,
    max_tokens: int | None = None,
    device: str | None = None,
    threads: int | None = None,
    batch_size: int = 32,
    first_stage: int = 100,
) -> Ranker:
    """Loads what a name says.

    ``bm25``, ``cross-encoder:NAME``, ``https://host/v1#MODEL``, ``onnx:FOLDER``, else an encoder's folder or hub name.

    Raises:
        ModelError: If there is no such model.
        SettingError: If an endpoint's model is not named, or a template is given that the model does not read.
    """
    if template is not None and (name == "bm25" or name.startswith("cross-encoder:")):
        raise SettingError(f"{name} reads no template", fix="Leave --template away")
    if name == "bm25":
        return BM25Ranker()
    if name.startswith("cross-encoder:"):
        return CrossEncoderRanker(
            name.removeprefix("cross-encoder:"),
            first_stage=first_stage,
            max_tokens=max_tokens,
            device=device,
        )
    if name.startswith(("http://", "https://")):
        from obverse.endpoint import EndpointEncoder

        url, _, model = name.partition("#")
        if not model:
            raise SettingError(
                f"{name}: which model is asked there is not said", fix=f"Write {name}#MODEL"
            )
        return EncoderRanker(
            EndpointEncoder(url, model, template or Template(), batch_size=batch_size)
        )
    from obverse.models import load_encoder

    encoder = load_encoder(
        name.removeprefix("onnx:"),
        template=template,
        max_tokens=max_tokens,
        device=device,
        threads=threads,
        batch_size=batch_size,
        **({"backend": "onnx"} if name.startswith("onnx:") else {}),
    )
    return EncoderRanker(encoder)
