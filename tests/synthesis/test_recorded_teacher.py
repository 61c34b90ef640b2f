"""The packaged replies, sent through the methods, give the labels that the teacher's lines imply."""

from __future__ import annotations

import importlib.util
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from canned import drive

from obverse.files import read_corpus, read_json_lines, read_topics
from obverse.records import Label, Topic, View
from obverse.sample import sample_candidates, sample_folder, sample_replies
from obverse.synthesis.dialogue import Skip

DATA = Path(__file__).parents[1] / "data" / "sample"
Replies = dict[tuple[str, str], dict[str, str]]


@pytest.fixture(scope="module")
def topics() -> list[Topic]:
    return list(sample_candidates())


@pytest.fixture(scope="module")
def replies() -> Replies:
    found: Replies = defaultdict(dict)
    for _, row in read_json_lines(sample_replies()):
        found[row["method"], row["topic_id"]][row["stage"]] = row["reply"]
    return found


@pytest.fixture(scope="module")
def expected() -> dict[str, list[tuple[str, dict[str, str]]]]:
    return {
        row["topic_id"]: [(view["instruction"], view["labels"]) for view in row["views"]]
        for _, row in read_json_lines(DATA / "expected_views.jsonl.gz")
    }


def views(topic: Topic) -> list[tuple[str, dict[str, str]]]:
    return [(view.instruction, dict(view.labels)) for view in topic.views]


@pytest.mark.parametrize(
    ("method", "sides"),
    [("natural_dual_view", (0, 1, 2)), ("dual_view", (0, 1, 2)), ("promoted_negative", (0, 2))],
)
def test_methods_give_what_the_teacher_said(
    topics: list[Topic], replies: Replies, expected: Any, method: str, sides: tuple[int, ...]
) -> None:
    counts: Counter[str] = Counter()
    for topic in topics:
        try:
            made = drive(method, topic, replies[method, topic.topic_id])
        except Skip as skip:
            counts[str(skip)] += 1
            assert topic.topic_id not in expected
            continue
        counts["made"] += 1
        assert views(made) == [expected[topic.topic_id][side] for side in sides]
        assert made.docs == topic.docs
    assert counts == {"made": 330, "no convertible negative": 106}


@pytest.mark.parametrize(("start", "end"), [(1, 2), (2, 1)])
def test_reversal_gives_the_other_side(
    topics: list[Topic], replies: Replies, expected: Any, start: int, end: int
) -> None:
    count = 0
    for topic in topics:
        if topic.topic_id not in expected:
            continue
        both = drive("natural_dual_view", topic, replies["natural_dual_view", topic.topic_id])
        half = both.with_views([both.views[0], both.views[start]])
        (view,) = drive("dual_view", half, replies["dual_view", topic.topic_id])
        assert (view.instruction, dict(view.labels)) == expected[topic.topic_id][end]
        count += 1
    assert count == 330


def test_labels_of_the_expected_views(expected: Any) -> None:
    counts = Counter(
        (side, label)
        for found in expected.values()
        for side, (_, labels) in enumerate(found)
        for label in labels.values()
    )
    assert counts[1, "positive"] == counts[2, "positive"] == 330
    assert counts[1, "instruction_negative"] == counts[2, "instruction_negative"] == 330


def test_held_out_topics_come_out_of_the_same_path() -> None:
    make_sample = _script()
    corpus = read_corpus(sample_folder() / "corpus.jsonl.gz")
    held_out = {t.topic_id: t for t in read_topics(sample_folder() / "topics.jsonl.gz")}
    count = 0
    for _, row in read_json_lines(DATA / "teacher_held_out.jsonl.gz"):
        gold = held_out.get(f"scifact-test-{row['query_id']}")
        if gold is None:
            continue
        said = {
            reply["stage"]: reply["reply"]
            for reply in make_sample.replies(row)
            if reply["method"] == "natural_dual_view"
        }
        doc_ids = [row["positive"], *row["candidates"]]
        labels = dict.fromkeys(doc_ids, Label.NEGATIVE) | {row["positive"]: Label.POSITIVE}
        docs = tuple(corpus[doc_id] for doc_id in doc_ids)
        topic = Topic(gold.topic_id, row["query"], docs, (View("", labels),))
        made = drive("natural_dual_view", topic, said)
        # Further positives of the claim stand in the benchmark's plain view alone.
        judged = [
            (v.instruction, {d: x for d, x in v.labels.items() if d in labels}) for v in gold.views
        ]
        assert views(made) == judged
        count += 1
    assert count == 76


