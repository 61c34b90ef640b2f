"""Ties, NaN, missing queries, odd grades, constant scorers: each has a rule, and the mean never shrinks unseen."""

from __future__ import annotations

import random

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from obverse.errors import InputError, SettingError
from obverse.measures.average_precision import mean_average_precision
from obverse.measures.compliance import compliance, outside
from obverse.measures.flip_rate import flip_rate
from obverse.measures.measured import bootstrap_interval
from obverse.measures.named import MEASURES, measure_named
from obverse.measures.ndcg import ndcg
from obverse.measures.nevir import nevir
from obverse.measures.p_mrr import changed_docs_from, p_mrr, rank_change, symmetric_p_mrr
from obverse.measures.ranks import ranking, ranks_of
from obverse.measures.recall import recall
from obverse.measures.robustness import groups_by_text, groups_from_json, robustness
from obverse.measures.sicr import sicr
from obverse.measures.significance import holm, paired_difference, randomisation_p
from obverse.measures.wise import wise, wise_of
from obverse.records import Label

P, R = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE
SCORES = st.dictionaries(
    st.text("0123456789ab", min_size=1, max_size=3),
    st.integers(0, 6).map(lambda n: n / 4),
    min_size=1,
)


@settings(deadline=None)
@given(SCORES, st.sampled_from(["trec", "insertion"]))
def test_ranks_agree_with_the_ranking(scores: dict[str, float], ties: str) -> None:
    order = ranking(scores, ties=ties)  # type: ignore[arg-type]
    ranks = ranks_of(scores, order, ties=ties)  # type: ignore[arg-type]
    assert ranks == list(range(1, len(order) + 1))
    assert [ranks_of(scores, [d], ties=ties)[0] for d in order] == ranks  # type: ignore[arg-type]
    assert ranks_of(scores, ["missing"]) == [len(scores) + 1]


@settings(deadline=None)
@given(SCORES, st.integers(0, 9))
def test_trec_eval_itself_agrees(scores: dict[str, float], seed: int) -> None:
    chance = random.Random(seed)
    qrels = {"q": {d: chance.randint(-1, 3) for d in [*scores, "gone"]}}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_3", "map_cut_3", "recall_3"})
    theirs = evaluator.evaluate({"q": scores})["q"]
    run = {"q": scores}
    assert ndcg(run, qrels, 3).per_topic["q"] == pytest.approx(theirs["ndcg_cut_3"], abs=1e-12)
    assert mean_average_precision(run, qrels, 3).per_topic["q"] == pytest.approx(
        theirs["map_cut_3"]
    )
    assert recall(run, qrels, 3).per_topic["q"] == pytest.approx(theirs["recall_3"])


def test_scores_that_differ_only_beyond_single_precision_are_ties() -> None:
    run, qrels = {"q": {"a": 1.0 + 1e-12, "b": 1.0}}, {"q": {"a": 1}}
    assert ndcg(run, qrels, 1).value == 0.0
    assert p_mrr(run, run, {"q": ["a"]}).value == 0.0


def test_nan_is_refused_with_query_and_document() -> None:
    with pytest.raises(InputError, match=r"query q: the score of document 'b' is NaN"):
        ndcg({"q": {"a": 1.0, "b": float("nan")}}, {"q": {"a": 1}})


def test_a_score_that_is_no_number_is_named() -> None:
    for odd in (None, "1.0"):
        with pytest.raises(InputError, match=r"query q: the score of document 'b' is .* no number"):
            ndcg({"q": {"a": np.float32(1), "b": odd}}, {"q": {"a": 1}})  # type: ignore[dict-item]


def test_fractional_grades_are_refused_and_whole_ones_of_any_type_are_not() -> None:
    with pytest.raises(InputError, match=r"0\.5 of document 'a' is no whole number"):
        ndcg({"q": {"a": 1.0}}, {"q": {"a": 0.5}})  # type: ignore[dict-item]
    assert ndcg({"q": {"a": 1.0}}, {"q": {"a": np.int64(1)}}).value == 1.0  # type: ignore[dict-item]
    odd = ndcg({"q": {"a": 1.0, "b": 0.5}}, {"q": {"a": -1, "b": 2}})
    assert odd.notes["negative_grades"] == [["q", "a"]]
    assert odd.value == pytest.approx(1 / np.log2(3))


