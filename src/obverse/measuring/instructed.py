"""Measures that compare runs under several instructions, over files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from obverse.benchmarks.topics import score_topics
from obverse.errors import SettingError
from obverse.files import read_topics
from obverse.measures.followir_score import CHANGED, ORIGINAL, of_group
from obverse.measures.infosearch import positives_and_negatives
from obverse.measures.infosearch_p_mrr import infosearch_p_mrr
from obverse.measures.measured import Measured
from obverse.measures.named import Measure
from obverse.measures.p_mrr import changed_docs_from, p_mrr
from obverse.measures.ranks import Ties
from obverse.measures.sicr import sicr
from obverse.measures.wise import wise
from obverse.measuring.files import Files, lists_by_id


def p_mrr_of_files(asked: Measure, files: Files) -> Measured:
    """Returns p-MRR from two runs, or one whose ids end in -og and -changed; with the other tie rule's value."""
    run = files.read_run("run").run
    if files.run_changed is not None:
        original, changed = run, files.read_run("run_changed").run
    elif any(query_id.endswith(CHANGED) for query_id in run):
        original, changed = of_group(run, ORIGINAL), of_group(run, CHANGED)
    else:
        raise SettingError(
            "p-MRR compares two runs",
            fix=f"Give --run-changed FILE, or one run whose ids end in {ORIGINAL} and {CHANGED}",
        )
    docs = _changed_docs(files)
    ties = files.ties or "trec"
    found = p_mrr(original, changed, docs, ties=ties, seed=files.seed)
    notes = {
        **found.notes,
        "changed_sets": "given" if files.changed else "derived: judgements that differ",
        "not_asked_about": [q for q in original if q not in docs],
    }
    other: Ties = "insertion" if ties == "trec" else "trec"
    rival = p_mrr(original, changed, docs, ties=other, seed=files.seed).value
    if rival != found.value:
        notes[f"value_with_{other}_ties"] = rival
    return replace(found, notes={key: note for key, note in notes.items() if note != []})


def _changed_docs(files: Files) -> Mapping[str, Sequence[str]]:
    if files.changed is not None:
        return lists_by_id(files.changed, "documents by query")
    if files.qrels is None:
        raise SettingError(
            "it is not said which documents the changed instruction rules out",
            fix="Give --changed changed.json, or --qrels and --qrels-changed to derive them",
        )
    qrels = files.read_qrels()
    if files.qrels_changed is not None:
        changed = files.read_qrels("qrels_changed")
    elif any(query_id.endswith(CHANGED) for query_id in qrels):
        qrels, changed = of_group(qrels, ORIGINAL), of_group(qrels, CHANGED)
    else:
        raise SettingError("there are no changed judgements", fix="Give --qrels-changed FILE")
    unjudged = [
        [query_id, doc_id]
        for query_id, grades in qrels.items()
        if query_id in changed
        for doc_id in grades
        if doc_id not in changed[query_id]
    ]
    alone = [query_id for query_id in qrels if query_id not in changed]
    files.notes.update(
        {
            key: note
            for key, note in (
                ("taken_for_0_in_qrels_changed", unjudged),
                ("without_changed_judgements", alone),
            )
            if note
        }
    )
    return changed_docs_from(qrels, changed)


def infosearch_of_files(asked: Measure, files: Files) -> Measured:
    """Returns InfoSearch's p-MRR, WISE or SICR from the runs of its modes."""
    why = "InfoSearch compares runs without and with the instruction"
    original, instructed = files.read_run("run").run, files.read_run("run_changed", why).run
    qrels = files.read_qrels()
    changed = files.read_qrels("qrels_changed", "there are no judgements with the instruction")
    positives, negatives = positives_and_negatives(qrels, changed)
    ties = files.ties or "insertion"
    if asked.name == "infosearch_p_mrr":
        return infosearch_p_mrr(original, instructed, negatives, ties=ties, seed=files.seed)
    reverse = files.read_run("run_reversed", "there is no run with the reversed instruction").run
    if asked.name == "sicr":
        return sicr(
            original,
            instructed,
            reverse,
            positives,
            variant=files.variant,
            ties=ties,
            seed=files.seed,
        )
    return wise(
        original,
        instructed,
        reverse,
        positives,
        negatives,
        variant=files.variant,
        ties=ties,
        seed=files.seed,
    )


def topics_of_files(asked: Measure, files: Files) -> Measured:
    """Returns flip rate or symmetric p-MRR of a run whose ids are ``topic_id#view``, counted from 0."""
    run = files.read_run("run").run
    path = files.need("topics", f"{asked.name} needs the topics: which view asks for what")
    found = score_topics(list(read_topics(path)), run, seed=files.seed, ties=files.ties or "trec")
    return found["flip_rate" if asked.name == "flip_rate" else "p_mrr"]
