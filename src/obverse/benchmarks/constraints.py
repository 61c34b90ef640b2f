"""A BEIR folder whose queries carry instructions: does the model obey, and what does it show that it should not?"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from obverse.benchmarks.benchmark import Benchmark, Search
from obverse.benchmarks.whole import refuse_half_present, unknown_docs
from obverse.errors import InputError
from obverse.files import in_folder, read_corpus, read_json
from obverse.measures.measured import Measured, over_topics
from obverse.measures.ndcg import ndcg
from obverse.records import Ask, Run
from obverse.trec import read_qrels, read_queries

SHOWN = 3
"""How many documents are looked at for violations by default."""


def constraints(
    place: str | os.PathLike[str], *, shown: int = SHOWN, partial: bool = False
) -> Benchmark:
    """Returns a benchmark of a few instructed queries over a few documents.

    Files: corpus.jsonl, queries.jsonl with the key ``instruction``, qrels.tsv (or qrels/test.tsv) with the
    instruction; optionally violations.json (by query, the documents that break its instruction) and plain_qrels.tsv
    (what is relevant without any instruction).

    Measures: ``ndcg@10`` with the instruction; ``violations@k``, the mean *number* of violations among the first k
    (lower is better); ``moved``, the share of queries whose order changes at all with the instruction, whose notes
    call out what ignores it; ``plain_ndcg@10`` without instruction.

    Args:
        place: The folder.
        shown: The k of violations.
        partial: Whether half-present data are computed on.
    """
    home = Path(place)
    docs = read_corpus(in_folder(home, "corpus.jsonl"))
    asks = tuple(read_queries(in_folder(home, "queries.jsonl")).values())
    qrels = _qrels(home, "qrels.tsv", "qrels/test.tsv")
    if qrels is None:
        raise InputError(
            "holds no qrels.tsv", where=str(home), fix="Put qrels.tsv or qrels/test.tsv there"
        )
    plain_qrels = _qrels(home, "plain_qrels.tsv")
    violations = violations_of(home)
    known = {ask.query_id for ask in asks}
    faults = refuse_half_present(
        {
            "judged queries that are not among the queries": [
                q for q in [*qrels, *violations] if q not in known
            ],
            "judged documents that are not in the corpus": unknown_docs(qrels, docs)
            + unknown_docs(violations, docs),
        },
        str(home),
        partial=partial,
    )
    named = {q: [*qrels.get(q, ()), *violations.get(q, ())] for q in known}
    plain = tuple(Ask(ask.query_id, ask.query) for ask in asks)

    def score(runs: Mapping[str, Run], seed: int) -> dict[str, Measured]:
        found = {
            "ndcg@10": ndcg(runs["instructed"], qrels, 10, seed=seed),
            "moved": moved(asks, runs["instructed"], runs["plain"], named, seed=seed),
            "plain_ndcg@10": over_topics(
                "nDCG@10", {}, reason="the folder holds no plain_qrels.tsv"
            )
            if plain_qrels is None
            else ndcg(runs["plain"], plain_qrels, 10, seed=seed),
        }
        if violations:
            found[f"violations@{shown}"] = over_topics(
                f"violations@{shown}",
                {
                    q: float(sum(d in bad for d in list(runs["instructed"].get(q, ()))[:shown]))
                    for q, bad in violations.items()
                    if q in known
                },
                seed=seed,
            )
        return found

    about: dict[str, Any] = {
        "kind": "constraints",
        "candidates": "the whole corpus is searched",
        "ties": "trec",
        **faults,
    }
    joinings = {"paper": "{query} {instruction}", "mteb": "{query} {instruction}"}
    searches = (Search("instructed", asks), Search("plain", plain))
    return Benchmark(home.resolve().name, docs, searches, score, joinings, about)


def moved(
    asks: Sequence[Ask],
    instructed: Run,
    plain: Run,
    named: Mapping[str, Collection[str]] | None = None,
    *,
    seed: int = 0,
) -> Measured:
    """Returns the share of instructed queries whose order differs from that without instruction.

    The notes ``ignores_the_instruction`` name the queries whose order is the same with and without, and the pairs of
    queries that differ by their instruction alone and whose judged documents still stand in one order.

    Args:
        asks: The instructed queries.
        instructed: The run with instructions.
        plain: The run without.
        named: By query, the documents that judgements and violations speak of; two queries of one text are held
            against each other by these, by all documents where there are none.
        seed: Seed of the interval.
    """
    per_topic: dict[str, float | None] = {
        ask.query_id: float(list(instructed[ask.query_id]) != list(plain[ask.query_id]))
        for ask in asks
        if ask.instruction
    }
    ignored: list[Any] = [query_id for query_id, value in per_topic.items() if not value]
    for number, one in enumerate(asks):
        for two in asks[number + 1 :]:
            if one.query != two.query or one.instruction == two.instruction:
                continue
            spoken_of = {*(named or {}).get(one.query_id, ()), *(named or {}).get(two.query_id, ())}
            orders = [
                [d for d in instructed[ask.query_id] if d in spoken_of or len(spoken_of) < 2]
                for ask in (one, two)
            ]
            if orders[0] == orders[1]:
                ignored.append([one.query_id, two.query_id])
    return over_topics(
        "moved",
        per_topic,
        notes={"ignores_the_instruction": ignored},
        reason="no query has an instruction",
        seed=seed,
    )


def violations_of(home: Path) -> dict[str, list[str]]:
    """Returns the documents that break each query's instruction; empty where the folder names none."""
    path = home / "violations.json"
    if not path.is_file():
        return {}
    value = read_json(path)
    good = isinstance(value, dict) and all(
        isinstance(ids, list) and all(isinstance(d, str) for d in ids) for ids in value.values()
    )
    if not good:
        raise InputError(
            "is no object of lists of ids", where=str(path), fix='Write {"q1": ["d2"]}'
        )
    found: dict[str, list[str]] = value
    return found


def _qrels(home: Path, *names: str) -> dict[str, dict[str, int]] | None:
    for name in names:
        if (home / name).is_file():
            return read_qrels(home / name).qrels
    return None