def test_missing_queries_count_as_zero_and_are_named() -> None:
    run = {"q1": {"a": 1.0}, "q3": {}, "extra": {"a": 1.0}}
    qrels = {"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}, "q4": {"a": 0}}
    found = ndcg(run, qrels)
    assert (found.value, found.n) == (pytest.approx(1 / 3), 3)
    assert found.notes["without_results"] == ["q2", "q3", "q4"]
    assert found.notes["without_positives"] == ["q4"]
    assert found.notes["without_judgements"] == ["extra"]
    dropped = ndcg(run, qrels, missing="drop")
    assert (dropped.value, dropped.n) == (0.5, 2) and "missing" in dropped.notes


def test_only_zero_judgements_have_the_value_zero_but_no_mean() -> None:
    found = ndcg({"q": {"a": 1.0}}, {"q": {"a": 0}})
    assert found.per_topic == {"q": 0.0}
    assert found.value is None and found.n == 0 and found.reason


def test_a_constant_scorer_is_named_and_gets_nothing_from_ties() -> None:
    run = {"1_q1": {"a": 0.5, "b": 0.5}, "1_q2": {"a": 0.5, "b": 0.5}}
    qrels = {"1_q1": {"a": 1}, "1_q2": {"b": 1}}
    assert nevir(run, qrels).value == 0.0
    assert ndcg(run, qrels).notes["constant_scores"] == ["1_q1", "1_q2"]


def test_nevir_pairs_keep_ids_with_underscores_apart() -> None:
    run = {f"x_{n}_q{m}": {"a": float(m == 1), "b": float(m == 2)} for n in (1, 2) for m in (1, 2)}
    qrels = {q: {"a": 1} if q.endswith("q1") else {"b": 1} for q in run}
    assert nevir(run, qrels).n == 2
    with pytest.raises(InputError, match="ends neither in _q1"):
        nevir({"x": {}}, {"x": {"a": 1}})


@settings(deadline=None)
@given(st.integers(1, 2000), st.integers(1, 2000))
def test_p_mrr_turns_its_sign_when_runs_are_swapped(before: int, after: int) -> None:
    assert rank_change(before, after) == -rank_change(after, before)
    assert -1 < rank_change(before, after) < 1
    assert (rank_change(before, after) > 0) == (after > before)


def test_changed_sets_are_derived_from_any_difference() -> None:
    old = {"q": {"a": 1, "b": 1, "c": 0, "d": 2}, "alone": {"a": 1}}
    new = {"q": {"a": 0, "b": 1, "c": 1}}
    assert changed_docs_from(old, new) == {"q": ["a", "c", "d"]}


def test_symmetric_p_mrr_does_not_change_when_views_or_documents_are_reordered() -> None:
    labels = {"t": [{"a": P, "b": R}, {"b": P, "a": R}]}
    runs = {"t": [{"a": 1.0, "b": 0.5, "c": 0.1}, {"b": 1.0, "a": 0.2, "c": 0.5}]}
    one = symmetric_p_mrr(labels, runs).value
    two = symmetric_p_mrr(
        {"t": labels["t"][::-1]}, {"t": [dict(reversed(r.items())) for r in runs["t"][::-1]]}
    ).value
    assert one == two == pytest.approx((1 - 1 / 3 + 1 - 1 / 2) / 2)
    assert flip_rate(labels, runs).value == 1.0


def test_flip_rate_leaves_out_topics_with_one_view_and_says_so() -> None:
    found = flip_rate({"t": [{"a": P}]}, {"t": [{"a": 1.0}]})
    assert found.value is None and found.notes["with_fewer_than_two_instructions"] == ["t"]


def test_groups_are_declared_or_by_text_and_never_overlap() -> None:
    run = {"u_1": {"a": 1.0}, "u_2": {"b": 1.0, "a": 0.5}, "u_3": {"a": 1.0}}
    qrels = {query_id: {"a": 1} for query_id in run}
    groups = groups_by_text({"u_1": "shoe", "u_2": " shoe", "u_3": "knife"})
    found = robustness(run, qrels, groups)
    assert found.value == pytest.approx((1 / np.log2(3) + 1) / 2)
    assert found.notes["groups"] == 2 and found.notes["groups_of_one"] == ["knife"]
    assert groups_from_json({"u_1": "s", "u_2": "s"}, "g") == {"s": ["u_1", "u_2"]}
    with pytest.raises(InputError, match="stands in the groups"):
        robustness(run, qrels, {"x": ["u_1", "u_2"], "y": ["u_2", "u_3"]})
    with pytest.raises(InputError, match="stand in no group"):
        robustness(run, qrels, {"x": ["u_1"]})


def test_the_papers_variants_differ_where_they_should() -> None:
    assert wise_of(3, 1, 9, 3, "paper") == 1.0 and wise_of(3, 1, 9, 3) != 1.0
    assert wise_of(10, 4, 15, 3, "paper") == pytest.approx((1 - 6 / 20) / 2)
    o, i, r = (
        {"q": dict(zip("aghx", s, strict=True))} for s in ((3, 2, 1, 0), (1, 5, 4, 0), (4, 1, 0, 3))
    )
    assert sicr(o, i, r, {"q": ["g", "h"]}).value == 0.5
    assert sicr(o, i, r, {"q": ["g", "h"]}, variant="paper").value == 1.0


def test_compliance_counts_what_no_list_names() -> None:
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "none": {}}
    found = compliance(run, outside({"q": ["b"]}), 2)
    assert found.value == 0.5 and found.notes["without_results"] == ["none"]


