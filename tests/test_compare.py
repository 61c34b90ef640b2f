"""Models in one table: paired tests, what must not be compared, and the gate."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from obverse.compare import compare, distance_to_paper, wins_and_losses
from obverse.errors import InputError, SettingError
from obverse.gate import breaches, read_thresholds
from obverse.report.compared import plots_of
from obverse.report.comparison import comparison_latex, comparison_markdown
from obverse.report.comparison_page import comparison_html
from obverse.results import Result, read_result, tops_of


def result(model: str, lift: float = 0.0, **about: object) -> Result:
    values = {f"t{n}": n / 40 + lift for n in range(30)}
    mean = sum(values.values()) / 30
    row = {"value": mean, "low": mean - 0.1, "high": mean + 0.1, "n": 30}
    plain = {"value": 0.6, "low": 0.5, "high": 0.7, "n": 300}
    return Result(
        model,
        "kettles",
        {"p_mrr": row, "guard_ndcg@10": plain},
        {"p_mrr": values},
        {"joining": "model", "max_tokens": 128, **about},
        {f"t{n}": "#0 a b c" for n in range(30)},
    )


def test_every_model_is_held_against_the_first_over_the_same_topics() -> None:
    found = compare([result("base"), result("better", 0.2), result("same")])
    better, same = found.tests
    assert better["difference"] == pytest.approx(0.2) and better["p_holm"] < 0.01
    assert better["wins"] == 30 and same["p_holm"] == 1.0
    assert better["p_holm"] >= better["p"]


def test_numbers_made_by_different_rules_do_not_come_into_one_table() -> None:
    with pytest.raises(InputError, match="different rules: joining is 'model' and 'paper'"):
        compare([result("base"), result("other", joining="paper")])
    found = compare([result("base"), result("other", max_tokens=256)])
    assert found.beware == ["kettles: token limits differ (128, 256)"]


def test_tables_in_three_forms_say_what_the_star_means() -> None:
    found = compare([result("base"), result("<better>", 0.2)])
    markdown = comparison_markdown(found)
    assert "| base" in markdown and "Holm" in markdown and "+0.2000 *" in markdown
    assert "| +0.200 p_mrr | base: #0 a b c<br><better>: #0 a b c |" in markdown
    page = comparison_html(found)
    assert "<svg" in page and "&lt;better&gt;" in page and "<script" not in page
    assert r"\begin{tabular}" in comparison_latex(found)
    row = json.loads(json.dumps(found.to_json()))
    assert row["topics_to_look_at"][0]["tops"] == {"base": "#0 a b c", "<better>": "#0 a b c"}


def test_measures_are_called_as_their_benchmark_calls_them_and_drawn_where_both_sides_are_known() -> (
    None
):
    row = {"value": 0.1, "low": 0.0, "high": 0.2, "n": 2}
    rows = {
        "p_mrr": {**row, "measure": "p-MRR"},
        "score": {**row, "measure": "FollowIR Score (MAP@1000)"},
    }
    plain = {"ndcg@10": {**row, "measure": "nDCG@10"}}
    results = [
        Result(model, name, own, {}, {"kind": kind, "joining": "model"})
        for model in ("a", "b")
        for name, own, kind in (
            ("followir:core17", rows, "followir"),
            ("beir:scifact", plain, "beir"),
        )
    ]
    found = compare(results)
    text = comparison_markdown(found)
    assert "Symmetric" not in text and "FollowIR Score (MAP@1000) x100" in text
    assert " nDCG@10 x100 |" in text
    assert list(plots_of(found)) == ["followir:core17", "followir:core17 against beir:scifact"]
    page = comparison_html(found)
    assert page.count("<svg") == 2 and "n = 2" in page


def test_wins_and_losses_are_the_largest_first() -> None:
    a, b = {"x": 0.0, "y": 0.5, "z": 0.5}, {"x": 1.0, "y": 0.0, "z": 0.5}
    assert wins_and_losses(a, b) == ([("x", 1.0)], [("y", -0.5)])


def test_distance_to_published_values_comes_with_known_reasons() -> None:
    published = {"a paper's model": {"p_mrr x 100": 30.0, "source": "arXiv"}}
    (row,) = distance_to_paper([result("base", published=published)])
    assert row["distance"] == pytest.approx(36.25 - 30)
    assert any("token limit" in reason for reason in row["reasons"])


def test_a_result_is_read_from_the_folder_that_evaluate_wrote(tmp_path: Path) -> None:
    row = {
        "p_mrr": {"value": 0.5, "low": 0.4, "high": 0.6, "n": 2},
        "per_topic": {"p_mrr": {"a": 0.4, "b": 0.6}},
        "about": {"model": "m", "benchmark": "k", "joining": "model"},
    }
    (tmp_path / "scores.json").write_text(json.dumps(row))
    (tmp_path / "views.run.tsv").write_text("a#0\tQ0\td1\t1\t0.9\tx\na#0\tQ0\td2\t2\t0.8\tx\n")
    found = read_result(tmp_path)
    assert (found.model, found.rows["p_mrr"]["n"]) == ("m", 2)
    assert found.tops == {"a": "#0 d1 d2"}
    (tmp_path / "scores.json").write_text("{}")
    with pytest.raises(InputError, match="no result of obverse evaluate"):
        read_result(tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"p_mrr": {"value": "x", "low": 0, "high": 1, "n": 2}}, "p_mrr: value is 'x'"),
        ({"p_mrr": {"value": 0.5, "low": 0, "high": 1}}, "p_mrr: n is 'missing'"),
        ({"per_topic": {"p_mrr": {"a": None}}}, "per_topic, p_mrr: should be numbers by topic"),
        ({"per_topic": []}, "no result of obverse evaluate"),
        ({"about": {"model": "m"}}, "no result of obverse evaluate"),
    ],
)
def test_a_result_that_was_edited_is_one_line(
    tmp_path: Path, change: dict[str, object], says: str
) -> None:
    row = {
        "p_mrr": {"value": 0.5, "low": 0.4, "high": 0.6, "n": 2},
        "per_topic": {"p_mrr": {"a": 0.4, "b": 0.6}},
        "about": {"model": "m", "benchmark": "k"},
    }
    (tmp_path / "scores.json").write_text(json.dumps({**row, **change}))
    with pytest.raises(InputError, match=says):
        read_result(tmp_path)


def test_queries_of_one_topic_are_shown_together() -> None:
    runs = {
        "candidates": {"7-og": {"a": 2.0, "b": 1.0}, "7-changed": {"b": 2.0}, "plain": {"c": 1.0}}
    }
    assert tops_of(runs) == {"7": "og a b, changed b", "plain": "c"}


def test_the_gate_names_each_breach_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    path.write_text(
        '[p_mrr]\nmin = 0.5\nmax_drop = 0.01\nn_min = 31\n["guard_ndcg@10"]\nmin = 0.5\n[flip_rate]\nmin = 0\n'
    )
    thresholds = read_thresholds(path)
    now = result("now")
    lines = breaches([now], thresholds, [result("before", 0.1)])
    shown = "p_mrr: 0.3625 [0.2625, 0.4625] is"
    assert lines == [
        f"{shown} below 0.5 (n=30)",
        "p_mrr: the mean runs over 30 topics, fewer than 31",
        f"{shown} 0.1000 below the baseline's 0.4625, allowed 0.01, paired p 0.0001 (n=30)",
        "flip_rate: no value (it was not measured)",
    ]
    assert breaches([now], {"p_mrr": {"min": 0.3}}) == []
    with pytest.raises(SettingError, match="--baseline"):
        breaches([now], {"p_mrr": {"max_drop": 0.1}})
    other = replace(result("before"), benchmark="lamps")
    with pytest.raises(SettingError, match="measured on lamps, not on kettles"):
        breaches([now], {"p_mrr": {"max_drop": 0.1}}, [other])
    with pytest.raises(InputError, match="different rules: joining"):
        breaches([now], {"p_mrr": {"max_drop": 0.1}}, [result("before", joining="paper")])
    assert breaches([now, other], {"kettles/p_mrr": {"min": 0.4}, "cups/p_mrr": {"min": 0}}) == [
        "kettles/p_mrr: 0.3625 [0.2625, 0.4625] is below 0.4 (n=30)",
        "cups/p_mrr: no value (it was not measured)",
    ]
    with pytest.raises(SettingError, match="Write kettles/p_mrr"):
        breaches([now, other], {"p_mrr": {"min": 0.4}})
    for text in ('{"p_mrr": {"least": 1}}', '{"p_mrr": 0.4}', "[]", '{"p_mrr": {"min": 1e999}}'):
        bad = tmp_path / "gate.json"
        bad.write_text(text)
        with pytest.raises(InputError):
            read_thresholds(bad)
