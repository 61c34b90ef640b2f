"""ExcluIR's measures: whether the document that an exclusion rules out really stands below the wanted one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from obverse.measures.measured import Measured, over_topics


def excluir(
    ranked: Mapping[str, Sequence[str]],
    pairs: Mapping[str, tuple[str, str]],
    k: int = 10,
    *,
    seed: int = 0,
) -> dict[str, Measured]:
    """Returns R@1, MRR@k, their differences between wanted and excluded document, and the right rank (RR).

    RR is the share of queries in which the wanted document stands above the excluded one within k, or stands there
    alone. Differences are in [-1, 1], the others in [0, 1]; higher is better for all. Ties are up to who made the
    ranking; over run files they fall to the higher document id.

    After Zhang et al. (2024), *ExcluIR: Exclusionary Neural Information Retrieval*,
    https://arxiv.org/abs/2404.17288.

    Args:
        ranked: By query, the documents in order.
        pairs: By query, the excluded document and the wanted one, in this order.
        k: How far down is looked.
        seed: Seed of the intervals.
    """
    rows: dict[str, dict[str, float | None]] = {
        name: {} for name in ("R@1", f"MRR@{k}", "dR@1", f"dMRR@{k}", "RR")
    }
    for query_id, (excluded, wanted) in pairs.items():
        good = _reciprocal(ranked.get(query_id, ()), wanted, k)
        bad = _reciprocal(ranked.get(query_id, ()), excluded, k)
        rows["R@1"][query_id] = float(good == 1)
        rows[f"MRR@{k}"][query_id] = good
        rows["dR@1"][query_id] = float(good == 1) - float(bad == 1)
        rows[f"dMRR@{k}"][query_id] = good - bad
        rows["RR"][query_id] = float(good > bad)
    missing = [query_id for query_id in pairs if not ranked.get(query_id)]
    return {
        name: over_topics(
            name, values, notes={"without_results": missing}, reason="there is no pair", seed=seed
        )
        for name, values in rows.items()
    }


def _reciprocal(docs: Sequence[str], doc_id: str, k: int) -> float:
    return 1 / (list(docs[:k]).index(doc_id) + 1) if doc_id in docs[:k] else 0.0
