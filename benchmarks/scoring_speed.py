"""Times p-MRR and nDCG@10 of 1,000 queries x 1,000 documents against mteb's own scoring loop, in one run.

    python benchmarks/scoring_speed.py [--queries 1000] [--docs 1000] [--changed 4] [--repeats 7]

Both get the same dictionaries and must give the same values. Two ways of calling mteb: its functions one by one
with the cutoff 10 alone (``calculate_pmrr`` on the two runs, ``calculate_retrieval_scores`` on each), and
``evaluate_p_mrr_change`` with all cutoffs, which is what its FollowIR tasks run. Every repeat times all of them one
after another; printed are means with 95 % t intervals over repeats, of the times and of the ratio. Needs mteb.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
from intervals import shown

from obverse.measures.ndcg import ndcg
from obverse.measures.p_mrr import p_mrr


def made_up(queries: int, docs: int, changed: int, digits: int) -> tuple[dict, dict, dict, dict]:
    """Returns two runs, judgements and changed documents; scores are rounded, so that there are ties."""
    rng = np.random.default_rng(0)
    names = [f"d{n:05}" for n in range(docs)]
    runs: list[dict[str, dict[str, float]]] = [{}, {}]
    qrels, changed_docs = {}, {}
    for n in range(queries):
        for run in runs:
            run[f"q{n}"] = dict(zip(names, rng.random(docs).round(digits).tolist(), strict=True))
        judged = rng.choice(names, 20, replace=False).tolist()
        qrels[f"q{n}"] = dict(zip(judged, rng.integers(0, 4, 20).tolist(), strict=True))
        changed_docs[f"q{n}"] = judged[:changed]
    return runs[0], runs[1], qrels, changed_docs


def seconds(work: Callable[[], object]) -> float:
    """Returns the processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _ratios(over: Sequence[float], under: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(over, under, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--docs", type=int, default=1_000)
    parser.add_argument("--changed", type=int, default=4)
    parser.add_argument("--digits", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    import mteb
    from mteb._evaluators.retrieval_metrics import (
        calculate_pmrr,
        calculate_retrieval_scores,
        evaluate_p_mrr_change,
    )

    old, new, qrels, changed = made_up(
        options.queries, options.docs, options.changed, options.digits
    )
    suffixed = (
        {f"{q}-og": run for q, run in old.items()},
        {f"{q}-changed": run for q, run in new.items()},
    )
    both_qrels = {f"{q}-{s}": grades for q, grades in qrels.items() for s in ("og", "changed")}
    everything, cutoffs = suffixed[0] | suffixed[1], (1, 3, 5, 10, 20, 100, 1000)
    works: dict[str, Callable[[], object]] = {
        "p-MRR": lambda: p_mrr(old, new, changed),
        "nDCG@10": lambda: (ndcg(old, qrels, 10), ndcg(new, qrels, 10)),
        "mteb p-MRR": lambda: calculate_pmrr(*suffixed, changed),
        "mteb nDCG@10": lambda: [calculate_retrieval_scores(r, qrels, [10]) for r in (old, new)],
        "mteb loop": lambda: evaluate_p_mrr_change(both_qrels, everything, changed, cutoffs),
    }
    took: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(options.repeats):
        for name, work in works.items():
            took[name].append(seconds(work))
    own = list(map(sum, zip(took["p-MRR"], took["nDCG@10"], strict=True)))
    their = list(map(sum, zip(took["mteb p-MRR"], took["mteb nDCG@10"], strict=True)))
    ours, our_ndcg = p_mrr(old, new, changed), (ndcg(old, qrels, 10), ndcg(new, qrels, 10))
    their_p_mrr = calculate_pmrr(*suffixed, changed)
    theirs = [calculate_retrieval_scores(run, qrels, [10]) for run in (old, new)]
    print(
        f"{options.queries} queries x {options.docs} documents, {options.changed} changed documents each, "
        f"mteb {mteb.__version__}, numpy {np.__version__}, processor time, {options.repeats} repeats"
    )
    rows = (
        ("p-MRR", took["p-MRR"], took["mteb p-MRR"]),
        ("nDCG@10 of both runs", took["nDCG@10"], took["mteb nDCG@10"]),
        ("both, cutoff 10 alone", own, their),
        ("both, as a FollowIR task", own, took["mteb loop"]),
    )
    for name, a, b in rows:
        print(f"{name:25} obverse {shown(a)} s   mteb {shown(b)} s   {shown(_ratios(b, a))} times")
    print(f"p-MRR  {ours.value:.12f}  {their_p_mrr:.12f}")
    for found, (_, their_ndcg, *_rest) in zip(our_ndcg, theirs, strict=True):
        print(f"nDCG@10  {found.value:.5f}  {their_ndcg['NDCG@10']:.5f}")


if __name__ == "__main__":
    main()
