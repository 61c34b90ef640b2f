"""FollowIR's mean of three sets, from memory and from folders, and mteb's results beside it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from obverse.compare import compare, to_look_at
from obverse.errors import InputError
from obverse.mteb_results import is_mteb_place, mteb_results
from obverse.report.comparison import comparison_markdown
from obverse.results import Result, as_one_table, folder_name, read_result, result_folders
from obverse.set_means import FOLLOWIR, with_set_means

HOW = {"joining": "model", "template": "{query} {instruction}", "max_tokens": 128, "ties": "trec"}


def one_set(name: str, p_mrr: list[float], score: float = 0.2, **about: object) -> Result:
    values = {str(n): value for n, value in enumerate(p_mrr)}
    rows = {
        "p_mrr": {"value": sum(p_mrr) / len(p_mrr), "low": -1.0, "high": 1.0, "n": len(p_mrr)},
        "score": {"value": score, "low": 0.0, "high": 1.0, "n": len(p_mrr)},
    }
    topics = {"p_mrr": values, "score": dict.fromkeys(values, score)}
    return Result("m", f"followir:{name}", rows, topics, {**HOW, **about})


def three_sets(**about: object) -> list[Result]:
    return [
        one_set("robust04", [0.0835, 0.0835], 0.1),
        one_set("core17", [0.1, 0.2], 0.2),
        one_set("news21", [-0.5], 0.6, **about),
    ]


def test_the_three_sets_count_alike_and_are_rounded_as_the_papers_do() -> None:
    mean = with_set_means(three_sets())[-1]
    assert mean.benchmark == FOLLOWIR
    assert mean.rows["p_mrr"]["value"] == pytest.approx((0.084 + 0.15 - 0.5) / 3, abs=1e-12)
    exact = (0.0835 + 0.15 - 0.5) / 3
    assert mean.rows["p_mrr_unrounded"]["value"] == pytest.approx(exact, abs=1e-12)
    assert mean.rows["score"]["value"] == pytest.approx(0.3) and mean.rows["score"]["n"] == 5
    assert mean.rows["p_mrr"]["low"] <= exact <= mean.rows["p_mrr"]["high"]
    assert mean.rows["p_mrr"]["sets"]["followir:news21"] == {"value": -0.5, "n": 1}
    assert "rounded" in mean.about["what"]["p_mrr"] and mean.about["published"]
    again = with_set_means([*three_sets(), mean])
    assert [r.benchmark for r in again].count(FOLLOWIR) == 1


def test_the_mean_is_tested_with_every_set_counting_alike() -> None:
    lower = [replace(r, model="n", per_topic=_less(r), rows=_less_rows(r)) for r in three_sets()]
    found = compare(with_set_means([*three_sets(), *lower]))
    (test,) = (
        t for t in found.tests if t["benchmark"] == FOLLOWIR and t["measure"] == "p_mrr_unrounded"
    )
    assert test["difference"] == pytest.approx(-0.1) and (test["n"], test["losses"]) == (5, 5)
    assert not any(each.benchmark == FOLLOWIR for each in to_look_at(found))


def _less(result: Result) -> dict[str, dict[str, float]]:
    return {k: {t: v - 0.1 for t, v in row.items()} for k, row in result.per_topic.items()}


def _less_rows(result: Result) -> dict[str, dict[str, Any]]:
    return {key: {**row, "value": row["value"] - 0.1} for key, row in result.rows.items()}


def test_no_mean_without_all_three_nor_over_different_rules() -> None:
    assert len(with_set_means(three_sets()[:2])) == 2
    with pytest.raises(InputError, match=r"core17|news21.*different rules: joining"):
        with_set_means(three_sets(joining="paper: {query} {instruction}"))
    sets = three_sets()
    nothing = {"value": None, "low": None, "high": None, "n": 0, "reason": "no topics"}
    sets[0] = Result("m", sets[0].benchmark, {"p_mrr": nothing}, {"p_mrr": {}}, HOW)
    row = with_set_means(sets)[-1].rows["p_mrr"]
    assert row["value"] is None and row["reason"] == "followir:robust04 has no value"


def test_the_mean_stands_in_the_table_with_its_distance_to_papers() -> None:
    text = comparison_markdown(compare(with_set_means(three_sets())))
    assert f"## {FOLLOWIR}" in text and "dual-view gte 305M" in text


def test_a_folder_of_several_benchmarks_is_read_whole(tmp_path: Path) -> None:
    for each in three_sets():
        home = tmp_path / folder_name(each.benchmark)
        home.mkdir()
        row = {**each.to_json(), "about": {"model": "m", "benchmark": each.benchmark, **HOW}}
        (home / "scores.json").write_text(json.dumps(row))
    found = [read_result(path) for path in result_folders(tmp_path)]
    assert [r.benchmark for r in found] == [
        f"followir:{s}" for s in ("core17", "news21", "robust04")
    ]
    assert with_set_means(found)[-1].benchmark == FOLLOWIR
    with pytest.raises(InputError, match=r"holds no scores\.json, so it is no folder of evaluate"):
        read_result(tmp_path)
    two = as_one_table({"a": found, "b": found})
    assert {r.model for r in two} == {"m (a)", "m (b)"}


def mteb_folder(home: Path) -> Path:
    scores = {"p-MRR": 0.1, "map_at_1000": 0.9, "og": {"map_at_1000": 0.3}, "hf_subset": "default"}
    row = {
        "task_name": "Core17InstructionRetrieval",
        "mteb_version": "2.26",
        "scores": {"test": [scores]},
    }
    home.mkdir()
    (home / "model_meta.json").write_text('{"name": "them/model"}')
    (home / "Core17InstructionRetrieval.json").write_text(json.dumps(row))
    return home


def test_mtebs_results_stand_beside_ours_where_texts_were_joined_alike(tmp_path: Path) -> None:
    home = mteb_folder(tmp_path / "theirs")
    assert is_mteb_place(home) and not is_mteb_place(tmp_path / "nothing")
    (theirs,) = mteb_results(home)
    assert theirs.benchmark == "followir:core17"
    assert {key: row["value"] for key, row in theirs.rows.items()} == {"p_mrr": 0.1, "score": 0.3}
    found = compare([one_set("core17", [0.1, 0.2]), theirs])
    assert found.tests == [] and any("mteb 2.26" in line for line in found.beware)
    assert "them/model" in comparison_markdown(found)
    with pytest.raises(InputError, match="different rules: joining"):
        compare([one_set("core17", [0.1], joining="paper: {instruction} {query}"), theirs])
