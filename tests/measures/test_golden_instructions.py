"""p-MRR, Robustness, WISE, SICR, NevIR, ExcluIR: the values of the original tools."""

from __future__ import annotations

from typing import Any

import pytest
from golden_files import case_name, golden

from obverse.measures.excluir import excluir
from obverse.measures.infosearch_p_mrr import infosearch_p_mrr
from obverse.measures.measured import Measured
from obverse.measures.ndcg import ndcg
from obverse.measures.nevir import nevir
from obverse.measures.p_mrr import p_mrr
from obverse.measures.robustness import groups_by_authors_rule, groups_by_prefix, robustness
from obverse.measures.sicr import sicr
from obverse.measures.wise import wise, wise_of


@pytest.mark.parametrize("case", golden("pmrr"), ids=case_name)
def test_p_mrr_of_both_tie_rules(case: Any) -> None:
    runs = case["original_run"], case["new_run"], case["changed"]
    expected = case["expected"]
    found = p_mrr(*runs)
    assert found.value == pytest.approx(expected["p_mrr_mteb2"], abs=1e-12)
    assert found.counted == pytest.approx(expected["per_query_mteb2"], abs=1e-12)
    if "p_mrr_mteb1727" in expected:
        older = p_mrr(*runs, ties="insertion").value
        assert older == pytest.approx(expected["p_mrr_mteb1727"], abs=1e-12)


@pytest.mark.parametrize("case", golden("instructir_robustness"), ids=case_name)
def test_robustness_by_the_authors_and_by_mteb(case: Any) -> None:
    run, qrels, expected = case["run"], case["qrels"], case["expected"]
    mteb = robustness(run, qrels, groups_by_prefix(qrels))
    assert mteb.value == pytest.approx(expected["mteb_robustness_at_10"], abs=1e-12)
    authors = robustness(run, qrels, groups_by_authors_rule(case["queries"]), same_ids=False)
    assert authors.value == pytest.approx(expected["kaist_robustness_at_10"], abs=1e-12)
    each = ndcg(run, qrels, 10)
    assert each.per_topic == pytest.approx(expected["per_query_ndcg10"], abs=1e-12)
    assert round(each.value or 0, 5) == expected["mteb_ndcg_at_10_mean"]
    no_self = ndcg(run, qrels, 10, same_ids=False).value
    assert no_self == pytest.approx(expected["kaist_avg_ndcg10"], abs=1e-12)


@pytest.mark.parametrize("case", golden("infosearch"), ids=case_name)
def test_infosearch(case: Any) -> None:
    o, i, r = case["ori_run"], case["ins_run"], case["rev_run"]
    positives, negatives, expected = case["positive"], case["negative"], case["expected"]
    found = wise(o, i, r, positives, negatives)
    if "WISE" in expected:
        assert found.value == pytest.approx(expected["WISE"], abs=1e-12)
        assert found.notes["ideal_wise"] == pytest.approx(expected["ideal_WISE"], abs=1e-12)
        same(infosearch_p_mrr(o, i, negatives), expected["p-MRR"])
        same(sicr(o, i, r, positives), expected["SICR"])
    else:
        assert "error" in expected
        nothing = infosearch_p_mrr(o, i, negatives)
        assert nothing.value is None and nothing.reason
    for query_id, docs in expected["per_positive"].items():
        values = [
            wise_of(d["ori_rank"], d["ins_rank"], d["rev_rank"], d["sum_count"])
            for d in docs.values()
        ]
        assert values == pytest.approx([d["wise"] for d in docs.values()], abs=1e-12)
        assert found.per_topic[query_id] == pytest.approx(sum(values) / len(values), abs=1e-12)


def same(found: Measured, value: float) -> None:
    assert found.value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("case", golden("nevir_paired"), ids=case_name)
def test_nevir(case: Any) -> None:
    same(nevir(case["run"], case["qrels"]), case["expected"]["paired_accuracy"])


@pytest.mark.parametrize("case", golden("excluir"), ids=case_name)
def test_excluir(case: Any) -> None:
    ranked = {str(n): list(map(str, row)) for n, row in enumerate(case["results"])}
    pairs = {str(n): (str(a), str(b)) for n, (a, b) in enumerate(case["pairs_neg_pos"])}
    found = {key: measured.value for key, measured in excluir(ranked, pairs).items()}
    assert found == pytest.approx(case["expected"], abs=1e-12)
