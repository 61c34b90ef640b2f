"""A measure over files: anyone's TREC runs and judgements in, one number with all that belongs to it out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.files import read_json, read_json_lines
from obverse.measures import robustness as grouping
from obverse.measures.average_precision import mean_average_precision
from obverse.measures.compliance import compliance, outside
from obverse.measures.excluir import excluir
from obverse.measures.followir_score import CHANGED, ORIGINAL, followir_score, of_group
from obverse.measures.infosearch import positives_and_negatives
from obverse.measures.infosearch_p_mrr import infosearch_p_mrr
from obverse.measures.judged import Missing
from obverse.measures.measured import Measured
from obverse.measures.msmarco_mrr import by_rank_column, msmarco_mrr
from obverse.measures.named import Measure, measure_named
from obverse.measures.ndcg import ndcg
from obverse.measures.nevir import nevir
from obverse.measures.p_mrr import changed_docs_from, p_mrr
from obverse.measures.ranks import Ties, check_ties, ranking
from obverse.measures.recall import precision, recall
from obverse.measures.reciprocal_rank import mean_reciprocal_rank
from obverse.measures.sicr import sicr
from obverse.measures.wise import Variant, check_variant, wise
from obverse.records import Qrels
from obverse.trec import RunFile, merge_notes, read_qrels, read_queries, read_run

PathLike = str | os.PathLike[str]
_SIBLING_LIMIT = 200_000_000


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one measurement and its rules; see :func:`measure`."""

    run: PathLike
    qrels: PathLike | None = None
    run_changed: PathLike | None = None
    run_reversed: PathLike | None = None
    qrels_changed: PathLike | None = None
    changed: PathLike | None = None
    groups: PathLike | None = None
    queries: PathLike | None = None
    corpus: PathLike | None = None
    violations: PathLike | None = None
    group_by: str | None = None
    ties: Ties | None = None
    variant: Variant = "code"
    missing: Missing = "count"
    same_ids: bool = True
    news: bool = False
    seed: int = 0
    notes: dict[str, Any] = field(default_factory=dict)

    def need(self, option: str, why: str) -> PathLike:
        """Returns an option's path.

        Raises:
            SettingError: If the option was not given.
        """
        value: PathLike | None = getattr(self, option)
        if value is None:
            raise SettingError(why, fix=f"Give --{option.replace('_', '-')} FILE")
        return value

    def read_run(self, option: str, why: str = "there is no run") -> RunFile:
        found = read_run(self.need(option, why))
        self.notes.update(merge_notes(self.notes, found.notes))
        return found

    def read_qrels(self, option: str = "qrels", why: str = "there are no judgements") -> Qrels:
        found = read_qrels(self.need(option, why))
        self.notes.update(merge_notes(self.notes, found.notes))
        return found.qrels


def measure(name: str, files: Files) -> Measured:
    """Returns a measure over files.

    Args:
        name: The measure: ``ndcg@10``, ``p_mrr``, ... (see :data:`obverse.measures.named.MEASURES`).
        files: Run, judgements and what else the measure needs, and the rules.

    Raises:
        InputError: With file and line, if a file is not what it should be.
        SettingError: If a file that the measure needs is not given.
    """
    asked = measure_named(name)
    if files.ties is not None:
        check_ties(files.ties)
    check_variant(files.variant)
    found = _MEASURES[asked.name](asked, files)
    notes = merge_notes(files.notes, found.notes, _dangling(files))
    return replace(found, notes=notes)


def _judged(function: Callable[..., Measured]) -> Callable[[Measure, Files], Measured]:
    def over_files(asked: Measure, files: Files) -> Measured:
        run, qrels = files.read_run("run").run, files.read_qrels()
        return function(
            run, qrels, asked.k, missing=files.missing, same_ids=files.same_ids, seed=files.seed
        )

    return over_files


def _p_mrr(asked: Measure, files: Files) -> Measured:
    run = files.read_run("run").run
    if files.run_changed is not None:
        original, changed = run, files.read_run("run_changed").run
    elif any(query_id.endswith(CHANGED) for query_id in run):
        original, changed = of_group(run, ORIGINAL), of_group(run, CHANGED)
    else:
        raise SettingError(
            "p-MRR compares two runs",
            fix=f"Give --run-changed FILE, or one run whose ids end in {ORIGINAL} and {CHANGED}",
        )
    docs = _changed_docs(files)
    ties = files.ties or "trec"
    found = p_mrr(original, changed, docs, ties=ties, seed=files.seed)
    notes = {
        **found.notes,
        "changed_sets": "given" if files.changed else "derived: judgements that differ",
        "not_asked_about": [q for q in original if q not in docs],
    }
    other: Ties = "insertion" if ties == "trec" else "trec"
    rival = p_mrr(original, changed, docs, ties=other, seed=files.seed).value
    if rival != found.value:
        notes[f"value_with_{other}_ties"] = rival
    return replace(found, notes={key: note for key, note in notes.items() if note != []})


