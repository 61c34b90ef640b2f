"""Recipes: what the arms hold, equal sizes, a run that is killed and goes on, the page, the sweep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from recipe_encoder import make_encoder, topics_benchmark_folder
from typer.testing import CliRunner

from obverse.errors import SettingError
from obverse.ledger import compare_ledgers, ledger
from obverse.mix import kind_of
from obverse.recipes import run as running
from obverse.recipes.choices import parse_choice, settings_of
from obverse.recipes.named import RECIPES, load_recipe
from obverse.recipes.outcome import front, mean_over_seeds, outcome
from obverse.recipes.page_tables import score_table
from obverse.recipes.prepared import scale_of
from obverse.recipes.recipe import Pair
from obverse.recipes.run import recipe
from obverse.recipes.sides import kept, turned
from obverse.recipes.source import Source, remembering, source_from
from obverse.recipes.sweep import parse_grid, read_sweep, sweep, swept
from obverse.records import Label, Topic
from obverse.results import Result

SMALL: dict[str, Any] = {"max_tokens": 48, "epochs": 1, "batch_rows": 8, "pool_negatives": 20}


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_encoder(tmp_path_factory.mktemp("recipe-encoder"))


@pytest.fixture(scope="session")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return topics_benchmark_folder(tmp_path_factory.mktemp("held-out"))


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory, base: str, held_out: Path) -> Source:
    from obverse.corpus_vectors import CorpusVectors
    from obverse.models import load_encoder

    encoder = load_encoder(base, max_tokens=48)
    home = tmp_path_factory.mktemp("source")
    return source_from(home, remembering(encoder, CorpusVectors(encoder)), size=36, two_sided=False)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, base: str, held_out: Path) -> Iterator[Path]:
    out = tmp_path_factory.mktemp("recipe") / "out"
    _run(out, base, held_out)
    yield out


def _run(out: Path, base: str, held_out: Path, **more: Any) -> Any:
    options: dict[str, Any] = {"scale": "0.002%", "seeds": (0, 1), "settings": SMALL} | more
    return recipe("dual-view", out=out, base=base, benchmark=held_out, threads=1, **options)


@pytest.mark.parametrize("name", RECIPES)
def test_every_pair_that_is_called_matched_holds_equally_many_views(
    name: str, source: Source
) -> None:
    found = load_recipe(name)
    for pair in found.pairs:
        if not pair.matched:
            continue
        arm, against = (found.arm(n).make(source, 1) for n in (pair.arm, pair.against))
        assert found.rows(arm) == found.rows(against) > 0, f"{pair.arm}, {pair.against}"


def test_reversed_views_replace_half_of_the_original_rows(source: Source) -> None:
    found = load_recipe("dual-view")
    original, dual = (found.arm(name).make(source, 0) for name in ("Ins-orig", "Ins-DV"))
    difference = compare_ledgers(ledger(original), ledger(dual))
    assert difference.matched(["views"])
    assert len(dual) * 2 == len(original)
    assert {topic.topic_id for topic in dual} < {topic.topic_id for topic in original}
    for topic in dual:
        assert [kept(_with_plain(source, topic)), turned(_with_plain(source, topic))] == [
            *topic.views
        ]


def test_the_seed_draws_other_rows_and_the_same_seed_the_same(source: Source) -> None:
    make = load_recipe("dual-view").arm("Ins-DV").make
    first, again, other = ([t.topic_id for t in make(source, seed)] for seed in (0, 0, 1))
    assert first == again != other


def test_the_promoted_view_of_either_method_is_the_same(source: Source, tmp_path: Path) -> None:
    """The dual views' turned side is promoted_negative's recorded reply, and dual_view's reversal of the other side."""
    by_id = {topic.topic_id: topic for topic in source.two_sided}
    assert len(source.reversals) == len(by_id)
    for topic in source.reversals:
        mine, theirs = turned(by_id[topic.topic_id]), turned(topic)
        assert mine is not None and theirs is not None
        assert mine.instruction == theirs.instruction
        assert mine.positives == theirs.positives


