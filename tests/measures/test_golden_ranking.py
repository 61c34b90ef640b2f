"""nDCG, MAP, recall, P, MRR, MAIR, MS MARCO, FollowIR's columns: the values of the original tools."""

from __future__ import annotations

from typing import Any

import pytest
from golden_files import case_name, golden

from obverse.errors import InputError
from obverse.measures.average_precision import mean_average_precision
from obverse.measures.followir_score import CHANGED, ORIGINAL, followir_score, of_group
from obverse.measures.msmarco_mrr import msmarco_mrr
from obverse.measures.ndcg import ndcg
from obverse.measures.p_mrr import p_mrr
from obverse.measures.recall import precision, recall
from obverse.measures.reciprocal_rank import mean_reciprocal_rank


@pytest.mark.parametrize("case", golden("trec_metrics"), ids=case_name)
def test_trec_eval(case: Any) -> None:
    run, qrels = case["run"], case["qrels"]
    found = {
        "ndcg_cut_5": ndcg(run, qrels, 5),
        "ndcg_cut_10": ndcg(run, qrels, 10),
        "ndcg": ndcg(run, qrels, None),
        "map_cut_1000": mean_average_precision(run, qrels, 1000),
        "map": mean_average_precision(run, qrels, None),
        "recall_10": recall(run, qrels, 10),
        "recall_100": recall(run, qrels, 100),
        "P_5": precision(run, qrels, 5),
        "recip_rank": mean_reciprocal_rank(run, qrels, None),
        "success_1": None,
    }
    for query_id, values in case["expected"]["per_query"].items():
        for name, value in values.items():
            if (measured := found[name]) is not None:
                assert measured.per_topic[query_id] == pytest.approx(value, abs=1e-12), name
    at_10 = mean_reciprocal_rank(run, qrels, 10).per_topic
    for query_id, value in case["expected"]["mteb_mrr_at_10_per_query"].items():
        assert at_10[query_id] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("case", golden("mair_trec_eval"), ids=case_name)
def test_mair(case: Any) -> None:
    named = {"NDCG": ndcg, "MAP": mean_average_precision, "Recall": recall}
    for key, value in case["expected"].items():
        name, _, k = key.partition("@")
        found = named[name](case["run"], case["qrels"], int(k), missing="drop").value
        assert found is not None and round(found, 5) == value


@pytest.mark.parametrize("case", golden("msmarco_mrr10"), ids=case_name)
def test_msmarco(case: Any) -> None:
    reference = {q: list(map(str, ids)) for q, ids in case["reference"].items()}
    ranked = {q: list(map(str, ids)) for q, ids in case["candidates"].items()}
    expected = case["expected"]
    if "error" in expected:
        with pytest.raises(InputError, match="no query in common"):
            msmarco_mrr(ranked, reference)
        return
    found = msmarco_mrr(ranked, reference)
    assert found.value == pytest.approx(expected["mrr_at_10"], abs=1e-12)
    assert found.n == len(reference)
    assert found.notes["queries_ranked"] == expected["queries_ranked"]


@pytest.mark.parametrize("case", golden("followir_full"), ids=case_name)
def test_followir(case: Any) -> None:
    run, qrels, expected = case["results"], case["qrels"], case["expected"]
    found = p_mrr(of_group(run, ORIGINAL), of_group(run, CHANGED), case["changed"])
    assert found.value == pytest.approx(expected["p_mrr"], abs=1e-12)
    for suffix, group in ((ORIGINAL, "og"), (CHANGED, "changed")):
        one_run, one_qrels = of_group(run, suffix), of_group(qrels, suffix)
        for key, value in expected[group].items():
            assert _rounded(key, one_run, one_qrels) == pytest.approx(value, abs=1e-9), key
    score, news = followir_score(run, qrels), followir_score(run, qrels, news=True)
    assert score.value == pytest.approx(expected["og_unrounded"]["map_at_1000"], abs=1e-12)
    assert news.value == pytest.approx(expected["og_unrounded"]["ndcg_at_5"], abs=1e-12)
    for query_id, values in expected["per_query"].items():
        assert ndcg(run, qrels, 5).per_topic[query_id] == pytest.approx(values["ndcg_cut_5"])
        assert mean_average_precision(run, qrels).per_topic[query_id] == pytest.approx(
            values["map_cut_1000"]
        )


def _rounded(key: str, run: Any, qrels: Any) -> float:
    name, _, k = key.rpartition("_at_")
    functions: Any = {
        "map": mean_average_precision,
        "ndcg": ndcg,
        "mrr": mean_reciprocal_rank,
        "recall": recall,
        "precision": precision,
    }
    value = functions[name](run, qrels, int(k)).value
    return float(value if name == "mrr" else round(value, 5))