def _changed_docs(files: Files) -> Mapping[str, Sequence[str]]:
    if files.changed is not None:
        return lists_by_id(files.changed, "documents by query")
    if files.qrels is None:
        raise SettingError(
            "it is not said which documents the changed instruction rules out",
            fix="Give --changed changed.json, or --qrels and --qrels-changed to derive them",
        )
    qrels = files.read_qrels()
    if files.qrels_changed is not None:
        changed = files.read_qrels("qrels_changed")
    elif any(query_id.endswith(CHANGED) for query_id in qrels):
        qrels, changed = of_group(qrels, ORIGINAL), of_group(qrels, CHANGED)
    else:
        raise SettingError("there are no changed judgements", fix="Give --qrels-changed FILE")
    unjudged = [
        [query_id, doc_id]
        for query_id, grades in qrels.items()
        if query_id in changed
        for doc_id in grades
        if doc_id not in changed[query_id]
    ]
    alone = [query_id for query_id in qrels if query_id not in changed]
    files.notes.update(
        {
            key: note
            for key, note in (
                ("taken_for_0_in_qrels_changed", unjudged),
                ("without_changed_judgements", alone),
            )
            if note
        }
    )
    return changed_docs_from(qrels, changed)


def _infosearch(asked: Measure, files: Files) -> Measured:
    why = "InfoSearch compares runs without and with the instruction"
    original, instructed = files.read_run("run").run, files.read_run("run_changed", why).run
    qrels = files.read_qrels()
    changed = files.read_qrels("qrels_changed", "there are no judgements with the instruction")
    positives, negatives = positives_and_negatives(qrels, changed)
    ties = files.ties or "insertion"
    if asked.name == "infosearch_p_mrr":
        return infosearch_p_mrr(original, instructed, negatives, ties=ties, seed=files.seed)
    reverse = files.read_run("run_reversed", "there is no run with the reversed instruction").run
    if asked.name == "sicr":
        return sicr(
            original,
            instructed,
            reverse,
            positives,
            variant=files.variant,
            ties=ties,
            seed=files.seed,
        )
    return wise(
        original,
        instructed,
        reverse,
        positives,
        negatives,
        variant=files.variant,
        ties=ties,
        seed=files.seed,
    )


def _robustness(asked: Measure, files: Files) -> Measured:
    run, qrels = files.read_run("run").run, files.read_qrels()
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


def _msmarco(asked: Measure, files: Files) -> Measured:
    found, qrels = files.read_run("run"), files.read_qrels()
    k = asked.k or 10
    return msmarco_mrr(
        by_rank_column(found.by_rank, k), {q: list(g) for q, g in qrels.items()}, k, seed=files.seed
    )


def _nevir(asked: Measure, files: Files) -> Measured:
    pairs = None
    if files.groups is not None:
        pairs = grouping.groups_from_json(read_json(files.groups), os.fspath(files.groups))
    return nevir(files.read_run("run").run, files.read_qrels(), pairs, seed=files.seed)


def _excluir(asked: Measure, files: Files) -> Measured:
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
    return replace(found["RR"], notes=notes)


def _compliance(asked: Measure, files: Files) -> Measured:
    run = files.read_run("run").run
    path = files.need("violations", "compliance needs the documents that break each instruction")
    violations = lists_by_id(path, "documents by query")
    return compliance(
        run, outside(violations), asked.k or 10, query_ids=violations, seed=files.seed
    )


def _followir_score(asked: Measure, files: Files) -> Measured:
    run, qrels = files.read_run("run").run, files.read_qrels()
    return followir_score(run, qrels, news=files.news, missing=files.missing, seed=files.seed)


_MEASURES: dict[str, Callable[[Measure, Files], Measured]] = {
    "p_mrr": _p_mrr,
    "infosearch_p_mrr": _infosearch,
    "wise": _infosearch,
    "sicr": _infosearch,
    "robustness": _robustness,
    "followir_score": _followir_score,
    "ndcg": _judged(ndcg),
    "map": _judged(mean_average_precision),
    "mrr": _judged(mean_reciprocal_rank),
    "recall": _judged(recall),
    "precision": _judged(precision),
    "msmarco_mrr": _msmarco,
    "nevir": _nevir,
    "excluir": _excluir,
    "compliance": _compliance,
}


def lists_by_id(path: PathLike, what: str) -> dict[str, list[str]]:
    """Returns a JSON object of lists of ids: ``{"q1": ["d2", ...], ...}``.

    Raises:
        InputError: If the file holds anything else, with the key.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        raise InputError(
            f"is no object of {what}", where=os.fspath(path), fix='Write {"q1": ["d2"], ...}'
        )
    for key, ids in value.items():
        if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
            raise InputError(
                "should be a list of ids in quotes",
                where=f"{os.fspath(path)}, {key}",
                fix=f'Write "{key}": ["d2", ...]',
            )
    return value


def _dangling(files: Files) -> dict[str, Any]:
    """Judged documents that no system could return. A corpus that lies beside the judgements is looked at too."""
    corpus = files.corpus or _sibling(files.qrels, "corpus.jsonl")
    if corpus is None or files.qrels is None:
        return {}
    known = set()
    for _, row in read_json_lines(corpus):
        known.add(row.get("_id", row.get("doc_id")) if isinstance(row, dict) else None)
    gone = [
        [query_id, doc_id]
        for query_id, grades in read_qrels(files.qrels).qrels.items()
        for doc_id in grades
        if doc_id not in known
    ]
    return {"judged_documents_not_in_corpus": gone} if gone else {}


def _sibling(qrels: PathLike | None, name: str) -> Path | None:
    if qrels is None or os.fspath(qrels) == "-":
        return None
    home = Path(qrels).resolve().parent
    for folder in (home, home.parent):
        for suffix in ("", ".gz", ".zst"):
            path = folder / f"{name}{suffix}"
            if path.is_file() and path.stat().st_size < _SIBLING_LIMIT:
                return path
        if home.name != "qrels":
            break
    return None
