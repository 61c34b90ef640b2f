"""Measures over files: anyone's runs and judgements."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from obverse.errors import ObverseError
from obverse.measures.named import MEASURES, measure_named
from obverse.measuring import Files, measure
from obverse.trec import read_qrels, read_run


def put(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_ids_with_leading_zeros_are_three_documents(tmp_path: Path) -> None:
    run = put(
        tmp_path / "r", "01 Q0 007 1 0.9 x\n01 Q0 7 2 0.5 x\n1 Q0 7 1 0.9 x\n1 Q0 007 2 .5 x\n"
    )
    qrels = put(tmp_path / "q", "query-id\tcorpus-id\tscore\n01\t007\t1\n1\t7\t1\n")
    found = measure("ndcg@10", Files(run, qrels))
    assert (found.value, found.n) == (1.0, 2)


def test_a_query_and_a_document_may_have_the_same_id(tmp_path: Path) -> None:
    files = Files(put(tmp_path / "r", "1 Q0 1 1 0.9 x\n"), put(tmp_path / "q", "1 0 1 1\n"))
    assert measure("ndcg@10", files).value == 1.0
    dropped = measure("ndcg@10", Files(files.run, files.qrels, same_ids=False))
    assert dropped.value == 0.0
    assert dropped.notes["documents_with_the_querys_id_taken_out"] == ["1"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("q Q0 d 1 nan x", "r:2: the score of document 'd' is NaN"),
        ("q Q0 d 1 high x", "r:2: the score 'high' is no number"),
        ("q Q0 d 1 0.5", "r:2: has 5 columns, not six"),
        ("q Q0 d first 0.5 x", "r:2: the rank 'first' is no whole number"),
        ("q Q0 a 2 0.5 x", "r:2: document 'a' of query 'q' has the score 0.5, and 0.9 in line 1"),
    ],
)
def test_bad_run_lines_are_refused_with_file_and_line(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(ObverseError, match=says):
        read_run(put(tmp_path / "r", f"q Q0 a 1 0.9 x\n{line}\n"))


def test_a_line_that_stands_twice_is_read_once_and_named(tmp_path: Path) -> None:
    found = read_run(put(tmp_path / "r", "q Q0 a 1 0.9 x\nq Q0 a 1 0.9 x\n"))
    assert found.run == {"q": {"a": 0.9}} and found.notes == {"repeated_lines": [2]}


def test_grades(tmp_path: Path) -> None:
    whole = read_qrels(put(tmp_path / "q", "query-id\tcorpus-id\tscore\nq\ta\t2.0\nq\tb\t-1\n"))
    assert whole.qrels == {"q": {"a": 2, "b": -1}}
    with pytest.raises(ObverseError, match=r"q:1: the grade 0.5 .* lines 1, 3"):
        read_qrels(put(tmp_path / "q", "q\ta\t0.5\nq\tb\t1\nq\tc\t1.5\n"))
    with pytest.raises(ObverseError, match=r"q:2: document 'a' .* the grade 0, and 1 in line 1"):
        read_qrels(put(tmp_path / "q", "q 0 a 1\nq 0 a 0\n"))


def test_judged_documents_that_the_corpus_lacks_are_named(tmp_path: Path) -> None:
    put(tmp_path / "corpus.jsonl", '{"_id": "a", "text": "x"}\n')
    files = Files(
        put(tmp_path / "r", "q Q0 a 1 1 x\n"), put(tmp_path / "q", "q 0 a 1\np 0 gone 1\n")
    )
    found = measure("ndcg@10", files)
    assert (found.value, found.n) == (0.5, 2)
    assert found.notes["judged_documents_not_in_corpus"] == [["p", "gone"]]


def test_p_mrr_from_two_sets_of_judgements_or_from_suffixed_ids(tmp_path: Path) -> None:
    old = put(tmp_path / "o", "q Q0 a 1 3 x\nq Q0 b 2 2 x\nq Q0 c 3 1 x\n")
    new = put(tmp_path / "n", "q Q0 b 1 3 x\nq Q0 a 2 2 x\nq Q0 c 3 1 x\n")
    qrels, changed = put(tmp_path / "q", "q 0 a 1\nq 0 b 1\n"), put(tmp_path / "c", "q 0 b 1\n")
    found = measure("p_mrr", Files(old, qrels, run_changed=new, qrels_changed=changed))
    assert found.value == 0.5
    assert found.notes["taken_for_0_in_qrels_changed"] == [["q", "a"]]
    both = put(
        tmp_path / "b",
        old.read_text().replace("q Q0", "q-og Q0")
        + new.read_text().replace("q Q0", "q-changed Q0"),
    )
    given = put(tmp_path / "changed.json", '{"q": ["a"]}')
    assert measure("p_mrr", Files(both, changed=given)).value == 0.5
    tied = put(tmp_path / "t", "q Q0 a 1 1 x\nq Q0 b 2 1 x\nq Q0 c 3 1 x\n")
    notes = measure("p_mrr", Files(tied, run_changed=new, changed=given)).notes
    assert "value_with_insertion_ties" in notes


def test_msmarco_goes_by_the_rank_column(tmp_path: Path) -> None:
    run = put(tmp_path / "r", "1\t5\t2\n1\t7\t1\n")
    found = measure("msmarco_mrr@10", Files(run, put(tmp_path / "q", "1\t0\t5\t1\n2\t0\t9\t1\n")))
    assert (found.value, found.n) == (0.25, 2)
    with pytest.raises(ObverseError, match="rank 1 is held by '5' and '6'"):
        measure("msmarco_mrr", Files(put(tmp_path / "r", "1\t5\t1\n1\t6\t1\n"), tmp_path / "q"))


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    run = put(tmp_path / "r", "q Q0 a 1 1 x\n")
    qrels = put(tmp_path / "q", "q 0 a 1\n")
    for name, says in (
        ("ndcg@10", "Give --qrels FILE"),
        ("p_mrr", "--run-changed"),
        ("wise", "--run-changed FILE"),
        ("robustness@10", "--qrels FILE"),
    ):
        with pytest.raises(ObverseError, match=says):
            measure(name, Files(run))
    with pytest.raises(ObverseError, match=r"--groups groups\.json"):
        measure("robustness@10", Files(run, qrels))
    with pytest.raises(ObverseError, match="list of ids"):
        measure("p_mrr", Files(run, run_changed=run, changed=put(tmp_path / "c", '{"q": "a"}')))


def test_the_command_prints_json_on_stdout_and_notes_on_stderr(tmp_path: Path) -> None:
    put(tmp_path / "r", "q Q0 a 1 1 x\n")
    put(tmp_path / "q", "q 0 a 1\np 0 b 1\n")
    command = [sys.executable, "-m", "obverse", "measure", "ndcg@10", "--run", "r", "--qrels", "q"]
    done = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True)
    row = json.loads(done.stdout)
    assert (row["value"], row["n"], row["per_topic"]) == (0.5, 2, {"q": 1.0, "p": 0.0})
    assert "without results (1): p" in done.stderr
    bad = subprocess.run([*command, "--ties", "x"], cwd=tmp_path, capture_output=True, text=True)
    assert bad.returncode == 2 and len(bad.stderr.splitlines()) == 1


def test_every_measure_is_listed_by_its_names_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "obverse", "list", "measures"], capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(MEASURES)
    assert any(line.startswith("ndcg@K ") and " nDCG@10 " in line for line in lines)
    assert str(measure_named("NDCG@5")) == "nDCG@5" and str(measure_named("p-mrr")) == "p-MRR"


def test_flip_rate_and_symmetric_p_mrr_over_a_run_of_views(tmp_path: Path) -> None:
    views = [
        {"instruction": "x", "labels": {"a": "positive", "b": "instruction_negative"}},
        {"instruction": "y", "labels": {"b": "positive", "a": "instruction_negative"}},
    ]
    row = json.dumps({"topic_id": "t", "query": "k", "views": views})
    topics = put(tmp_path / "topics.jsonl", row + "\n")
    run = put(tmp_path / "r", "t#0 Q0 a 1 1 x\nt#0 Q0 b 2 0 x\nt#1 Q0 b 1 1 x\nt#1 Q0 a 2 0 x\n")
    assert measure("flip_rate", Files(run, topics=topics)).value == 1.0
    assert measure("symmetric_p_mrr", Files(run, topics=topics)).value == 0.5
    with pytest.raises(ObverseError, match="Give --topics FILE"):
        measure("flip_rate", Files(run))


def test_a_constant_scorer_is_named_by_every_measure(tmp_path: Path) -> None:
    flat = put(tmp_path / "f", "q Q0 a 1 1 x\nq Q0 b 2 1 x\n")
    judged = put(tmp_path / "q", "q 0 a 1\nq 0 b 1\n")
    after = put(tmp_path / "i", "q 0 a 1\nq 0 b 0\n")
    files = Files(flat, judged, run_changed=flat, run_reversed=flat, qrels_changed=after)
    for name in ("p_mrr", "infosearch_p_mrr", "wise", "sicr", "ndcg@10", "map@10", "mrr@10"):
        found = measure(name, files)
        assert found.notes["constant_scores"] == ["q"], name
    pair = "1_q1 Q0 d1 1 0 x\n1_q1 Q0 d2 2 0 x\n1_q2 Q0 d1 1 0 x\n1_q2 Q0 d2 2 0 x\n"
    nevir = Files(put(tmp_path / "n", pair), put(tmp_path / "p", "1_q1 0 d1 1\n1_q2 0 d2 1\n"))
    found = measure("nevir", nevir)
    assert found.value == 0.0 and found.notes["constant_scores"] == ["1_q1", "1_q2"]


def test_a_document_that_is_listed_twice_counts_once(tmp_path: Path) -> None:
    old = put(tmp_path / "o", "q Q0 a 1 3 x\nq Q0 b 2 2 x\n")
    new = put(tmp_path / "n", "q Q0 b 1 3 x\nq Q0 a 2 2 x\n")
    changed = put(tmp_path / "c", '{"q": ["a", "a", "b"]}')
    found = measure("p_mrr", Files(old, run_changed=new, changed=changed))
    assert found.value == 0.0 and found.notes["changed_docs_listed_twice"] == ["q"]


@pytest.mark.parametrize("name", ["ndcg@10", "mrr@10", "robustness@10", "nevir"])
def test_a_rule_that_a_measure_does_not_know_is_refused(tmp_path: Path, name: str) -> None:
    run = put(tmp_path / "r", "q Q0 a 1 0.5 x\n")
    with pytest.raises(ObverseError, match="one rule for equal scores"):
        measure(name, Files(run, put(tmp_path / "q", "q 0 a 1\n"), ties="insertion"))


def test_p_mrr_does_not_take_a_rule_for_missing_queries(tmp_path: Path) -> None:
    run = put(tmp_path / "r", "q Q0 a 1 0.5 x\n")
    with pytest.raises(ObverseError, match="one rule for queries without results"):
        measure("p_mrr", Files(run, run_changed=run, missing="drop"))
