"""Measures over groups and pairs of queries or documents, over files."""

from __future__ import annotations

import os
from dataclasses import replace

from obverse.errors import InputError, SettingError
from obverse.files import read_json
from obverse.measures import robustness as grouping
from obverse.measures.compliance import compliance, outside
from obverse.measures.excluir import excluir
from obverse.measures.measured import Measured
from obverse.measures.named import Measure
from obverse.measures.nevir import nevir
from obverse.measures.ranks import ranking
from obverse.measuring.files import Files, lists_by_id
from obverse.records import Qrels
from obverse.trec import read_queries


def robustness_of_files(asked: Measure, files: Files) -> Measured:
    """Returns Robustness@k and says by which rule the queries were grouped."""
    run, qrels = files.judged_run()
    groups, rule = _groups(files, qrels)
    found = grouping.robustness(
        run,
        qrels,
        groups,
        asked.k or 10,
        missing=files.missing,
        same_ids=files.same_ids,
        seed=files.seed,
    )
    return replace(found, notes={**found.notes, "grouped_by": rule})


def _groups(files: Files, qrels: Qrels) -> tuple[grouping.Groups, str]:
    rule = files.group_by or ("file" if files.groups else "text" if files.queries else None)
    if rule == "file":
        path = files.need("groups", "there is no file of groups")
        return grouping.groups_from_json(read_json(path), os.fspath(path)), "file"
    if rule == "prefix":
        return grouping.groups_by_prefix(qrels), "id prefix (mteb)"
    if rule in ("text", "authors"):
        asks = read_queries(files.need("queries", f"grouping by {rule} needs the queries"))
        texts = {q: ask.query for q, ask in asks.items() if q in qrels}
        if rule == "authors":
            return grouping.groups_by_authors_rule(texts), "text after [SEP] (InstructIR's authors)"
        return grouping.groups_by_text(texts), "query text"
    if rule is None:
        raise SettingError(
            "it is not said which queries belong together",
            fix="Give --groups groups.json, or --queries queries.jsonl to group by text, or --group-by prefix "
            "for mteb's rule",
        )
    raise SettingError(
        f"unknown rule {rule!r} of grouping", fix="Use file, text, authors or prefix"
    )


def nevir_of_files(asked: Measure, files: Files) -> Measured:
    """Returns NevIR's pairwise accuracy."""
    pairs = None
    if files.groups is not None:
        pairs = grouping.groups_from_json(read_json(files.groups), os.fspath(files.groups))
    return nevir(*files.judged_run(), pairs, seed=files.seed)


def excluir_of_files(asked: Measure, files: Files) -> Measured:
    """Returns ExcluIR's right rank, with its other measures in the notes."""
    run = files.read_run("run").run
    path = files.need("groups", "ExcluIR needs the excluded and the wanted document of each query")
    pairs = lists_by_id(path, "[excluded, wanted] by query")
    for query_id, pair in pairs.items():
        if len(pair) != 2:
            raise InputError(
                f"query {query_id!r} has {len(pair)} documents, not two",
                where=os.fspath(path),
                fix="Write [excluded, wanted]",
            )
    ranked = {q: ranking(scores, single=True, depth=10) for q, scores in run.items()}
    found = excluir(ranked, {q: (pair[0], pair[1]) for q, pair in pairs.items()}, seed=files.seed)
    notes = {**found["RR"].notes, "measures": {key: each.value for key, each in found.items()}}
    return replace(found["RR"], measure="ExcluIR RR", notes=notes)


def compliance_of_files(asked: Measure, files: Files) -> Measured:
    """Returns the share of the first k that no list of violations names."""
    run = files.read_run("run").run
    path = files.need("violations", "compliance needs the documents that break each instruction")
    violations = lists_by_id(path, "documents by query")
    return compliance(
        run, outside(violations), asked.k or 10, query_ids=violations, seed=files.seed
    )
