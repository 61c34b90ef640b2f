"""p-MRR: whether documents that an instruction rules out really fall, and its symmetric form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from obverse.errors import InputError
from obverse.measures.measured import Measured, over_topics
from obverse.measures.ranks import Ties, check_ties, is_constant, ranks_of
from obverse.records import Label, Qrels, Run


def rank_change(before: int, after: int) -> float:
    """Returns how far a document fell, in (-1, 1): positive when it fell, negative when it rose, 0 when it stayed."""
    return after / before - 1 if before >= after else 1 - before / after


def p_mrr(
    original: Run,
    changed: Run,
    changed_docs: Mapping[str, Sequence[str]],
    *,
    ties: Ties = "trec",
    seed: int = 0,
) -> Measured:
    """Returns the mean fall of the documents that the changed instruction rules out, in (-1, 1), higher is better.

    The mean is over a query's changed documents first and then over queries. A document that a run lacks has the
    rank ``len + 1`` there; one that a list of changed documents names twice counts once and is named. A query without
    changed documents, or that one of the runs lacks, has no value; it is named and not counted.

    After Weller et al. (2024), *FollowIR: Evaluating and Teaching Information Retrieval Models to Follow
    Instructions*, https://arxiv.org/abs/2403.15246. Scores are compared in double precision, as mteb does. The
    tie rule ``trec`` gives the values of mteb since 2.x of August 2026, ``insertion`` those of all before.

    Args:
        original: The run under the original instruction.
        changed: The run under the changed instruction.
        changed_docs: By query, the documents that the changed instruction rules out.
        ties: How equal scores are ordered.
        seed: Seed of the interval.

    Raises:
        InputError: If a score is NaN, with the query.
    """
    check_ties(ties)
    per_topic: dict[str, float | None] = {}
    no_docs, no_run, absent, absent_twice, repeated = [], [], [], [], []
    for query_id, listed in changed_docs.items():
        per_topic[query_id] = None
        doc_ids = list(dict.fromkeys(listed))
        if len(doc_ids) < len(listed):
            repeated.append(query_id)
        if not doc_ids:
            no_docs.append(query_id)
            continue
        if query_id not in original or query_id not in changed:
            no_run.append(query_id)
            continue
        old, new = original[query_id], changed[query_id]
        try:
            before, after = (ranks_of(run, doc_ids, ties=ties) for run in (old, new))
        except InputError as error:
            raise error.at(f"query {query_id}") from None
        per_topic[query_id] = fmean(map(rank_change, before, after))
        for doc_id in doc_ids:
            if doc_id not in old and doc_id not in new:
                absent_twice.append([query_id, doc_id])
            elif doc_id not in old or doc_id not in new:
                absent.append([query_id, doc_id])
    return over_topics(
        "p-MRR",
        per_topic,
        left_out=no_docs + no_run,
        notes={
            "ties": ties,
            "without_changed_docs": no_docs,
            "without_results": no_run,
            "constant_scores": [
                query_id
                for query_id, value in per_topic.items()
                if value is not None
                and (is_constant(original[query_id]) or is_constant(changed[query_id]))
            ],
            "changed_docs_listed_twice": repeated,
            "changed_docs_missing_in_one_run": absent,
            "changed_docs_missing_in_both_runs": absent_twice,
        },
        reason="no query has a changed document that both runs could rank",
        seed=seed,
    )


def changed_docs_from(original: Qrels, changed: Qrels) -> dict[str, list[str]]:
    """Returns, by query, the documents whose judgement differs between two sets of judgements.

    As mteb 1.x derives them: any difference counts, in either direction. A document that the second set does not
    judge counts as grade 0 there; a query that it does not judge at all is left out.
    """
    return {
        query_id: [
            doc_id
            for doc_id, grade in grades.items()
            if max(0, changed[query_id].get(doc_id, 0)) != max(0, grade)
        ]
        for query_id, grades in original.items()
        if query_id in changed
    }


TopicLabels = Mapping[str, Sequence[Mapping[str, Label]]]
"""By topic, the labels of its instructed views in order."""

TopicRuns = Mapping[str, Sequence[Mapping[str, float]]]
"""By topic, the runs of its instructed views in the same order, ignored documents taken out."""


def symmetric_p_mrr(
    labels: TopicLabels, runs: TopicRuns, *, ties: Ties = "trec", seed: int = 0
) -> Measured:
    """Returns p-MRR in both directions, in (-1, 1), higher is better.

    For every ordered pair (a, b) of a topic's instructed views, over the documents that are positive in a and
    instruction negatives in b: how far they fall from a's ranking to b's, as in :func:`p_mrr`. The mean is over
    documents, then pairs, then topics. A model that ignores instructions gets 0; swapping the two views of a topic
    changes nothing. A measure of this project, by the formula of Weller et al. (2024),
    https://arxiv.org/abs/2403.15246.

    Args:
        labels: By topic, the labels of its instructed views.
        runs: By topic, the runs of these views, ignored documents taken out.
        ties: How equal scores are ordered.
        seed: Seed of the interval.
    """
    check_ties(ties)
    per_topic: dict[str, float | None] = {}
    for topic_id, views in labels.items():
        falls = []
        for a, before in enumerate(views):
            for b, after in enumerate(views):
                docs = [
                    doc_id
                    for doc_id, label in before.items()
                    if label == Label.POSITIVE and after.get(doc_id) == Label.INSTRUCTION_NEGATIVE
                ]
                if a == b or not docs:
                    continue
                old = ranks_of(runs[topic_id][a], docs, ties=ties)
                new = ranks_of(runs[topic_id][b], docs, ties=ties)
                falls.append(fmean(map(rank_change, old, new)))
        per_topic[topic_id] = fmean(falls) if falls else None
    return over_topics(
        "symmetric p-MRR",
        per_topic,
        notes={
            "ties": ties,
            "constant_scores": [t for t in labels if any(map(is_constant, runs[t]))],
            "without_changed_docs": [t for t, value in per_topic.items() if value is None],
        },
        reason="no topic has a document that is positive under one instruction and ruled out by another",
        seed=seed,
    )
