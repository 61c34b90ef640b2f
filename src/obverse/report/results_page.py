"""The page of result folders: what ``obverse evaluate --out`` wrote for two models on one topics benchmark."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from obverse.benchmarks.topics import view_id
from obverse.errors import InputError
from obverse.files import in_folder, read_corpus, read_json_lines, read_topics
from obverse.measures.significance import paired_difference
from obverse.records import Doc, Label, Run, Topic, View
from obverse.report.page_data import (
    Difference,
    Gains,
    LossPoint,
    ModelScores,
    PageData,
    Ranked,
    Score,
    TopicPanel,
    ViewPanel,
)
from obverse.results import Result, read_result
from obverse.trec import read_run

DEPTH = 30
"""How far down a ranking the page looks for where a document came from."""


def page_data(
    folders: Mapping[str, str | os.PathLike[str]],
    on: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    filtered: str | os.PathLike[str] | None = None,
    shown: int = 12,
    seed: int = 0,
    **more: Any,
) -> PageData:
    """Returns what the page shows of models that were measured on a topics benchmark.

    Args:
        folders: Result folders by the models' names for the reader, the base first and the trained model last.
        on: The topics benchmark's folder.
        model: The trained model's folder, for the loss curve.
        filtered: The topics that ``obverse filter`` left, for the similarity gains; those it dropped lie beside it.
        shown: How many topics are shown, the first of the file.
        seed: Of the paired tests.
        **more: Further parts of :class:`PageData`.

    Raises:
        InputError: If a folder holds no result, or results are of another benchmark.
    """
    results = {name: read_result(folder) for name, folder in folders.items()}
    if len(results) < 2:
        raise InputError("a page needs two results", fix="Name base and trained model")
    for name, result in results.items():
        if result.about.get("kind") != "topics":
            raise InputError(
                f"is a result on {result.benchmark}, which is no topics benchmark",
                where=os.fspath(folders[name]),
                fix="Evaluate the model on a folder with topics.jsonl, or use obverse compare",
            )
    runs = {name: read_run(Path(folder) / "views.run.tsv").run for name, folder in folders.items()}
    topics = list(read_topics(in_folder(on, "topics.jsonl")))
    docs = dict(read_corpus(in_folder(on, "corpus.jsonl")))
    docs |= {doc.doc_id: doc for topic in topics for doc in topic.docs}
    first, *_, last = results.values()
    return PageData(
        models=[ModelScores(name, _scores(result)) for name, result in results.items()],
        differences=_differences(first, last, seed),
        loss=_loss(Path(model)) if model is not None else (),
        gains=_gains(Path(filtered)) if filtered is not None else None,
        topics=[_panel(topic, runs, docs) for topic in topics[:shown]],
        **({"facts": facts(last)} | more),
    )


def facts(result: Result) -> dict[str, str]:
    """Returns how a result was made, in words for the page."""
    about = result.about
    return {
        "Input of a query": f"`{about['template']}` (template {about.get('template_digest')})"
        if about.get("template")
        else "query and instruction in one",
        "Token limit": f"{about['max_tokens']} for queries and documents"
        if about.get("max_tokens")
        else "none",
        "Held-out topics": f"{about.get('topics')}; {about.get('scope')}",
        "Recall guard": str(about.get("guard")),
        "Versions": ", ".join(f"{name} {v}" for name, v in about.get("versions", {}).items()),
    }


def _scores(result: Result) -> dict[str, Score]:
    return {
        key: Score(row["value"], row["low"], row["high"], row["n"], row.get("reason"))
        for key, row in result.rows.items()
    }


def _differences(base: Result, trained: Result, seed: int) -> dict[str, Difference]:
    found = {}
    for key, values in base.per_topic.items():
        if values and trained.per_topic.get(key):
            test = paired_difference(values, trained.per_topic[key], seed=seed)
            found[key] = Difference(test["difference"], test["low"], test["high"], test["p"])
    return found


def _loss(model: Path) -> list[LossPoint]:
    path = model / "training.jsonl"
    rows = (row for _, row in read_json_lines(path)) if path.is_file() else ()
    return [
        LossPoint(row["step"], row["loss"], row.get("learning_rate"))
        for row in rows
        if "loss" in row
    ]


def _gains(filtered: Path) -> Gains | None:
    gains = [
        view.checks["similarity_gain"]
        for topic in read_topics(filtered)
        for view in topic.instructed_views
        if "similarity_gain" in view.checks
    ]
    dropped = Path(f"{filtered}.dropped.jsonl")
    if dropped.is_file():
        gains += [row["gain"] for _, row in read_json_lines(dropped) if "gain" in row]
    return Gains(gains) if gains else None


def _panel(topic: Topic, runs: Mapping[str, Run], docs: Mapping[str, Doc]) -> TopicPanel:
    views = []
    for number, view in enumerate(topic.views):
        rankings = {}
        for name, run in runs.items():
            if (query_id := view_id(topic, number)) not in run:
                raise InputError(
                    "the run lacks this view",
                    where=f"{name}, {query_id}",
                    fix="Evaluate the model again",
                )
            rankings[name] = _ranked(run[query_id], view, docs)
        passed = {name: _passed(rows) for name, rows in rankings.items()}
        views.append(ViewPanel(view.instruction, rankings, {} if view.is_plain else passed))
    return TopicPanel(topic.query, views, topic.topic_id)


def _ranked(scores: Mapping[str, float], view: View, docs: Mapping[str, Doc]) -> list[Ranked]:
    """Documents in order of rank, without those that the view ignores: the first, and all that it judges."""
    order = sorted(scores, key=lambda doc_id: (scores[doc_id], doc_id), reverse=True)
    left = [doc_id for doc_id in order if view.labels.get(doc_id) != Label.IGNORE]
    rows = [
        Ranked(rank, doc_id, docs[doc_id].title, view.labels.get(doc_id), scores[doc_id])
        for rank, doc_id in enumerate(left, start=1)
    ]
    told = (Label.POSITIVE, Label.INSTRUCTION_NEGATIVE)
    return [row for row in rows if row.rank <= DEPTH or row.label in told]


def _passed(rows: Sequence[Ranked]) -> bool:
    wanted = [row.rank for row in rows if row.label == Label.POSITIVE]
    ruled_out = [row.rank for row in rows if row.label == Label.INSTRUCTION_NEGATIVE]
    return bool(wanted) and all(rank < min(ruled_out, default=rank + 1) for rank in wanted)
