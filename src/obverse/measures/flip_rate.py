"""Flip rate: in how many topics does every instruction put its own documents on top?"""

from __future__ import annotations

from collections.abc import Mapping

from obverse.measures.measured import Measured, over_topics
from obverse.measures.p_mrr import TopicLabels, TopicRuns
from obverse.measures.ranks import Ties, check_ties, is_constant, ranks_of
from obverse.records import Label


def flip_rate(
    labels: TopicLabels, runs: TopicRuns, *, ties: Ties = "trec", seed: int = 0
) -> Measured:
    """Returns the share of topics in which the order really turns with the instruction, in [0, 1].

    A topic counts as 1 where, in every instructed view, each of the view's own positives stands above every
    document that another instructed view asks for and this one does not. Documents that a view ignores are out of
    its ranking; one that a run lacks has the rank ``len + 1``. Topics with fewer than two instructed views, or whose
    views ask for the same documents, have no value. A measure of this project; 0 for a model that ignores instructions.

    Args:
        labels: By topic, the labels of its instructed views.
        runs: By topic, the runs of these views, ignored documents taken out.
        ties: How equal scores are ordered.
        seed: Seed of the interval.
    """
    check_ties(ties)
    per_topic: dict[str, float | None] = {}
    for topic_id, views in labels.items():
        wanted = [_positives(view) for view in views]
        turns = []
        for own, view, run in zip(wanted, views, runs[topic_id], strict=True):
            rivals = {
                doc_id
                for others in wanted
                for doc_id in others - own
                if view.get(doc_id) != Label.IGNORE
            }
            if rivals:
                best_rival = min(ranks_of(run, sorted(rivals), ties=ties))
                turns.append(max(ranks_of(run, sorted(own), ties=ties)) < best_rival)
        per_topic[topic_id] = float(all(turns)) if turns else None
    return over_topics(
        "flip rate",
        per_topic,
        notes={
            "ties": ties,
            "constant_scores": [t for t in labels if any(map(is_constant, runs[t]))],
            "with_fewer_than_two_instructions": [t for t, v in per_topic.items() if v is None],
        },
        reason="no topic has two instructed views that ask for different documents",
        seed=seed,
    )


def _positives(view: Mapping[str, Label]) -> set[str]:
    return {doc_id for doc_id, label in view.items() if label == Label.POSITIVE}
