"""Cards say what is known, in a form that hubs read, and never write over what a person wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from obverse.audit.reporting import note_in_made_file
from obverse.cards import write_data_card, write_model_card
from obverse.cards.data_card import split_name, without_folders
from obverse.cards.front_matter import front_matter, licence_facts, size_category
from obverse.cards.model_card import base_name
from obverse.cli import _register, app
from obverse.errors import InputError, ObverseError, SettingError
from obverse.files import read_topics, write_json, write_topics
from obverse.filters.filtering import filter_file
from obverse.ledger import ledger
from obverse.measures.measured import Measured
from obverse.mix.files import mix_files
from obverse.records import Doc, Label, Topic, View
from obverse.results import Result

GOOD, OUT = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE
ORIGIN = {"method": "dual_view", "model": "teacher-9b", "lever": "audience"}
SHARE = {"value": 0.88, "low": 0.8, "high": 0.93, "hits": 88, "n": 100}


def _topics(count: int, start: int = 0) -> list[Topic]:
    return [
        Topic(
            f"t{n}",
            f"which of the bikes is the best one for the road {n}",
            (Doc("p", f"a | good one {n}"), Doc("n", f"the other {n}")),
            (View("", {"p": GOOD}), View("Only for children.", {"p": GOOD, "n": OUT}, ORIGIN)),
        )
        for n in range(start, start + count)
    ]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A set with a history: an attribution, a leak filter, a mix, an audit."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ATTRIBUTION.md").write_text("# Whose\n\nBikes: CC BY 4.0, by Ann.\n")
    source, test = tmp_path / "in" / "raw.jsonl", tmp_path / "test.jsonl"
    write_topics(source, _topics(6))
    write_topics(test, _topics(1))
    filter_file(source, tmp_path / "kept.jsonl", ["leak"], against=[str(test)], levels=["text"])
    mix_files([str(tmp_path / "kept.jsonl")], tmp_path / "bikes.jsonl", size=4)
    report = {"judged": 100, "sampled": 100, "people": ["ann"], "fully_valid": SHARE}
    note_in_made_file(
        tmp_path / "bikes.jsonl", {**report, "criteria": {"keeps_meaning": SHARE}, "by_method": {}}
    )
    return tmp_path / "bikes.jsonl"


@pytest.fixture
def model(tmp_path: Path, data: Path) -> Path:
    folder = tmp_path / "models" / "bikes-encoder"
    template = {"instructed": "query: {query} {instruction}", "plain": "query: {query}"}
    row = {"template": {**template, "document": "{text}"}, "max_tokens": 256}
    write_json(folder / "obverse.json", row)
    settings = {"epochs": 2, "freeze_docs": True, "average": 0.0, "seed": 0}
    made = {
        "command": "train",
        "run": {"settings": settings, "precision": "bf16", "data": "abc"},
        "base": "all-MiniLM-L6-v2",
        "trained_on": ledger(read_topics(data), tokens=None).to_json(hashes=False),
        "steps": 7,
        "loss": 0.25,
        "versions": {"torch": "2"},
    }
    write_json(folder / "training.made.json", made)
    return folder


def _head(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    head: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    return head


def _result(model: str, value: float) -> Result:
    rows = {
        "p_mrr": Measured("p-MRR", value, value - 0.1, value + 0.1, 33).brief(),
        "ndcg@10": Measured("nDCG@10", 0.5, None, None, 33).brief(),
        "plain_ndcg@10": Measured("nDCG@10", 0.75, None, None, 33).brief(),
    }
    return Result(model, "followir:core17", rows, {})


def test_the_data_card_tells_the_whole_history(data: Path) -> None:
    path = write_data_card([data], license="CC-BY-4.0", sources={"MS MARCO": "own terms"})
    text = path.read_text(encoding="utf-8")
    assert path == data.parent / "README.md"
    head = _head(path)
    assert head["license"] == "cc-by-4.0"
    assert head["size_categories"] == ["n<1K"]
    assert head["configs"][0]["data_files"] == [{"split": "train", "path": "bikes.jsonl"}]
    assert str(data.parent) not in text
    assert text.index("| filter |") < text.index("| mix |")
    assert (
        "- taken out against `test.jsonl` by text: 1 for the text of a test query or document"
        in text
    )
    assert "| fully valid | 88.0 % | 80.0 % | 93.0 % | 100 |" in text
    assert "| MS MARCO | own terms |" in text and "Bikes: CC BY 4.0, by Ann." in text
    assert "| dual_view | teacher-9b | 4 |" in text
    assert "| views | 8 (4 plain, 4 original) |" in text
    assert "a \\| good one" in text


def test_what_is_not_known_is_said_and_not_made_up(tmp_path: Path) -> None:
    write_topics(tmp_path / "bare.jsonl", _topics(2))
    text = write_data_card([tmp_path / "bare.jsonl"]).read_text(encoding="utf-8")
    for said in ("No licence was stated", "Not yet: no sample", "Not checked", "are not known"):
        assert said in text
    assert _head(tmp_path / "README.md")["license"] == "unknown"


def test_splits_of_one_set_stand_in_one_card(tmp_path: Path) -> None:
    for name, start in (("train", 0), ("dev", 3), ("test", 5)):
        write_topics(tmp_path / f"{name}.jsonl.gz", _topics(4, start))
    files = [tmp_path / f"{name}.jsonl.gz" for name in ("train", "dev", "test")]
    path = write_data_card(files, name="bikes", language=["en"])
    splits = [entry["split"] for entry in _head(path)["configs"][0]["data_files"]]
    assert splits == ["train", "validation", "test"]
    assert "Distinct queries in more than one split: 3." in path.read_text(encoding="utf-8")
    assert split_name(Path("5-mixed.jsonl.gz")) == "5_mixed"


def test_the_model_card_holds_scores_data_and_template(model: Path, data: Path) -> None:
    scores = [_result("models/bikes-encoder", 0.25), _result("all-MiniLM-L6-v2", 0.125)]
    path = write_model_card(
        model, data=[data], scores=scores, license="apache-2.0", language=["en"]
    )
    text = path.read_text(encoding="utf-8")
    head = _head(path)
    assert head["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert (head["library_name"], head["pipeline_tag"]) == (
        "sentence-transformers",
        "sentence-similarity",
    )
    (entry,) = head["model-index"]
    assert [result["metrics"][0]["value"] for result in entry["results"]] == [0.25]
    assert "0.2500 [0.1500, 0.3500; n=33] | 0.1250 [" in text
    assert "nDCG@10 | 0.5000" in text and "nDCG@10 (plain_ndcg@10) | 0.7500" in text
    assert "query: {query} {instruction}" in text
    assert "'query: mountain bike Only second-hand.'" in text
    assert "encode_document" in text and "256 tokens" in text
    assert "88.0 %" in text and "taken out against `test.jsonl`" in text
    assert "| average |" not in text and "| seed | `0` |" in text


def test_hubs_read_the_cards(model: Path, data: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    scores = [_result("m", 0.25)]
    card = hub.ModelCard.load(write_model_card(model, scores=scores, license="mine", out=None))
    assert card.data.license == "other"
    assert card.data.license_name == "mine"
    assert card.data.eval_results[0].metric_value == 0.25
    loaded = hub.DatasetCard.load(write_data_card([data]))
    assert loaded.data.task_categories == ["text-retrieval", "sentence-similarity"]


def test_other_data_than_the_model_was_trained_on_is_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="was trained on other data"):
        write_model_card(model, data=[tmp_path / "kept.jsonl"])
    with pytest.raises(InputError, match=r"holds no training\.made\.json"):
        write_model_card(tmp_path)


def test_a_card_by_hand_or_of_another_set_is_not_written_over(data: Path) -> None:
    first = write_data_card([data])
    assert write_data_card([data]) == first
    with pytest.raises(SettingError, match="is the card of bikes"):
        write_data_card([data.parent / "kept.jsonl"])
    first.write_text("# By hand\n")
    with pytest.raises(SettingError, match="was not written by obverse"):
        write_data_card([data])
    assert first.read_text() == "# By hand\n"


def test_a_model_has_one_card_under_any_title(model: Path) -> None:
    write_model_card(model, name="first")
    assert "# second\n" in write_model_card(model, name="second").read_text(encoding="utf-8")


def test_a_file_that_was_made_anew_since_is_marked(data: Path) -> None:
    write_topics(data.parent / "kept.jsonl", _topics(3))
    assert "filter (another file by now)" in write_data_card([data]).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("no", 'language:\n- "no"'),
        ("n<1K", '- "n<1K"'),
        ("text-retrieval", "- text-retrieval"),
        ('say "it": yes', '- "say \\"it\\": yes"'),
    ],
)
def test_the_head_is_yaml_that_means_what_it_says(value: str, said: str) -> None:
    head = front_matter({"language": [value], "left out": None})
    assert said in head
    assert yaml.safe_load(head.strip("-")) == {"language": [value]}


def test_licences_and_sizes_have_the_hubs_names() -> None:
    assert licence_facts("MIT") == {"license": "mit"}
    assert licence_facts("My own, v2") == {"license": "other", "license_name": "my-own-v2"}
    assert [size_category(n) for n in (999, 1_000, 5_000_000)] == ["n<1K", "1K<n<10K", "1M<n<10M"]
    assert base_name("/home/ann/models/x") == "x"
    assert base_name("BAAI/bge-m3") == "BAAI/bge-m3"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("5 topics from /home/ann/a b.jsonl", "5 topics from a b.jsonl"),
        ("../x/y.jsonl, in ./z.jsonl", "y.jsonl, in z.jsonl"),
        ("runs/of/mine.jsonl", "mine.jsonl"),
        ("topics=/data/bench", "topics=bench"),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("3 of 5 views", "3 of 5 views"),
    ],
)
def test_no_folder_of_a_machine_gets_into_a_card(text: str, said: str) -> None:
    assert without_folders(text) == said


def test_the_command(model: Path, data: Path, tmp_path: Path) -> None:
    _register()
    run = CliRunner().invoke
    shown = run(app, ["card", str(data), "--out", "-", "--against", str(tmp_path / "test.jsonl")])
    assert "language:\n- en\n" in shown.stdout
    assert (
        "- checked for this card against `test.jsonl` by id, text, ngram: 4 for the id"
        in shown.stdout
    )
    done = run(app, ["card", str(model), "--data", str(data), "--license", "mit"])
    assert done.exit_code == 0
    assert _head(model / "README.md")["license"] == "mit"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{data}", "--scores", "x"], "are for models"),
        (["{model}", "{data}"], "one is a folder"),
        (["{data}", "--source", "SciFact"], "is not NAME=LICENCE"),
        (["{data}", "--language", "English"], "is no code"),
        (["{model}", "--against", "{data}"], "no data to hold against"),
        (["{model}", "--scores", "{model}"], r"holds no scores\.json"),
    ],
)
def test_what_makes_no_sense_is_refused(
    model: Path, data: Path, words: list[str], said: str
) -> None:
    _register()
    given = [word.format(data=data, model=model) for word in words]
    found = CliRunner().invoke(app, ["card", *given])
    assert isinstance(found.exception, ObverseError)
    assert found.exception.exit_status == 2
    with pytest.raises(ObverseError, match=said):
        raise found.exception


def test_a_model_without_facts_still_has_a_card(tmp_path: Path, jsonl: Callable[..., Path]) -> None:
    write_json(tmp_path / "m" / "training.made.json", {"command": "train", "base": "x"})
    write_json(
        tmp_path / "m" / "obverse.json",
        {"template": {"instructed": "{query} {instruction}"}, "max_tokens": 64},
    )
    text = write_model_card(tmp_path / "m").read_text(encoding="utf-8")
    assert "What it was trained on was not written down." in text
    assert "Not measured yet" in text