def test_ablations_change_the_labels_they_name(source: Source) -> None:
    found = load_recipe("promoted-negatives")

    def labels(name: str) -> list[Label]:
        topics = found.arm(name).make(source, 0)
        return [label for t in topics for view in t.views for label in view.labels.values()]

    assert Label.IGNORE in labels("promoted")
    assert Label.IGNORE not in labels("no cleaning")
    assert Label.INSTRUCTION_NEGATIVE not in labels("old positive unused")
    kinds = {kind_of(t, v) for t in found.arm("plain").make(source, 0) for v in t.views}
    assert len(kinds) == 1
    rows = found.arm("inf-ir-style").make(source, 0)
    assert sum(t.topic_id.endswith("-poisoned-query") for t in rows) * 3 == found.rows(rows)


def test_filters_keep_what_they_ask_for(source: Source) -> None:
    found = load_recipe("promoted-negatives")
    for name, check in (("promoted", "similarity_gain"), ("flip demanded", "lead")):
        rows = found.arm(name).make(source, 0)
        assert (
            all(view.checks[check] > 0 for topic in rows for view in topic.views) or len(rows) == 1
        )


def test_training_topics_hold_no_answer_of_a_held_out_topic(source: Source) -> None:
    answers = {d for t in source.held_out for v in t.views for d in v.positives}
    assert not answers & {doc.doc_id for topic in source.topics for doc in topic.docs}


def test_held_back_topics_share_nothing_with_training(source: Source) -> None:
    from obverse.recipes.source import held_back

    split = held_back(source, 5)
    answers = {d for t in split.development for v in t.views for d in v.positives}
    assert len(split.development) == 5
    assert not answers & {doc.doc_id for topic in split.topics for doc in topic.docs}
    assert not {t.query for t in split.development} & {t.query for t in split.topics}
    with pytest.raises(SettingError, match="cannot be held back"):
        held_back(source, 1_000)


def test_the_page_holds_the_table_the_proof_and_the_papers_numbers(done: Path) -> None:
    page = (done / "recipe.md").read_text()
    for text in ("| Ins-DV |", "## Sizes, from the ledger", "equal in views", "bge-m3-retromae"):
        assert text in page
    assert "7.57" in page and "obverse recipe dual-view --scale 0.002%" in page
    assert str(done) not in page
    html = (done / "recipe.html").read_text()
    assert html.startswith("<!doctype html>") and "Ins-DV" in html
    rows = json.loads((done / "results.json").read_text())
    assert set(rows["means"]) == {"held"}
    assert set(rows["means"]["held"]) == {"base", "Ins-orig", "Ins-DV", "All-orig", "All-DV"}


def test_equal_sizes_train_equal_steps(done: Path) -> None:
    cells = {p.name[:14]: json.loads((p / "cell.json").read_text()) for p in _cells(done)}
    steps = {row["arm"]: row["steps_made"] for row in cells.values()}
    views = {row["arm"]: row["ledger"]["views"] for row in cells.values()}
    assert steps["Ins-orig"] == steps["Ins-DV"] and views["Ins-orig"] == views["Ins-DV"]
    assert steps["All-orig"] == steps["All-DV"] and views["All-orig"] == views["All-DV"]


def _cells(out: Path) -> list[Path]:
    return sorted((out / "cells").iterdir())