def test_no_held_out_query_or_document_is_trained_on(topics: list[Topic], expected: Any) -> None:
    held_out = list(read_topics(sample_folder() / "topics.jsonl.gz"))
    queries = {topic.query for topic in held_out}
    docs = {d for topic in held_out for view in topic.views for d in view.positives}
    for topic in topics:
        assert topic.query not in queries
        right = {
            d
            for _, labels in expected.get(topic.topic_id, [])
            for d in labels
            if labels[d] == "positive"
        }
        plain = topic.plain_view
        assert plain is not None
        assert not docs & {*right, *plain.positives}


def test_sample_reads_as_beir_folder_and_stays_small() -> None:
    folder = sample_folder()
    corpus = read_corpus(folder / "corpus.jsonl.gz")
    assert len(corpus) == 5_183
    queries = {row["_id"] for _, row in read_json_lines(folder / "queries.jsonl.gz")}
    for split, count in (("train", 919), ("test", 339)):
        lines = (folder / "qrels" / f"{split}.tsv").read_text().splitlines()[1:]
        assert len(lines) == count
        assert all(
            line.split("\t")[0] in queries and line.split("\t")[1] in corpus for line in lines
        )
    assert sum(path.stat().st_size for path in folder.rglob("*.gz")) < 6_000_000
    assert "CC BY 4.0" in (folder / "ATTRIBUTION.md").read_text()


def test_replies_name_the_documents_they_are_about(topics: list[Topic]) -> None:
    docs = {topic.topic_id: [doc.doc_id for doc in topic.docs] for topic in topics}
    for _, row in read_json_lines(sample_replies()):
        assert row["documents"] == docs[row["topic_id"]]


def _script() -> Any:
    path = Path(__file__).parents[2] / "scripts" / "make_sample.py"
    spec = importlib.util.spec_from_file_location("make_sample", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_sample_command_writes_what_the_stages_read(tmp_path: Path, topics: list[Topic]) -> None:
    from typer.testing import CliRunner

    from obverse.cli import _register, app

    _register()
    done = CliRunner().invoke(app, ["sample", str(tmp_path / "s")])
    assert done.exit_code == 0, done.output
    assert list(read_topics(tmp_path / "s" / "train.jsonl.gz")) == topics
    names = {str(path.relative_to(tmp_path / "s")) for path in (tmp_path / "s").rglob("*.*")}
    assert {"corpus.jsonl.gz", "topics.jsonl.gz", "replies.jsonl.gz", "qrels/test.tsv"} <= names


def test_the_engine_makes_the_same_of_the_recorded_replies(
    tmp_path: Path, topics: list[Topic], replies: Replies, expected: Any
) -> None:
    from obverse.llm.recorded import RecordedReplies
    from obverse.stages import Drops
    from obverse.synthesis.engine import synthesize

    drops, some = Drops(), topics[:60]
    lane = RecordedReplies(sample_replies())
    made = list(synthesize(some, drops, method="natural_dual_view", llm=lane, run_dir=tmp_path))
    assert [topic.topic_id for topic in made] == [topic.topic_id for topic in some]
    for topic in made:
        if topic.topic_id in expected:
            assert views(topic) == expected[topic.topic_id]
        else:
            assert len(topic.views) == 1
    assert drops.by_reason.keys() <= {"no convertible negative"}
