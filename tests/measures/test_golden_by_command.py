"""The values of the original tools again, from files by ``obverse measure NAME ... --json``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golden_files import case_name, golden, qrels_file, run_file
from typer.main import get_command

from obverse.cli import _register, app
from obverse.errors import InputError

Command = Callable[..., Any]


@pytest.fixture(scope="module")
def obverse() -> Any:
    """The command line, built once: building it takes longer than the measures."""
    _register()
    return get_command(app)


@pytest.fixture
def ask(obverse: Any, capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Runs the command and returns what it printed."""

    def run(*arguments: object) -> Any:
        obverse.main(["measure", *map(str, arguments), "--json"], standalone_mode=False)
        return json.loads(capfdbinary.readouterr().out)

    return run


def put(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def close(row: Any, value: float) -> None:
    assert row["value"] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("case", golden("pmrr"), ids=case_name)
def test_p_mrr(case: Any, ask: Command, tmp_path: Path) -> None:
    files = [
        "--run",
        run_file(tmp_path / "o", case["original_run"]),
        "--run-changed",
        run_file(tmp_path / "n", case["new_run"]),
        "--changed",
        put(tmp_path / "c.json", case["changed"]),
    ]
    row = ask("p_mrr", *files)
    close(row, case["expected"]["p_mrr_mteb2"])
    for query_id, value in case["expected"]["per_query_mteb2"].items():
        assert row["per_topic"][query_id] == pytest.approx(value, abs=1e-12)
    if "p_mrr_mteb1727" in case["expected"]:
        close(ask("p_mrr", *files, "--ties", "insertion"), case["expected"]["p_mrr_mteb1727"])


@pytest.mark.parametrize("case", golden("instructir_robustness"), ids=case_name)
def test_robustness(case: Any, ask: Command, tmp_path: Path) -> None:
    queries = tmp_path / "queries.jsonl"
    rows = [{"_id": query_id, "text": text} for query_id, text in case["queries"].items()]
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run, qrels = run_file(tmp_path / "r", case["run"]), qrels_file(tmp_path / "q", case["qrels"])
    files = ["--run", run, "--qrels", qrels]
    mteb = ask("robustness@10", *files, "--group-by", "prefix")
    close(mteb, case["expected"]["mteb_robustness_at_10"])
    authors = ["--group-by", "authors", "--queries", queries, "--drop-same-ids"]
    close(ask("robustness@10", *files, *authors), case["expected"]["kaist_robustness_at_10"])


@pytest.mark.parametrize("case", golden("infosearch"), ids=case_name)
def test_infosearch(case: Any, ask: Command, tmp_path: Path) -> None:
    before: dict[str, dict[str, int]] = {}
    after: dict[str, dict[str, int]] = {}
    for grade, sets in ((1, case["positive"]), (0, case["negative"])):
        for query_id, docs in sets.items():
            before.setdefault(query_id, {}).update(dict.fromkeys(docs, 1))
            after.setdefault(query_id, {}).update(dict.fromkeys(docs, grade))
    files = [
        *("--run", run_file(tmp_path / "o", case["ori_run"])),
        *("--run-changed", run_file(tmp_path / "i", case["ins_run"])),
        *("--run-reversed", run_file(tmp_path / "r", case["rev_run"])),
        *("--qrels", qrels_file(tmp_path / "b", before)),
        *("--qrels-changed", qrels_file(tmp_path / "a", after)),
    ]
    for name, key in (("wise", "WISE"), ("sicr", "SICR"), ("infosearch_p_mrr", "p-MRR")):
        if key in case["expected"]:
            close(ask(name, *files), case["expected"][key])
        elif name == "infosearch_p_mrr":
            row = ask(name, *files)
            assert row["value"] is None and row["n"] == 0 and row["reason"]


@pytest.mark.parametrize("case", golden("nevir_paired"), ids=case_name)
def test_nevir(case: Any, ask: Command, tmp_path: Path) -> None:
    run, qrels = run_file(tmp_path / "r", case["run"]), qrels_file(tmp_path / "q", case["qrels"])
    close(ask("nevir", "--run", run, "--qrels", qrels), case["expected"]["paired_accuracy"])


@pytest.mark.parametrize("case", golden("excluir"), ids=case_name)
def test_excluir(case: Any, ask: Command, tmp_path: Path) -> None:
    run = {
        str(n): {str(doc_id): -float(place) for place, doc_id in enumerate(row)}
        for n, row in enumerate(case["results"])
    }
    pairs = {str(n): list(map(str, pair)) for n, pair in enumerate(case["pairs_neg_pos"])}
    files = ["--run", run_file(tmp_path / "r", run), "--groups", put(tmp_path / "g.json", pairs)]
    row = ask("excluir", *files)
    assert row["measures"] == pytest.approx(case["expected"], abs=1e-12)


@pytest.mark.parametrize("case", golden("trec_metrics"), ids=case_name)
def test_trec_eval(case: Any, ask: Command, tmp_path: Path) -> None:
    run, qrels = run_file(tmp_path / "r", case["run"]), qrels_file(tmp_path / "q", case["qrels"])
    names = {
        "ndcg@5": "ndcg_cut_5",
        "ndcg@10": "ndcg_cut_10",
        "map@1000": "map_cut_1000",
        "recall@10": "recall_10",
        "precision@5": "P_5",
    }
    for name, key in names.items():
        row = ask(name, "--run", run, "--qrels", qrels)
        for query_id, values in case["expected"]["per_query"].items():
            assert row["per_topic"][query_id] == pytest.approx(values[key], abs=1e-12), name
    row = ask("mrr@10", "--run", run, "--qrels", qrels)
    for query_id, value in case["expected"]["mteb_mrr_at_10_per_query"].items():
        assert row["per_topic"][query_id] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("case", golden("mair_trec_eval"), ids=case_name)
def test_mair(case: Any, ask: Command, tmp_path: Path) -> None:
    run, qrels = run_file(tmp_path / "r", case["run"]), qrels_file(tmp_path / "q", case["qrels"])
    for key, value in case["expected"].items():
        row = ask(key.lower(), "--run", run, "--qrels", qrels, "--missing", "drop")
        assert round(row["value"], 5) == value, key


@pytest.mark.parametrize("case", golden("msmarco_mrr10"), ids=case_name)
def test_msmarco(case: Any, ask: Command, tmp_path: Path) -> None:
    run, reference = tmp_path / "r", tmp_path / "q"
    run.write_text(
        "".join(
            f"{query_id}\t{doc_id}\t{rank}\n"
            for query_id, docs in case["candidates"].items()
            for rank, doc_id in enumerate(docs, start=1)
        )
    )
    pairs = [(q, d) for q, docs in case["reference"].items() for d in docs]
    reference.write_text("".join(f"{q}\t0\t{d}\t1\n" for q, d in pairs))
    files = ["--run", run, "--qrels", reference]
    if "error" in case["expected"]:
        with pytest.raises(InputError, match="no query in common"):
            ask("msmarco_mrr@10", *files)
    else:
        close(ask("msmarco_mrr@10", *files), case["expected"]["mrr_at_10"])


@pytest.mark.parametrize("case", golden("followir_full"), ids=case_name)
def test_followir(case: Any, ask: Command, tmp_path: Path) -> None:
    run = run_file(tmp_path / "r", case["results"])
    qrels = qrels_file(tmp_path / "q", case["qrels"])
    changed = put(tmp_path / "c.json", case["changed"])
    expected = case["expected"]
    close(ask("p_mrr", "--run", run, "--changed", changed), expected["p_mrr"])
    files = ["--run", run, "--qrels", qrels]
    close(ask("followir_score", *files), expected["og_unrounded"]["map_at_1000"])
    close(ask("followir_score", *files, "--news"), expected["og_unrounded"]["ndcg_at_5"])
