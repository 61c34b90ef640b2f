"""Topics benchmarks: our own folders, in which one set of documents is judged under several instructions.

The folder holds ``corpus.jsonl`` and ``topics.jsonl`` (plain, .gz or .zst); topics may leave ``docs`` out and label
ids of the corpus. With ``queries.jsonl`` and ``qrels/test.tsv`` beside them, plain retrieval is guarded too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, get_args

from obverse.benchmarks.benchmark import Benchmark, Search
from obverse.benchmarks.whole import unknown_docs
from obverse.errors import InputError, SettingError
from obverse.files import in_folder, read_corpus, read_topics
from obverse.measures.flip_rate import flip_rate
from obverse.measures.measured import Measured, over_topics
from obverse.measures.ndcg import ndcg, ndcg_of
from obverse.measures.p_mrr import symmetric_p_mrr
from obverse.measures.ranks import Ties, without
from obverse.records import Ask, Doc, Label, Qrels, Run, Topic, View
from obverse.trec import read_qrels, read_queries

Scope = Literal["pool", "corpus"]

KEYS = ("p_mrr", "flip_rate", "robustness@10", "ndcg@10", "plain_ndcg@10", "guard_ndcg@10")
"""The measures of a topics benchmark."""


def topics_benchmark(
    folder: str | os.PathLike[str],
    *,
    scope: Scope = "pool",
    guard: Scope = "corpus",
    partial: bool = False,
) -> Benchmark:
    """Returns a topics benchmark from its folder.

    Args:
        folder: Holds corpus.jsonl and topics.jsonl, and for the guard queries.jsonl and qrels/test.tsv.
        scope: What the topics' views are searched over: the ``pool`` of all documents that the topics label, or the
            whole ``corpus``.
        guard: The same for the plain test queries; the documents that they judge always belong to their pool.
        partial: Whether topics are still measured of which labelled documents are missing.

    Raises:
        InputError: If a file is missing or wrong, or a view labels a document that is not there.
    """
    topics = list(read_topics(in_folder(folder, "topics.jsonl")))
    corpus = read_corpus(in_folder(folder, "corpus.jsonl"))
    return benchmark_of_topics(
        topics,
        corpus,
        name=Path(folder).resolve().name,
        plain=plain_test(folder, partial=partial),
        scope=scope,
        guard=guard,
        partial=partial,
        where=os.fspath(folder),
    )


def plain_test(
    folder: str | os.PathLike[str], *, partial: bool = False
) -> tuple[dict[str, str], Qrels] | str:
    """Returns the plain test queries of a folder and their judgements, or why there are none.

    Raises:
        InputError: If a judged query has no text and ``partial`` is not said; with it, such a query counts as 0.
    """
    try:
        queries, qrels = in_folder(folder, "queries.jsonl"), in_folder(folder, "qrels/test.tsv")
    except InputError as error:
        return f"the folder {error.what}"
    judged = read_qrels(qrels).qrels
    texts = {query_id: ask.query for query_id, ask in read_queries(queries).items()}
    missing = [query_id for query_id in judged if query_id not in texts]
    if missing and not partial:
        raise InputError(
            f"judges query {missing[0]!r}, which queries.jsonl lacks ({len(missing)} in all)",
            where=os.fspath(qrels),
            fix="Add the queries, take the judgements away, or say --partial to count them as 0",
        )
    return {query_id: texts[query_id] for query_id in judged if query_id in texts}, judged


def benchmark_of_topics(
    topics: Sequence[Topic],
    corpus: Mapping[str, Doc],
    *,
    name: str,
    plain: tuple[Mapping[str, str], Qrels] | str = "no plain queries were given",
    scope: Scope = "pool",
    guard: Scope = "corpus",
    partial: bool = False,
    where: str = "topics",
) -> Benchmark:
    """Returns a topics benchmark from records; see :func:`topics_benchmark`.

    Args:
        topics: Whose views are asked and judged.
        corpus: The documents by id; those that topics carry themselves are added.
        name: The benchmark's name.
        plain: Plain test queries and their judgements, or why there are none.
        scope: What the views are searched over.
        guard: What the plain test queries are searched over.
        partial: Whether labels of documents that are not there are dropped.
        where: Named in errors.
    """
    for option, value in (("scope", scope), ("guard", guard)):
        if value not in get_args(Scope):
            raise SettingError(f"--{option} is {value!r}", fix="Use pool or corpus")
    docs = dict(corpus)
    for topic in topics:
        docs.update({doc.doc_id: doc for doc in topic.docs if doc.doc_id not in docs})
    topics, dropped = _present(topics, docs, partial=partial, where=where)
    pool = _pool(topics, docs)
    views = Search(
        "views",
        tuple(
            Ask(view_id(topic, number), topic.query, view.instruction)
            for topic in topics
            for number, view in enumerate(topic.views)
        ),
        pool if scope == "pool" else None,
        depth=max(1_000, len(pool)),
    )
    searches = [views]
    if not isinstance(plain, str):
        asks = tuple(Ask(query_id, text) for query_id, text in plain[0].items())
        near = _with_judged(pool, plain[1], docs) if guard == "pool" else None
        searches.append(Search("guard", asks, near))

    def score(runs: Mapping[str, Run], seed: int) -> dict[str, Measured]:
        found = score_topics(topics, runs["views"], seed=seed)
        found["guard_ndcg@10"] = (
            over_topics("nDCG@10", {}, reason=plain)
            if isinstance(plain, str)
            else ndcg(runs["guard"], plain[1], 10, seed=seed)
        )
        return found

    about: dict[str, Any] = {
        "kind": "topics",
        "topics": len(topics),
        "documents": len(docs),
        "pool": len(pool),
        "scope": f"{scope}: views are searched over {_of(scope, pool, docs)}",
        "guard": f"none: {plain}"
        if isinstance(plain, str)
        else f"{guard}: plain test queries are searched over {_of(guard, searches[1].doc_ids or (), docs)}"
        + (" and the test queries judge" if guard == "pool" else ""),
        "ties": "trec",
    }
    if dropped:
        about["labels_of_missing_documents"] = dropped
    if not isinstance(plain, str):
        about |= _unreachable(*plain, docs)
    joinings = {"paper": "{query} {instruction}", "mteb": "{query} {instruction}"}
    return Benchmark(name, docs, tuple(searches), score, joinings, about)


def score_topics(
    topics: Sequence[Topic], run: Run, *, seed: int = 0, ties: Ties = "trec"
) -> dict[str, Measured]:
    """Returns the measures of instructed and plain views; ignored documents leave each view's ranking first.

    Args:
        topics: The judged topics.
        run: Scores by :func:`view_id` and document.
        seed: Seed of the intervals.
        ties: How equal scores are ordered for p-MRR and flip rate; nDCG follows trec_eval always.

    Raises:
        InputError: If the run lacks a view.
    """
    labels = {t.topic_id: [view.labels for view in t.instructed_views] for t in topics}
    runs = {t.topic_id: [_ranked(run, t, view) for view in t.instructed_views] for t in topics}
    each = {
        t.topic_id: [
            _view_ndcg(v, r) for v, r in zip(t.instructed_views, runs[t.topic_id], strict=True)
        ]
        for t in topics
    }
    plain: dict[str, float | None] = {
        t.topic_id: _view_ndcg(t.plain_view, _ranked(run, t, t.plain_view))
        for t in topics
        if t.plain_view is not None
    }
    return {
        "p_mrr": symmetric_p_mrr(labels, runs, ties=ties, seed=seed),
        "flip_rate": flip_rate(labels, runs, ties=ties, seed=seed),
        "robustness@10": over_topics(
            "Robustness@10",
            {topic_id: min(values, default=None) for topic_id, values in each.items()},
            reason="no topic has an instructed view",
            seed=seed,
        ),
        "ndcg@10": over_topics(
            "nDCG@10",
            {topic_id: fmean(values) if values else None for topic_id, values in each.items()},
            reason="no topic has an instructed view",
            seed=seed,
        ),
        "plain_ndcg@10": over_topics(
            "nDCG@10", plain, reason="no topic has a view without instruction", seed=seed
        ),
    }


def view_id(topic: Topic, number: int) -> str:
    """Returns the query_id of a topic's view in run files: ``topic_id#number``, counted from 0."""
    return f"{topic.topic_id}#{number}"