def test_measures_print_as_written() -> None:
    assert str(measure_named("ndcg@10")) == "nDCG@10"
    assert str(measure_named("P_MRR")) == "p-MRR"
    assert measure_named("map").key == "map@1000"
    for name in MEASURES:
        assert measure_named(measure_named(name).key) == measure_named(name)
    for wrong in ("ndgc@10", "wise@10", "ndcg@0", "ndcg@-1"):
        with pytest.raises(SettingError):
            measure_named(wrong)


def test_paired_tests_and_holm() -> None:
    a = {str(n): n / 40 for n in range(40)}
    better = {t: v + 0.1 for t, v in a.items()}
    found = paired_difference(a, better)
    assert found["difference"] == pytest.approx(0.1) and found["p"] < 0.001
    assert (found["wins"], found["n"]) == (40, 40) and found["low"] > 0
    assert paired_difference(a, dict(reversed(a.items())))["p"] == 1.0
    assert randomisation_p([1.0, 1.0, 1.0]) == 0.25
    assert paired_difference(a, better | {"new": 1.0})["unpaired"] == ["new"]
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    with pytest.raises(InputError, match="no topic in common"):
        paired_difference({"a": 1.0}, {"b": 1.0})


def test_the_interval_of_a_mean_is_about_two_standard_errors_wide() -> None:
    values = np.random.default_rng(0).normal(size=400)
    low, high = bootstrap_interval(values)
    assert (high - low) / 2 == pytest.approx(1.96 / 20, rel=0.15)


def test_a_nan_is_refused_with_its_query_by_measures_of_several_runs() -> None:
    good, bad = {"q": {"a": 1.0, "b": 0.5}}, {"q": {"a": float("nan"), "b": 0.5}}
    with pytest.raises(InputError, match=r"query q: the score of document 'a' is NaN"):
        p_mrr(good, bad, {"q": ["a"]})
    with pytest.raises(InputError, match=r"query q: the score of document 'a' is NaN"):
        wise(good, good, bad, {"q": ["a"]}, {"q": ["b"]})
    with pytest.raises(InputError, match=r"query q: the score of document 'a' is NaN"):
        sicr(good, bad, good, {"q": ["a"]})
