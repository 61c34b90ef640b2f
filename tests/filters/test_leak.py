"""Planted test items are found at each of the four levels."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_similarity_gain import Angles

from obverse.errors import InputError, SettingError
from obverse.files import write_json_lines, write_topics
from obverse.filters.leak import leak, read_test_sets
from obverse.records import Doc, Label, Topic, View
from obverse.sample import sample_candidates, sample_folder
from obverse.stages import Drops

P, D, N = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE
LONG = "the quick brown fox jumps over the lazy dog while seven wizards box with liquor jugs"
OTHER = "an entirely different text about something else with enough words in it to count as long"


@pytest.fixture
def test_set(tmp_path: Path) -> str:
    docs = (Doc("t1", LONG), Doc("t2", OTHER))
    views = (View("", {"t1": P, "t2": N}), View("with 7", {"t1": D, "t2": P}))
    path = tmp_path / "test.jsonl"
    write_topics(path, [Topic("T", "held out query 10", docs, views)])
    return str(path)


def topic(query: str = "my query 80", doc: Doc | None = None, extra: Doc | None = None) -> Topic:
    own = doc or Doc("x", "my own text")
    docs = (own, extra or Doc("y", "another own text"))
    views = (
        View("", {own.doc_id: P, docs[1].doc_id: N}),
        View("I", {own.doc_id: D, docs[1].doc_id: P}),
    )
    return Topic("mine", query, docs, views)


def reasons(found: Topic, test_set: str, **settings: object) -> tuple[list[Topic], list[str]]:
    drops = Drops()
    left = list(leak([test_set], **settings)([found], drops))  # type: ignore[arg-type]
    return left, [row["reason"] for row in drops.rows]


def test_nothing_is_found_where_nothing_is_shared(test_set: str) -> None:
    found = topic()
    assert reasons(found, test_set) == ([found], [])


@pytest.mark.parametrize(
    ("planted", "reason"),
    [
        (topic(doc=Doc("t1", LONG + " indeed")), "leak: the id of a test document"),
        (topic(query=" HELD out  query 10"), "leak: the text of a test query or document"),
        (topic(doc=Doc("z", LONG.upper())), "leak: the text of a test query or document"),
        (
            topic(doc=Doc("z", f"And so {LONG}.")),
            "leak: thirteen words in a row of a test query or document",
        ),
        (
            topic(query=f"is it true that {LONG}"),
            "leak: thirteen words in a row of a test query or document",
        ),
    ],
)
def test_planted_items_take_the_topic(test_set: str, planted: Topic, reason: str) -> None:
    assert reasons(planted, test_set) == ([], [reason])


def test_planted_positive_of_one_view_takes_that_view(test_set: str) -> None:
    (left,), found = reasons(topic(extra=Doc("z", OTHER)), test_set)
    assert found == ["leak: the text of a test query or document"]
    assert [view.instruction for view in left.views] == [""]


def test_embedding_level(test_set: str) -> None:
    near = topic(query="other words 12")
    assert reasons(near, test_set)[1] == []
    levels = ["embedding"]
    assert reasons(near, test_set, levels=levels, encoder=Angles())[1] == [
        "leak: nearly a test query"
    ]
    assert reasons(topic(), test_set, levels=levels, encoder=Angles())[1] == []
    with pytest.raises(SettingError, match="needs an encoder"):
        leak([test_set], levels=levels)


def test_ids_of_other_corpora_collide_without_harm(test_set: str) -> None:
    found = topic(doc=Doc("t1", "some text that has nothing to do with it"))
    assert reasons(found, test_set) == ([found], [])


def test_shared_negatives_are_no_leak(test_set: str) -> None:
    docs = (Doc("x", "my own text"), Doc("t1", LONG))
    found = Topic("mine", "my query 80", docs, (View("", {"x": P, "t1": N}),))
    assert reasons(found, test_set) == ([found], [])


def test_beir_folder(tmp_path: Path) -> None:
    write_json_lines(tmp_path / "corpus.jsonl", [{"_id": "t1", "title": "", "text": LONG}])
    write_json_lines(
        tmp_path / "queries.jsonl", [{"_id": "q", "text": "held out"}, {"_id": "r", "text": "free"}]
    )
    with pytest.raises(InputError, match=r"test\.tsv"):
        read_test_sets([tmp_path])
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tt1\t1\nr\tt1\t0\n")
    found = read_test_sets([tmp_path])
    assert found.queries == ["held out"] and found.doc_ids == {"t1": LONG}


def test_public_benchmarks_give_their_queries(tmp_path: Path, test_set: str) -> None:
    from obverse.cli.filtering import named_test_set

    folder = tmp_path / "bench"
    folder.mkdir()
    corpus = [{"_id": "t1", "title": "", "text": LONG}, {"_id": "t2", "title": "", "text": OTHER}]
    write_json_lines(folder / "corpus.jsonl", corpus)
    (folder / "topics.jsonl").write_bytes(Path(test_set).read_bytes())
    found = named_test_set(f"topics={folder}")
    assert "held out query 10" in found.queries
    assert named_test_set(test_set) == test_set
    tests = read_test_sets([found, test_set])
    assert tests.doc_ids == {"t1": LONG, "t2": OTHER}


def test_settings() -> None:
    with pytest.raises(SettingError, match="no test set"):
        leak([])
    with pytest.raises(SettingError, match="unknown level"):
        leak(["x"], levels=["words"])


def test_packaged_training_topics_do_not_leak_into_the_held_out_ones() -> None:
    topics = list(sample_candidates())
    drops = Drops()
    left = list(leak([str(sample_folder())], levels=["id", "text"])(topics, drops))
    assert left == topics and not drops.rows
