"""Times p-MRR and nDCG@10 of 1,000 queries x 1,000 documents against mteb's own scoring loop, in one run.

    python benchmarks/scoring_speed.py [--queries 1000] [--docs 1000] [--changed 4]

Both get the same dictionaries and must give the same values. Two ways of calling mteb: its functions one by one
with the cutoff 10 alone (``calculate_pmrr`` on the two runs, ``calculate_retrieval_scores`` on each), and
``evaluate_p_mrr_change`` with all cutoffs, which is what its FollowIR tasks run. Needs mteb.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

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


def best(work: Callable[[], object], times: int = 3) -> float:
    """Returns the least processor time of a few tries, in seconds."""
    least = float("inf")
    for _ in range(times):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--docs", type=int, default=1_000)
    parser.add_argument("--changed", type=int, default=4)
    parser.add_argument("--digits", type=int, default=4)
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
    own = (
        best(lambda: p_mrr(old, new, changed)),
        best(lambda: (ndcg(old, qrels, 10), ndcg(new, qrels, 10))),
    )
    their = (
        best(lambda: calculate_pmrr(*suffixed, changed)),
        best(lambda: [calculate_retrieval_scores(run, qrels, [10]) for run in (old, new)]),
    )
    loop = best(lambda: evaluate_p_mrr_change(both_qrels, everything, changed, cutoffs))
    ours, our_ndcg = p_mrr(old, new, changed), (ndcg(old, qrels, 10), ndcg(new, qrels, 10))
    their_p_mrr = calculate_pmrr(*suffixed, changed)
    theirs = [calculate_retrieval_scores(run, qrels, [10]) for run in (old, new)]
    print(
        f"{options.queries} queries x {options.docs} documents, {options.changed} changed documents each, "
        f"mteb {mteb.__version__}, numpy {np.__version__}, processor time, best of three"
    )
    rows = (("p-MRR", own[0], their[0]), ("nDCG@10 of both runs", own[1], their[1]))
    whole = ("both, as a FollowIR task", sum(own), loop)
    for name, a, b in (*rows, ("both, cutoff 10 alone", sum(own), sum(their)), whole):
        print(f"{name:25} obverse {a:7.3f} s   mteb {b:8.3f} s   {b / a:6.1f} times")
    print(f"p-MRR  {ours.value:.12f}  {their_p_mrr:.12f}")
    for found, (_, their_ndcg, *_rest) in zip(our_ndcg, theirs, strict=True):
        print(f"nDCG@10  {found.value:.5f}  {their_ndcg['NDCG@10']:.5f}")


if __name__ == "__main__":
    main()