def _ranked(run: Run, topic: Topic, view: View) -> Mapping[str, float]:
    query_id = view_id(topic, next(n for n, other in enumerate(topic.views) if other is view))
    if query_id not in run:
        raise InputError(
            "the run lacks this view",
            where=query_id,
            fix="Search again: the run is not of these topics",
        )
    return without(run[query_id], set(view.ids(Label.IGNORE)))


def _view_ndcg(view: View, scores: Mapping[str, float]) -> float:
    return ndcg_of(scores, dict.fromkeys(view.positives, 1), 10)


def _pool(topics: Sequence[Topic], docs: Mapping[str, Doc]) -> tuple[str, ...]:
    labelled = {doc_id for topic in topics for view in topic.views for doc_id in view.labels}
    own = {doc.doc_id for topic in topics for doc in topic.docs}
    return tuple(doc_id for doc_id in docs if doc_id in labelled or doc_id in own)


def _present(
    topics: Sequence[Topic], docs: Mapping[str, Doc], *, partial: bool, where: str
) -> tuple[list[Topic], list[list[str]]]:
    kept, dropped = [], []
    for topic in topics:
        gone = sorted({d for view in topic.views for d in view.labels if d not in docs})
        if gone and not partial:
            raise InputError(
                f"topic {topic.topic_id!r} labels document {gone[0]!r}, which the corpus lacks",
                where=where,
                fix="Add the document, or say --partial to leave such labels out",
            )
        dropped += [[topic.topic_id, doc_id] for doc_id in gone]
        kept.append(topic)
    return kept, dropped


def _unreachable(asked: Mapping[str, str], qrels: Qrels, docs: Mapping[str, Doc]) -> dict[str, Any]:
    """What the guard judges and no search can find; it stays in the denominators."""
    found = {
        "judged_queries_without_text": [q for q in qrels if q not in asked],
        "judged_documents_not_in_corpus": [[q, d] for q, d in unknown_docs(qrels, docs)],
    }
    return {key: rows for key, rows in found.items() if rows}


def _with_judged(pool: Sequence[str], qrels: Qrels, docs: Mapping[str, Doc]) -> tuple[str, ...]:
    """The pool alone lacks most answers of the test queries, so the documents that they judge join it."""
    wanted = {*pool, *(doc_id for grades in qrels.values() for doc_id in grades)}
    return tuple(doc_id for doc_id in docs if doc_id in wanted)


def _of(scope: Scope, pool: Sequence[str], docs: Mapping[str, Doc]) -> str:
    if scope == "pool":
        return f"the {len(pool):,} documents that the topics label"
    return f"all {len(docs):,} documents of the corpus"