def test_finished_cells_are_not_run_again(
    done: Path, base: str, held_out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {p: p.stat().st_mtime_ns for p in done.glob("cells/*/cell.json")}
    page = (done / "recipe.md").read_bytes()
    monkeypatch.setattr("obverse.training.trainer.train", _never)
    _run(done, base, held_out)
    assert {p: p.stat().st_mtime_ns for p in done.glob("cells/*/cell.json")} == before
    assert (done / "recipe.md").read_bytes() == page


def _never(*_: Any, **__: Any) -> None:
    raise AssertionError("trained again")


def test_one_changed_setting_of_one_arm_makes_cells_of_that_arm_alone(
    done: Path, base: str, held_out: Path
) -> None:
    before = set(_cells(done))
    _run(done, base, held_out, settings={**SMALL, "Ins-DV.learning_rate": 1e-3}, seeds=(0,))
    new = set(_cells(done)) - before
    assert [path.name.partition("-seed")[0] for path in new] == ["Ins-DV"]
    _run(done, base, held_out)


def test_a_killed_recipe_goes_on_to_the_same_numbers(
    done: Path, base: str, held_out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    whole = running.run_cell

    def dies(cell: Any, *args: Any, **options: Any) -> None:
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(cell.folder.name)
        whole(cell, *args, **options)

    monkeypatch.setattr(running, "run_cell", dies)
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path / "out", base, held_out)
    assert not (tmp_path / "out" / "recipe.md").exists()
    monkeypatch.setattr(running, "run_cell", whole)
    _run(tmp_path / "out", base, held_out)
    assert len(list(tmp_path.glob("out/cells/*/README.md"))) == 8
    assert "checked for this card" in next(tmp_path.glob("out/cells/*/model/README.md")).read_text()
    first, second = (json.loads((p / "results.json").read_text()) for p in (done, tmp_path / "out"))
    assert first["means"] == second["means"]


def test_a_sweep_makes_one_cell_for_each_point_and_goes_on_from_a_smaller_one(
    base: str, held_out: Path, tmp_path: Path
) -> None:
    def run(*rates: float) -> set[str]:
        ran = sweep(
            "retention",
            out=tmp_path / "out",
            grid={"learning_rate": list(rates)},
            arms=["plain 1"],
            development=4,
            scale="0.1%",
            seeds=(0,),
            base=base,
            benchmark=held_out,
            settings=SMALL,
            keep="none",
            threads=1,
        )
        assert "development" in ran.page.read_text()
        assert "On held" not in ran.page.read_text()
        assert "obverse sweep retention" in ran.page.read_text()
        return {path.name for path in _cells(tmp_path / "out")}

    small = run(1e-4)
    assert len(small) == 1 and small < run(1e-4, 3e-4)
    assert not list((tmp_path / "out").glob("cells/*/model"))


def test_grids_and_files_of_sweeps(tmp_path: Path) -> None:
    assert parse_grid("epochs=1,2.5") == ("epochs", [1, 2.5])
    found = swept(load_recipe("retention"), {"epochs": [1, 2], "keep_close": [0, 3]}, ["plain 1"])
    assert [arm.name for arm in found.arms][:2] == [
        "plain 1, epochs=1 keep_close=0",
        "plain 1, epochs=1 keep_close=3",
    ]
    for text in ("epochs", "epochs=", "=1"):
        with pytest.raises(SettingError, match="is not key=a,b"):
            parse_grid(text)
    with pytest.raises(SettingError, match="no setting 'epoch'"):
        swept(load_recipe("retention"), {"epoch": [1]}, ["plain 1"])
    file = tmp_path / "sweep.json"
    file.write_text('{"recipe": "retention", "grid": {"epochs": 1}}')
    with pytest.raises(Exception, match="no list"):
        read_sweep(file)


def test_settings_go_to_all_arms_or_to_one() -> None:
    found = load_recipe("retention")
    given = dict(map(parse_choice, ["learning_rate=1e-3", "plain 1.keep_close=2"]))
    per_arm = settings_of(found, given, 0.01)
    assert per_arm["plain 0"]["learning_rate"] == 1e-3
    assert per_arm["rate / 4"]["learning_rate"] == 1.5e-5
    assert per_arm["plain 1"]["keep_close"] == 2
    assert settings_of(found, {}, 1.0)["plain 0"]["max_tokens"] == 512
    with pytest.raises(SettingError, match="Did you mean learning_rate"):
        settings_of(found, {"learning_rat": 1}, 0.01)
    with pytest.raises(SettingError, match="has no arm 'x'"):
        settings_of(found, {"x.epochs": 1}, 0.01)


def test_scales() -> None:
    assert scale_of("1%") == scale_of(0.01) == scale_of("0.01") == 0.01
    for wrong in ("0", "101%", "much", -1):
        with pytest.raises(SettingError, match="the scale is"):
            scale_of(wrong)


def test_means_over_seeds_pair_by_topic() -> None:
    def result(*values: float) -> Result:
        topics = {f"t{n}": value for n, value in enumerate(values)}
        return Result("m", "b", {"p_mrr": {"value": sum(values) / len(values)}}, {"p_mrr": topics})

    mean = mean_over_seeds("arm", [result(0, 1, 2), result(2, 1, 0)])
    assert mean.per_topic["p_mrr"] == {"t0": 1, "t1": 1, "t2": 1}
    assert mean.rows["p_mrr"]["value"] == 1
    made = load_recipe("dual-view")
    arms = {"base": [result(0, 0, 0)], "Ins-orig": [result(0, 1, 2)], "Ins-DV": [result(5, 6, 7)]}
    found = outcome(made, {"b": arms})
    test = next(t for t in found.tests if t["model"] == "Ins-DV")
    assert test["difference"] == pytest.approx(5)
    assert found.findings[0].pair == next(p for p in made.pairs if isinstance(p, Pair))


def test_measures_of_another_benchmark_keep_their_own_names() -> None:
    def result(kind: str) -> Result:
        row = {"measure": "nDCG@10", "value": 0.5, "n": 1}
        return Result("m", kind, {"ndcg@10": row}, {"ndcg@10": {"t": 0.5}}, {"kind": kind})

    heads = [score_table([mean_over_seeds("arm", [result(k)])]).head for k in ("topics", "beir")]
    assert heads == [["arm", "nDCG@10, instructed (n=1)"], ["arm", "nDCG@10 (n=1)"]]


def test_the_front_leaves_out_what_another_point_beats() -> None:
    assert front({"a": (1, 1), "b": (2, 0), "c": (0.5, 1), "d": (2, 0)}) == {"a", "b", "d"}


def test_wrong_words_on_the_command_line_are_one_line(tmp_path: Path) -> None:
    from obverse.cli import _register, app

    _register()
    for words, said in (
        (["recipe", "dual", "--out", str(tmp_path / "o")], "there is no recipe 'dual'"),
        (["recipe", "dual-view", "--out", str(tmp_path / "o"), "--arm", "x"], "has no arm 'x'"),
        (["recipe", "dual-view", "--out", str(tmp_path / "o"), "--set", "x"], "not key=value"),
        (["recipe", "dual-view", "--out", str(tmp_path / "o"), "--seeds", "x"], "--seeds is 'x'"),
        (["recipe", "dual-view", "--out", str(tmp_path / "o"), "--keep", "x"], "--keep is 'x'"),
        (["recipe", "dual-view", "--out", str(tmp_path / "o"), "--set", "epochs=0"], "epochs is 0"),
        (["sweep", "retention", "--out", str(tmp_path / "o")], "the grid is empty"),
    ):
        result = CliRunner().invoke(app, words)
        assert isinstance(result.exception, SettingError) and said in str(result.exception)
        assert not (tmp_path / "o").exists()
    listed = CliRunner().invoke(app, ["list", "recipes"])
    assert listed.output.split() == list(RECIPES)


def _with_plain(source: Source, topic: Topic) -> Topic:
    whole = next(t for t in source.reversals if t.topic_id == topic.topic_id)
    plain = whole.plain_view
    assert plain is not None
    return topic.with_views([plain, *topic.views])
