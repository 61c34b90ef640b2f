"""A measure over files: anyone's TREC runs and judgements in, one number with all that belongs to it out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from obverse.errors import SettingError
from obverse.measures.average_precision import mean_average_precision
from obverse.measures.followir_score import followir_score
from obverse.measures.measured import Measured
from obverse.measures.msmarco_mrr import by_rank_column, msmarco_mrr
from obverse.measures.named import Measure, measure_named
from obverse.measures.ndcg import ndcg
from obverse.measures.ranks import check_ties
from obverse.measures.recall import precision, recall
from obverse.measures.reciprocal_rank import mean_reciprocal_rank
from obverse.measures.wise import check_variant
from obverse.measuring.dangling import dangling
from obverse.measuring.files import Files, how_made
from obverse.measuring.grouped import (
    compliance_of_files,
    excluir_of_files,
    nevir_of_files,
    robustness_of_files,
)
from obverse.measuring.instructed import infosearch_of_files, p_mrr_of_files, topics_of_files
from obverse.trec import merge_notes

__all__ = ["Files", "measure"]

_TWO_TIE_RULES = {"p_mrr", "symmetric_p_mrr", "flip_rate", "infosearch_p_mrr", "wise", "sicr"}
_MAY_DROP = {"ndcg", "map", "mrr", "recall", "precision", "robustness", "followir_score"}
OfFiles = Callable[[Measure, Files], Measured]
_TIES_OF = {
    "msmarco_mrr": "none: the rank column decides",
    "mrr": "trec, in double precision",
}


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
    _refuse_rules_without_effect(asked, files)
    found = _MEASURES[asked.name](asked, files)
    notes = merge_notes(files.notes, found.notes, dangling(files))
    notes.setdefault("ties", _TIES_OF.get(asked.name, "trec"))
    if made := how_made(files.run):
        notes["run_made"] = made
    return replace(found, notes=notes)


def _refuse_rules_without_effect(asked: Measure, files: Files) -> None:
    if files.ties == "insertion" and asked.name not in _TWO_TIE_RULES:
        only = _TIES_OF.get(asked.name, "trec: the higher document id first")
        raise SettingError(
            f"{asked} has one rule for equal scores ({only})",
            fix=f"Leave --ties away; {', '.join(sorted(_TWO_TIE_RULES))} know both rules",
        )
    if files.missing == "drop" and asked.name not in _MAY_DROP:
        raise SettingError(
            f"{asked} has one rule for queries without results, and names them",
            fix=f"Leave --missing away; {', '.join(sorted(_MAY_DROP))} know both rules",
        )


def _judged(function: Callable[..., Measured]) -> OfFiles:
    def over_files(asked: Measure, files: Files) -> Measured:
        run, qrels = files.judged_run()
        return function(
            run, qrels, asked.k, missing=files.missing, same_ids=files.same_ids, seed=files.seed
        )

    return over_files


def _msmarco(asked: Measure, files: Files) -> Measured:
    found, qrels = files.read_run("run"), files.read_qrels()
    k = asked.k or 10
    return msmarco_mrr(
        by_rank_column(found.by_rank, k), {q: list(g) for q, g in qrels.items()}, k, seed=files.seed
    )


def _followir_score(asked: Measure, files: Files) -> Measured:
    run, qrels = files.judged_run()
    return followir_score(run, qrels, news=files.news, missing=files.missing, seed=files.seed)


_MEASURES: dict[str, OfFiles] = {
    "p_mrr": p_mrr_of_files,
    "symmetric_p_mrr": topics_of_files,
    "flip_rate": topics_of_files,
    "infosearch_p_mrr": infosearch_of_files,
    "wise": infosearch_of_files,
    "sicr": infosearch_of_files,
    "robustness": robustness_of_files,
    "followir_score": _followir_score,
    "ndcg": _judged(ndcg),
    "map": _judged(mean_average_precision),
    "mrr": _judged(mean_reciprocal_rank),
    "recall": _judged(recall),
    "precision": _judged(precision),
    "msmarco_mrr": _msmarco,
    "nevir": nevir_of_files,
    "excluir": excluir_of_files,
    "compliance": compliance_of_files,
}
