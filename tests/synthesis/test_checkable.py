"""Checkable dual views: every label proved, by the judge and by a second reading of the texts."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path

import pytest
from canned import drive, topic_of
from typer.testing import CliRunner

from obverse.errors import InputError, SettingError
from obverse.files import read_corpus, read_topics
from obverse.records import Doc, Label, Topic, View
from obverse.sample import sample_candidates, sample_folder
from obverse.sampling import rng_for
from obverse.synthesis.checkable_topics import checkable_topics
from obverse.synthesis.condition_wording import PHRASES, say_condition
from obverse.synthesis.conditions import (
    KINDS,
    Condition,
    condition_from,
    satisfies,
    telling_apart,
)
from obverse.synthesis.dialogue import Skip
from obverse.synthesis.wording import check_instruction

CORPUS = sample_folder() / "corpus.jsonl.gz"


@pytest.mark.parametrize(
    ("condition", "meets", "breaks"),
    [
        (Condition("word", "mice"), "In mice.", "In micelles."),
        (Condition("word", "gear"), "All gears.", "A gearbox."),
        (Condition("word", "DNA"), "dna repair", "rna repair"),
        (Condition("word", "mice", negated=True), "In rats.", "In MICE."),
        (Condition("shorter", "4"), "only three words", "these are four words"),
        (Condition("shorter", "4", negated=True), "these are four words", "only three words"),
        (Condition("percentages"), "rose by 5 %", "rose by five"),
        (Condition("percentages"), "ten percent of them", "a percentile"),
        (Condition("p_value"), "(p < 0.05)", "p53 rose"),
        (Condition("p_value"), "P=.03", "pH 7.5"),
        (Condition("interval"), "95% CI 1.1 to 2", "the interval of CIs"),
        (Condition("year"), "since 1998", "1800 patients"),
        (Condition("digits"), "in 3 of", "in three of"),
        (Condition("headings"), "METHODS: we", "our methods: we"),
        (Condition("steps"), "(1) this and (2) that", "this (1) and that"),
        (Condition("steps"), "Do:\n- this\n- that", "this - that"),
        (Condition("question"), "Why not?", "Why not."),
        (Condition("first_person"), "We found", "The US found"),
        (Condition("first_person"), "in our view", "in hours"),
        (Condition("quotes"), 'the "old" way', "the old way's end"),
        (Condition("abbreviation"), "oxygen species (ROS)", "oxygen (reactive)"),
        (Condition("sample_size"), "(n = 12)", "seven of 12"),
        (Condition("measured"), "5 mg daily", "five mg daily"),
        (Condition("measured"), "for 12 weeks", "for 12 people"),
        (Condition("link"), "see https://a.org", "see a.org"),
        (Condition("script", "LATIN"), "abc", "абв"),
        (Condition("script", "CYRILLIC", negated=True), "abc", "абв"),
    ],
)
def test_satisfies(condition: Condition, meets: str, breaks: str) -> None:
    assert satisfies(condition, Doc("a", meets)) and not satisfies(condition, Doc("b", breaks))
    assert not satisfies(condition.contrary(), Doc("a", meets))
    assert satisfies(condition.contrary(), Doc("b", breaks))


def test_titles_count() -> None:
    asks, parts = Doc("a", "Text.", "Is it so?"), Doc("b", "Text.", "It is so: a trial")
    assert satisfies(Condition("title_question"), asks)
    assert not satisfies(Condition("title_question"), parts)
    assert satisfies(Condition("title_colon"), parts)
    assert satisfies(Condition("word", "trial"), parts)


def test_conditions_round_trip() -> None:
    condition = Condition("word", "mice", negated=True)
    assert condition_from(condition.row()) == condition
    for row in ({"kind": "colour"}, {}, None):
        with pytest.raises(InputError):
            condition_from(row)  # type: ignore[arg-type]


def test_every_kind_has_phrases_that_pass_the_wording_checks() -> None:
    values = {"word": "mice", "shorter": "150", "script": "CYRILLIC"}
    for kind in KINDS:
        for negated in (False, True):
            assert len(set(PHRASES[kind, negated])) >= 3
            condition = Condition(kind, values.get(kind, ""), negated)
            for n in range(40):
                said = say_condition(condition, rng_for(0, n))
                assert "{" not in said and said[0] == said[0].upper()
                check_instruction(said, query="the effect on mice", texts=[])


def test_telling_apart_is_proved_and_leaves_relatives_alone() -> None:
    a = Doc("a", "Inhibition of growth. Inhibition in mice and mice. Rats were inhibited by 5 %.")
    b = Doc("b", "It inhibits growth in rats, and rats alone.")
    found = list(telling_apart(a, b, "growth"))
    assert all(satisfies(c, a) and not satisfies(c, b) for c in found)
    words = {c.value for c in found if c.kind == "word" and not c.negated}
    assert words == {"mice"}
    assert Condition("percentages") in found
    assert not list(telling_apart(a, a, "growth"))


def test_method_on_real_topics() -> None:
    counts: Counter[str] = Counter()
    for topic in sample_candidates():
        made = [*topic.views, *drive("checkable", topic, {})]
        _prove(topic.with_views(made), counts)
    assert counts["views"] == 872


def test_method_honours_the_plain_view() -> None:
    topic = topic_of("New bike, 5 %. Bikes bikes.", "Used bike. Old old.", "Used bike. Rust rust.")
    view = View("", {"a": Label.POSITIVE, "b": Label.NEGATIVE, "c": Label.IGNORE})
    for seed in range(10):
        views = drive("checkable", topic.with_views([view]), {}, seed=seed)
        assert [v.positives for v in views] == [["a"], ["b"]]
    with pytest.raises(Skip, match="nothing checkable"):
        drive("checkable", topic_of("Alpha.", "Beta."), {})
    with pytest.raises(Skip, match="no own negative"):
        drive("checkable", topic_of("Alpha."), {})


def test_topics_from_a_corpus_are_proved() -> None:
    corpus = dict(list(read_corpus(CORPUS).items())[:700])
    start = time.monotonic()
    exclude = set(list(corpus)[:50])
    topics = list(checkable_topics(corpus, 600, exclude=exclude))
    assert time.monotonic() - start < 30
    counts: Counter[str] = Counter()
    for topic in topics:
        _prove(topic, counts)
        assert not exclude & {doc.doc_id for doc in topic.docs}
        keep, promote = topic.instructed_views
        assert keep.positives == promote.ids(Label.INSTRUCTION_NEGATIVE)
        assert promote.positives == keep.ids(Label.INSTRUCTION_NEGATIVE)
    assert len(topics) == 600 and len({t.topic_id for t in topics}) == 600
    assert counts["views"] == 1_200
    instructions = Counter(v.instruction for t in topics for v in t.instructed_views)
    assert len(instructions) > 700
    again = list(checkable_topics(corpus, 20, exclude=exclude))
    assert again == topics[:20]
    assert list(checkable_topics(corpus, 20, 1, exclude=exclude)) != again


def _prove(topic: Topic, counts: Counter[str]) -> None:
    for view in topic.instructed_views:
        condition = condition_from(view.origin["condition"])
        counts["views"] += 1
        assert view.origin["lever"] == condition.kind
        for doc_id, label in view.labels.items():
            met = satisfies(condition, topic.doc(doc_id))
            assert met == _second_reading(condition, topic.doc(doc_id))
            assert met == (label in (Label.POSITIVE, Label.IGNORE))


def _second_reading(condition: Condition, doc: Doc) -> bool:
    """Reads the two most frequent kinds again by other means."""
    text = f"{doc.title}\n{doc.text}".lower()
    if condition.kind == "word":
        word = re.escape(condition.value.lower())
        found = re.search(rf"(?<![^\W_])(?<![^\W_]-){word}(?:s|es)?(?![^\W_])(?!-[^\W_])", text)
        return bool(found) != condition.negated
    if condition.kind == "shorter":
        return (len(re.findall(r"\S+", doc.text)) < int(condition.value)) != condition.negated
    return satisfies(condition, doc)


def test_bad_settings() -> None:
    with pytest.raises(SettingError, match="at least three"):
        list(checkable_topics([Doc("a", "Text.", "Title")]))


def test_command(tmp_path: Path) -> None:
    from obverse.cli import _register, app

    _register()
    corpus = tmp_path / "corpus.jsonl"
    rows = list(read_corpus(CORPUS).values())[:60]
    from obverse.files import write_json_lines

    write_json_lines(corpus, ({"_id": d.doc_id, "title": d.title, "text": d.text} for d in rows))
    out = tmp_path / "out.jsonl"
    done = CliRunner().invoke(app, ["checkable", str(corpus), "--out", str(out), "--size", "9"])
    assert done.exit_code == 0, done.output
    assert len(list(read_topics(out))) == 9


def test_adding_to_topics_gives_what_the_engine_gives(tmp_path: Path) -> None:
    from obverse.cli import _register, app
    from obverse.files import write_topics

    _register()
    topics = [*list(sample_candidates())[:20], topic_of("Alpha.", "Beta.")]
    source, out = tmp_path / "t.jsonl", tmp_path / "out.jsonl"
    write_topics(source, topics)
    done = CliRunner().invoke(app, ["checkable", str(source), "--add", "--out", str(out)])
    assert done.exit_code == 0, done.output
    *made, last = read_topics(out)
    assert last == topics[-1] and "nothing checkable" in Path(f"{out}.dropped.jsonl").read_text()
    for topic, grown in zip(topics, made, strict=False):
        assert grown.views == (*topic.views, *drive("checkable", topic, {}))
