"""Each public benchmark on a folder of its documented layout: what is asked, of which documents, how it is scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from layouts import (
    beir_folder,
    corpus,
    followir_folder,
    infosearch_folder,
    lines,
    mair_folder,
    older_followir_folder,
)

from obverse.benchmarks.followir import followir
from obverse.benchmarks.infosearch import infosearch
from obverse.benchmarks.named import BENCHMARKS, load_benchmark
from obverse.errors import InputError, SettingError
from obverse.evaluate import evaluate
from obverse.inputs import Template
from obverse.rankers import BM25Ranker, joined, model_input
from obverse.records import Ask


def run_of(**rows: str) -> dict[str, dict[str, float]]:
    """A run whose rows are document ids of one letter in order of rank."""
    return {
        q.replace("_", "-"): {d: 1 - n / 10 for n, d in enumerate(ids)} for q, ids in rows.items()
    }


def test_followir_ranks_candidates_and_scores_original_instructions_alone(tmp_path: Path) -> None:
    benchmark = followir(followir_folder(tmp_path), subset="core17")
    (search,) = benchmark.searches
    assert search.candidates and search.candidates["1-og"] == ("a", "b", "c")
    assert search.asks[0] == Ask("1-og", "query 1", "og rule")
    run = {
        "1-og": {"a": 3.0, "b": 2.0, "c": 1.0},
        "1-changed": {"b": 3.0, "a": 2.0, "c": 1.0},
        "2-og": {"d": 3.0, "e": 2.0, "f": 1.0},
        "2-changed": {"e": 3.0, "f": 2.0, "d": 1.0},
    }
    found = benchmark.score({"candidates": run}, 0)
    assert found["p_mrr"].value == 0.5 and found["p_mrr"].n == 1
    assert found["score"].value == 1.0 and found["score"].n == 2
    assert "original judgements" in found["score"].measure
    ranked = evaluate(BM25Ranker(), benchmark)
    assert set(ranked.runs["candidates"]["2-og"]) == {"d", "e", "f"}


def test_followirs_first_layout_derives_what_changed(tmp_path: Path) -> None:
    benchmark = followir(older_followir_folder(tmp_path), subset="news21")
    run = run_of(**{"1_og": "abc", "1_changed": "bca"})
    found = benchmark.score({"candidates": run}, 0)
    assert found["p_mrr"].value == pytest.approx(1 - 1 / 3)
    assert "nDCG@5" in found["score"].measure


def test_half_present_data_are_refused_unless_told(tmp_path: Path) -> None:
    followir_folder(tmp_path)
    corpus(tmp_path, "abcde")
    with pytest.raises(
        InputError, match=r"candidates that are not in the corpus, first .* f\..*--partial"
    ):
        followir(tmp_path)
    assert followir(tmp_path, partial=True).about["partial"]
    with pytest.raises(InputError, match="holds no table"):
        infosearch(tmp_path)


def test_mfollowir_reads_the_tables_of_its_language(tmp_path: Path) -> None:
    followir_folder(tmp_path / "x")
    for name in ("corpus", "queries", "instruction", "qrel_diff"):
        (tmp_path / f"{name}-rus.jsonl").write_bytes((tmp_path / f"x/{name}.jsonl").read_bytes())
    for name in ("qrels", "top_ranked"):
        (tmp_path / "x" / name).rename(tmp_path / f"{'default' if name == 'qrels' else name}-rus")
    benchmark = load_benchmark(f"mfollowir:rus={tmp_path}")
    assert benchmark.name == "mfollowir:rus"
    run = run_of(**{"1_og": "abc", "1_changed": "bac", "2_og": "def", "2_changed": "def"})
    assert set(benchmark.score({"candidates": run}, 0)) == {"p_mrr", "score", "ndcg@20"}


@pytest.mark.parametrize("layout", ["authors", "mteb"])
def test_instructir_groups_by_query_text(tmp_path: Path, layout: str) -> None:
    corpus(tmp_path, "abc")
    rows = [
        ("u_1_1", "flat", "shoe rack"),
        ("u_1_2", "club", "shoe rack"),
        ("u_2_1", "gift", "knife"),
    ]
    if layout == "mteb":
        lines(tmp_path / "queries.jsonl", [{"_id": q, "text": t} for q, _, t in rows])
        lines(
            tmp_path / "instruction.jsonl", [{"query-id": q, "instruction": i} for q, i, _ in rows]
        )
        lines(
            tmp_path / "qrels.jsonl",
            [{"query-id": q, "corpus-id": "a", "score": 1} for q, _, _ in rows],
        )
    else:
        lines(
            tmp_path / "queries.jsonl", [{"_id": q, "text": f"{i} [SEP] {t}"} for q, i, t in rows]
        )
        text = "".join(f"{q}\ta\t1\n" for q, _, _ in rows)
        (tmp_path / "qrels.tsv").write_text("qid\tpid\tscore\n" + text)
    benchmark = load_benchmark(f"instructir={tmp_path}")
    assert benchmark.searches[0].asks[0] == Ask("u_1_1", "shoe rack", "flat")
    run = {"u_1_1": {"a": 1.0}, "u_1_2": {"b": 1.0}, "u_2_1": {"a": 1.0}}
    found = benchmark.score({"corpus": run}, 0)
    assert found["robustness@10"].value == 0.5 and found["robustness@10"].n == 2
    assert found["ndcg@10"].n == 3
    pattern = benchmark.joinings["paper"]
    assert joined(pattern, "shoe rack", "flat") == "flat [SEP] shoe rack"


def test_infosearch_searches_three_modes(tmp_path: Path) -> None:
    benchmark = load_benchmark(f"infosearch:source={infosearch_folder(tmp_path)}")
    assert [s.name for s in benchmark.searches] == ["original", "instructed", "reversed"]
    runs = {
        "original": run_of(q="bac"),
        "instructed": {"q": {"a": 2.0, "c": 0.5, "b": 0.4}},
        "reversed": {"q": {"b": 1.0, "c": 0.9, "a": 0.1}},
    }
    found = benchmark.score(runs, 0)
    assert found["infosearch_p_mrr"].value == pytest.approx(1 - 1 / 3)
    assert found["sicr"].value == 1.0
    assert found["wise_paper"].value == 1.0 and found["wise"].value != 1.0


def test_mair_weighs_splits_by_their_queries(tmp_path: Path) -> None:
    benchmark = load_benchmark(f"mair:IFEval={mair_folder(tmp_path)}")
    assert [len(s.doc_ids or ()) for s in benchmark.searches] == [2, 2]
    runs = {
        "x_corpus": {"x_1": {"x_a": 1.0}},
        "y_corpus": {"y_1": {"y_b": 1.0, "y_a": 0.5}},
    }
    found = benchmark.score(runs, 0)
    assert found["ndcg@10"].n == 2 and found["ndcg@10 x"].value == 1.0
    assert joined(benchmark.joinings["paper"], "shoe rack", "I rent.") == "I rent.shoe rack"


def test_nevir_has_two_candidates_and_an_accuracy_of_pairs(tmp_path: Path) -> None:
    row = {"doc1": "with peanuts", "doc2": "without nuts", "q1": "peanuts", "q2": "no nuts"}
    lines(tmp_path / "test.jsonl", [row])
    benchmark = load_benchmark(f"nevir={tmp_path}")
    run = {"1_q1": {"1_doc1": 1.0, "1_doc2": 0.0}, "1_q2": {"1_doc1": 0.0, "1_doc2": 1.0}}
    assert benchmark.score({"pairs": run}, 0)["nevir"].value == 1.0
    assert evaluate(BM25Ranker(), benchmark)["nevir"].value == 1.0


@pytest.mark.parametrize("keys", [("ExcluQ", "index"), ("RQ_rewrite", "corpus_sub_index")])
def test_excluir_reads_released_and_documented_keys(tmp_path: Path, keys: tuple[str, str]) -> None:
    (tmp_path / "corpus.json").write_text(json.dumps(["zero", "one", "two"]))
    (tmp_path / "queries.json").write_text(
        json.dumps([{keys[0]: "two but not one", keys[1]: [1, 2]}])
    )
    benchmark = load_benchmark(f"excluir={tmp_path}")
    found = benchmark.score({"corpus": {"0": {"2": 1.0, "1": 0.5}}}, 0)
    assert found["right_rank"].value == 1.0 and found["delta_mrr@10"].value == 0.5


def test_beir_asks_judged_queries_and_keeps_equal_ids(tmp_path: Path) -> None:
    benchmark = load_benchmark(str(beir_folder(tmp_path / "set")))
    assert [ask.query_id for ask in benchmark.searches[0].asks] == ["1"]
    run = {"corpus": {"1": {"1": 1.0, "2": 0.5}}}
    assert benchmark.score(run, 0)["ndcg@10"].value == 1.0
    arguana = load_benchmark(f"beir:arguana={tmp_path / 'set'}")
    assert arguana.score(run, 0)["ndcg@10"].value == 0.0
    assert arguana.about["documents_with_the_querys_id"] == "taken out"
    assert load_benchmark(f"negconstraint={tmp_path / 'set'}").name == "beir:negconstraint"


def test_what_cannot_be_found_counts_as_zero_and_is_listed(
    tmp_path: Path,
) -> None:
    beir_folder(tmp_path)
    rows = "query-id\tcorpus-id\tscore\n1\t1\t1\nunjudged\tgone\t1\nno-text\t2\t1\n"
    (tmp_path / "qrels/test.tsv").write_text(rows)
    with pytest.raises(InputError, match="--partial"):
        load_benchmark(f"beir:set={tmp_path}")
    benchmark = load_benchmark(f"beir:set={tmp_path}", partial=True)
    found = benchmark.score({"corpus": {"1": {"1": 1.0}, "unjudged": {"3": 1.0}}}, 0)["ndcg@10"]
    assert (found.value, found.n) == (pytest.approx(1 / 3), 3)
    assert found.notes["without_results"] == ["no-text"]
    partial = benchmark.about["partial"]
    assert partial["judged documents that are not in the corpus"]["first"] == [["unjudged", "gone"]]
    view = '{"instruction": "one", "labels": {"1": "positive"}}'
    (tmp_path / "topics.jsonl").write_text(
        f'{{"topic_id": "t", "query": "q", "views": [{view}]}}\n'
    )
    with pytest.raises(InputError, match=r"no-text.*--partial"):
        load_benchmark(str(tmp_path))
    scores = evaluate(BM25Ranker(), load_benchmark(str(tmp_path), partial=True))
    assert scores["guard_ndcg@10"].n == 3
    assert scores.about["judged_documents_not_in_corpus"] == [["unjudged", "gone"]]
    assert scores.about["judged_queries_without_text"] == ["no-text"]


def test_msmarco_counts_every_reference_query(tmp_path: Path) -> None:
    (tmp_path / "collection.tsv").write_text("1\tone passage\n2\ttwo passages\n")
    (tmp_path / "queries.dev.small.tsv").write_text("10\tone\n20\ttwo\n")
    (tmp_path / "qrels.dev.small.tsv").write_text("10\t0\t1\t1\n20\t0\t2\t1\n")
    benchmark = load_benchmark(f"msmarco={tmp_path}")
    found = benchmark.score({"corpus": {"10": {"2": 1.0, "1": 0.5}}}, 0)
    assert found["msmarco_mrr@10"].value == 0.25 and found["msmarco_mrr@10"].n == 2


def constraint_folder(home: Path) -> Path:
    lines(
        home / "corpus.jsonl",
        [{"_id": "old", "text": "used bike"}, {"_id": "new", "text": "sealed bike"}],
    )
    lines(
        home / "queries.jsonl",
        [
            {"_id": "n1", "text": "bike", "instruction": "used"},
            {"_id": "n2", "text": "bike", "instruction": "sealed"},
        ],
    )
    (home / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nn1\told\t1\nn2\tnew\t1\n")
    (home / "violations.json").write_text('{"n1": ["new"], "n2": ["old"]}')
    (home / "plain_qrels.tsv").write_text("query-id\tcorpus-id\tscore\nn1\told\t1\nn1\tnew\t1\n")
    return home


def test_constraints_count_violations_and_call_out_who_ignores_the_instruction(
    tmp_path: Path,
) -> None:
    benchmark = load_benchmark(str(constraint_folder(tmp_path)))
    deaf = {"n1": {"old": 1.0, "new": 0.5}, "n2": {"old": 1.0, "new": 0.5}}
    found = benchmark.score({"instructed": deaf, "plain": deaf}, 0)
    assert found["moved"].value == 0.0
    assert found["moved"].notes["ignores_the_instruction"] == ["n1", "n2", ["n1", "n2"]]
    assert found["violations@3"].per_topic == {"n1": 1.0, "n2": 1.0}
    scores = evaluate(BM25Ranker(), benchmark)
    assert list(scores.runs["instructed"]["n2"]) == ["new", "old"]
    assert scores["plain_ndcg@10"].value == 1.0


def test_every_input_string_of_the_five_public_rules() -> None:
    ask = Ask("1", "shoe rack", "I rent a small flat.")
    expected = {
        "{query} {instruction}": "shoe rack I rent a small flat.",
        "{instruction} [SEP] {query}": "I rent a small flat. [SEP] shoe rack",
        "{instruction}{query}": "I rent a small flat.shoe rack",
        "Instruct: {instruction}\nQuery: {query}": "Instruct: I rent a small flat.\nQuery: shoe rack",
    }
    for pattern, text in expected.items():
        assert joined(pattern, ask.query, ask.instruction) == text
        assert model_input(Template(), ask, pattern) == text
    golden = json.loads((Path(__file__).parents[1] / "data/golden/formatting.json").read_text())
    for row in golden["mteb_query_instruction"]:
        if row["instruction"]:
            assert (
                joined("{query} {instruction}", row["text"], row["instruction"]) == row["expected"]
            )
    braces = joined("{query} {instruction}", "{instruction}", "{query}")
    assert braces == "{instruction} {query}"
    e5 = Template("query: {query} {instruction}", "query: {query}")
    assert model_input(e5, ask, "{instruction} [SEP] {query}").startswith("query: I rent")


@pytest.mark.parametrize(
    ("folder", "file", "content", "says"),
    [
        ("followir", "top_ranked/test-00000.parquet", b"", "is no Parquet, or a damaged one"),
        (
            "followir",
            "qrels/test.jsonl",
            b'{"query-id": "1-og", "corpus-id": "a", "score": "one"}\n',
            "the grade 'one' of query '1-og', document 'a' is no whole number",
        ),
        (
            "followir",
            "qrels/test.jsonl",
            b'{"query-id": "1-og", "corpus-id": "a", "score": null}\n',
            "the grade None of query",
        ),
        ("followir", "qrel_diff.jsonl", b'{"query-id": "1"}\n', "no list of changed documents"),
        (
            "mair:IFEval",
            "x_queries.jsonl",
            b'{"qid": "1", "instruction": "i", "query": "q", "labels": [{"id": "a"}]}\n',
            "has the label .* which is none",
        ),
    ],
)
def test_a_damaged_table_is_one_line(
    tmp_path: Path, folder: str, file: str, content: bytes, says: str
) -> None:
    (mair_folder if folder.startswith("mair") else followir_folder)(tmp_path)
    (tmp_path / file).write_bytes(content)
    with pytest.raises(InputError, match=says):
        load_benchmark(f"{folder}={tmp_path}")


def test_names_and_places(tmp_path: Path) -> None:
    for name in BENCHMARKS:
        with pytest.raises((InputError, SettingError)):
            load_benchmark(f"{name}={tmp_path / 'nowhere'}")
    with pytest.raises(SettingError, match="neither a folder nor a benchmark"):
        load_benchmark("followirr")
    with pytest.raises(SettingError, match="where the data of mair"):
        load_benchmark("mair:IFEval")
    with pytest.raises(SettingError, match=r"no plain BEIR set.*followir:core17="):
        load_benchmark(str(followir_folder(tmp_path / "bare")))


def test_a_hub_that_is_away_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for spec, place in (
        ("followir:core17", "mteb/Core17InstructionRetrieval"),
        ("mfollowir:rus", "jhu-clsp/mFollowIR-parquet-mteb"),
        ("mfollowir:eng-rus", "jhu-clsp/mFollowIR-cross-lingual-parquet-mteb"),
        ("infosearch:keyword", "jianqunZ/Clarity-v1"),
        ("nevir", "orionweller/NevIR"),
    ):
        says = f"hub:{place}: is not in the hub cache, and the hub is switched off"
        with pytest.raises(InputError, match=says):
            load_benchmark(spec)


def test_a_hub_data_set_is_one_configuration_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    rows = {"doc1": "with peanuts", "doc2": "without nuts", "q1": "peanuts", "q2": "no nuts"}
    asked = []

    def load(name: str, table: str, revision: str | None = None) -> dict[str, list[dict[str, str]]]:
        asked.append((name, table, revision))
        return {"train": [], "test": [rows]}

    monkeypatch.setattr("obverse.benchmarks.tables.hub_away", lambda: None)
    monkeypatch.setattr(datasets, "get_dataset_config_names", lambda name, revision: ["default"])
    monkeypatch.setattr(datasets, "load_dataset", load)
    benchmark = load_benchmark("nevir=hub:them/NevIR@abc")
    assert len(benchmark.searches[0].asks) == 2
    assert asked == [("them/NevIR", "default", "abc")]
