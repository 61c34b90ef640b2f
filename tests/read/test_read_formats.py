"""Every format becomes topics with the right labels, and is recognised by its columns or files."""

from __future__ import annotations

import gzip
import json
import sys
import types
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obverse.errors import InputError, MissingExtra, SettingError
from obverse.read import Findings, read
from obverse.read.formats import FORMATS, guess
from obverse.records import Label, Topic

Jsonl = Callable[..., Path]
P, N, H = Label.POSITIVE, Label.NEGATIVE, Label.INSTRUCTION_NEGATIVE


def read_all(path: Any, format: str | None = None, **options: Any) -> tuple[list[Topic], Findings]:
    findings = Findings()
    return list(read(path, format, findings=findings, **options)), findings


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def passage(docid: str, text: str) -> dict[str, Any]:
    return {"docid": docid, "title": "", "text": text, "explanation": "why", "joint_id": "x"}


def test_promptriever_rows_of_one_query_become_one_topic(jsonl: Jsonl) -> None:
    plain = {
        "query_id": "17",
        "query": "bike",
        "only_query": "bike",
        "only_instruction": "",
        "has_instruction": False,
    }
    plain |= {
        "positive_passages": [passage("a", "New bike.")],
        "negative_passages": [passage("n", "Helmet.")],
    }
    instructed = plain | {
        "query_id": "17-instruct",
        "query": "bike only used",
        "only_instruction": "only used",
    }
    instructed |= {"has_instruction": True, "positive_passages": [passage("b", "Used bike.")]}
    instructed |= {"new_negatives": [passage("c", "Brand-new bike.")]}
    path = jsonl(plain | {"new_negatives": []}, instructed)
    assert guess(path)[0] == "promptriever"
    (topic,), findings = read_all(path)
    assert topic.topic_id == "17" and topic.query == "bike"
    assert topic.views[0].labels == {"a": P, "n": N}
    assert topic.views[1].labels == {"b": P, "c": H, "n": N}
    assert (findings.rows, findings.usable) == (2, 2)


def test_inf_ir_rows_become_swapping_views(jsonl: Jsonl) -> None:
    row = {
        "query_positive": "bike",
        "instruction_positive": "only used",
        "document": "Used bike.",
        "query_negative": "kettle",
        "instruction_negative": "only new",
        "hard_negative_document_1": "New bike.",
        "hard_negative_document_2": "Used kettle.",
    }
    path = jsonl(row)
    assert guess(path)[0] == "inf_ir"
    topics, findings = read_all(path)
    texts = {doc.doc_id: doc.text for topic in topics for doc in topic.docs}

    def said(topic: Topic) -> list[tuple[str, dict[str, str]]]:
        return [
            (v.instruction, {texts[d]: str(label) for d, label in v.labels.items()})
            for v in topic.views
        ]

    assert said(topics[0]) == [
        (
            "only used",
            {
                "Used bike.": "positive",
                "New bike.": "instruction_negative",
                "Used kettle.": "negative",
            },
        ),
        (
            "only new",
            {
                "New bike.": "positive",
                "Used bike.": "instruction_negative",
                "Used kettle.": "negative",
            },
        ),
    ]
    assert said(topics[1]) == [
        ("only used", {"Used kettle.": "positive", "Used bike.": "negative"})
    ]
    assert (findings.rows, findings.usable) == (1, 1)


def test_tevatron_old_and_new(tmp_path: Path, jsonl: Jsonl) -> None:
    old = jsonl(
        {
            "query_id": "1",
            "query": "bike",
            "positive_passages": [passage("a", "Bike.")],
            "negative_passages": [passage("b", "Helmet.")],
        }
    )
    assert guess(old)[0] == "tevatron"
    (topic,), _ = read_all(old)
    assert topic.views[0].labels == {"a": P, "b": N}
    new = jsonl(
        {
            "query_id": "1",
            "query_text": "bike",
            "positive_document_ids": ["a"],
            "negative_document_ids": ["b", "zz"],
        },
        name="new.jsonl",
    )
    with pytest.raises(SettingError, match="--corpus"):
        read_all(new)
    (tmp_path / "corpus.jsonl").write_text(
        lines(passage("a", "Bike."), passage("b", "Helmet."), passage("c", "C."))
    )
    (topic,), findings = read_all(new)
    assert topic.views[0].labels == {"a": P, "b": N}
    assert findings.examples["missing_document"][0].field == "negative_document_ids"


def test_flag_embedding(jsonl: Jsonl) -> None:
    path = jsonl(
        {"query": "bike", "pos": ["Bike."], "neg": ["Helmet.", "Pump."], "prompt": "only used"}
    )
    assert guess(path)[0] == "flag_embedding"
    (topic,), findings = read_all(path)
    assert topic.views[0].instruction == "only used" and len(topic.views[0].negatives) == 2
    assert not findings.counts["string_for_document"]
    _, findings = read_all(
        jsonl({"query": "bike", "pos": "Bike.", "neg": ["Helmet."]}, name="b.jsonl")
    )
    assert [(e.line, e.field) for e in findings.examples["string_for_list"]] == [(1, "pos")]


@pytest.mark.parametrize(
    "header",
    ["anchor\tpositive\tnegative", "query\tpositive\tnegative", "sentence1\tsentence2\tsentence3"],
)
def test_triplets_in_tables(tmp_path: Path, header: str) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(f"{header}\nbike\tBike.\tHelmet.\nbike\tBike.\tPump.\n")
    assert guess(path)[0] == "triplets"
    (topic,), findings = read_all(path)
    assert len(topic.views[0].positives) == 1 and len(topic.views[0].negatives) == 2
    assert not findings.counts["string_for_list"]


def test_n_tuples_and_pairs(jsonl: Jsonl) -> None:
    row = {"anchor": "bike", "positive": "Bike.", "negative_1": "Helmet.", "negative_2": "Pump."}
    (topic,), _ = read_all(jsonl(row))
    assert len(topic.views[0].negatives) == 2
    (topic,), findings = read_all(
        jsonl({"question": "why?", "answer": "Because."}, name="faq.jsonl")
    )
    assert topic.query == "why?" and findings.counts["no_negative"] == 1


def test_a_bare_string_where_negatives_are_a_list(jsonl: Jsonl) -> None:
    _, findings = read_all(jsonl({"query": "bike", "positive": "Bike.", "negatives": "Helmet."}))
    assert "negatives" in {e.field for e in findings.examples["string_for_list"]}


def beir(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    corpus = lines(
        {"_id": "007", "title": "Blue", "text": "Blue kettle."},
        {"_id": "7", "text": "Red."},
        {"_id": "8", "text": "G."},
    )
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(corpus.encode()))
    (folder / "queries.jsonl").write_text(
        lines({"_id": "01", "text": "blue"}, {"_id": "1", "text": "red"})
    )
    (folder / "qrels" / "train.tsv").write_text(
        "query-id\tcorpus-id\tscore\n01\t007\t2.0\n01\t7\t0\n1\t7\t1\n1\tgone\t1\n9\t7\t1\n"
    )
    return folder


def test_beir(tmp_path: Path) -> None:
    folder = beir(tmp_path / "set")
    topics, findings = read_all(folder)
    assert [(t.topic_id, t.views[0].labels) for t in topics] == [
        ("01", {"007": P, "7": N}),
        ("1", {"7": P}),
    ]
    assert topics[0].docs[0].title == "Blue"
    assert findings.examples["missing_document"][0].line == 5
    assert findings.examples["missing_query"][0].line == 6
    with pytest.raises(InputError, match="--split train"):
        read_all(folder, split="dev")


def test_fractional_grades_are_refused_and_negative_ones_named(tmp_path: Path) -> None:
    folder = beir(tmp_path / "set")
    (folder / "qrels" / "train.tsv").write_text(
        "query-id\tcorpus-id\tscore\n01\t007\t1\n01\t7\t-1\n"
    )
    topics, findings = read_all(folder)
    assert (
        topics[0].views[0].labels == {"007": P, "7": N} and findings.counts["negative_grade"] == 1
    )
    (folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n01\t007\t0.5\n")
    with pytest.raises(InputError, match=r"train\.tsv:2"):
        read_all(folder)


def test_trec(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(
        "<top>\n<num> Number: 301\n<title> steel\n  bikes\n<desc> Description:\nx\n"
        "<narr> Narrative:\nOnly used ones\nare relevant.\n</top>\n"
    )
    (tmp_path / "qrels.txt").write_text("301 0 d1 1\n301 0 d2 0\n")
    (tmp_path / "corpus.tsv").write_text(
        "docno\ttext\n" + "".join(f"d{n}\tText {n}\n" for n in range(1, 6))
    )
    (tmp_path / "run.txt").write_text(
        "".join(f"301 Q0 d{n} {r} {9 - r} x\n" for r, n in enumerate((1, 3, 2, 4, 5), 1))
    )
    run = tmp_path / "run.txt"
    run.rename(tmp_path / "bm25.run")
    assert guess(tmp_path)[0] == "trec"
    (topic,), _ = read_all(tmp_path, run=tmp_path / "bm25.run", take=2, narratives=True)
    assert (
        topic.query == "steel bikes"
        and topic.views[0].instruction == "Only used ones are relevant."
    )
    assert topic.views[0].labels == {"d1": P, "d2": N, "d3": N, "d4": N}


def test_msmarco(tmp_path: Path) -> None:
    (tmp_path / "collection.tsv").write_text('0\tA "quoted passage\n1\tAnother.\n2\tThird.\n')
    (tmp_path / "queries.train.tsv").write_text("10\twhat is it\n")
    (tmp_path / "qrels.train.tsv").write_text("10\t0\t0\t1\n")
    assert guess(tmp_path)[0] == "msmarco"
    (topic,), _ = read_all(tmp_path)
    assert topic.docs[0].text == 'A "quoted passage' and topic.views[0].labels == {"0": P}
    (tmp_path / "qidpidtriples.train.tsv").write_text("10\t0\t1\n10\t0\t2\n")
    (topic,), _ = read_all(tmp_path)
    assert topic.views[0].labels == {"0": P, "1": N, "2": N}
    triples = tmp_path / "triples.train.small.tsv"
    triples.write_text("what is it\tA.\tB.\nwhat is it\tA.\tC.\n")
    (topic,), _ = read_all(triples, "msmarco")
    assert len(topic.views[0].negatives) == 2


def test_hugging_face_folders(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_list(
        [{"anchor": "bike", "positive": "Bike.", "negative": "Helmet."}]
    )
    table.save_to_disk(str(tmp_path / "ds"))
    assert guess(tmp_path / "ds")[0] == "triplets"
    (topic,), _ = read_all(tmp_path / "ds")
    assert topic.query == "bike"
    with pytest.raises(InputError, match="cannot be loaded"):
        read_all("hf:" + str(tmp_path / "nothing"), "triplets")


def _fails() -> Any:
    raise RuntimeError("All download sources failed")


def test_ir_datasets_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    query, doc = namedtuple("query", "query_id text"), namedtuple("doc", "doc_id title text")
    qrel = namedtuple("qrel", "query_id doc_id relevance")
    data = types.SimpleNamespace(
        queries_iter=lambda: [query("1", "bike")],
        qrels_iter=lambda: [qrel("1", "a", 2), qrel("1", "b", 0), qrel("1", "c", 1)],
        docs_store=lambda: types.SimpleNamespace(
            get_many=lambda ids: {"a": doc("a", "T", "Bike."), "b": doc("b", "", "Helmet.")}
        ),
        has_queries=lambda: True,
        has_qrels=lambda: True,
        has_docs=lambda: True,
    )
    fake = types.ModuleType("ir_datasets")
    fake.load = {"toy/set": data}.__getitem__  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ir_datasets", fake)
    (topic,), findings = read_all("ir_datasets:toy/set")
    assert topic.views[0].labels == {"a": P, "b": N} and topic.docs[0].title == "T"
    assert findings.counts["missing_document"] == 1
    with pytest.raises(InputError, match="no data set"):
        read_all("ir_datasets:other")
    monkeypatch.setattr(data, "qrels_iter", lambda: _fails())
    with pytest.raises(InputError, match="cannot be fetched"):
        read_all("ir_datasets:toy/set")
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtra, match="pip install"):
        read_all("ir_datasets:toy/set")


def test_csv_with_line_ends_and_blank_lines_in_cells(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(
        '\ufeffquery,positive,negative\r\n"a, b","one\r\n\r\ntwo ""x""",neg\r\n\r\nc,d,e\r\n'.encode()
    )
    topics, findings = read_all(path)
    assert [t.query for t in topics] == ["a, b", "c"]
    assert topics[0].docs[0].text == 'one\n\ntwo "x"'
    assert findings.counts["blank_line"] == 1 and findings.counts["byte_order_mark"] == 1


def test_csv_with_a_stray_quote_loses_no_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('query,positive,negative\na,"19 inch,x\nb,19" monitor,y\nc,plain,z\n')
    topics, findings = read_all(path)
    assert [t.query for t in topics] == ["a", "b", "c"]
    assert any("without quoting" in line for line in findings.said)


def test_a_quoted_tsv_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text('"query"\t"positive"\n"a"\t"one\ttab"\n"b"\t"say ""x"""\n')
    topics, _ = read_all(path)
    assert [t.docs[0].text for t in topics] == ["one\ttab", 'say "x"']


def test_a_huge_field_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('query,positive\na,"' + "word " * 100_000 + '"\n')
    topics, findings = read_all(path)
    assert len(topics[0].docs[0].text) == 500_000 and findings.counts["huge_document"] == 1


def test_parquet_ids_are_strings_and_whole_floats_lose_their_point(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")

    table = pa.table(
        {"query": ["a", "a"], "doc_id": [7.0, None], "text": ["A.", "B."], "clicked": [1, 0]}
    )
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    (topic,), findings = read_all(tmp_path / "t.parquet")
    assert topic.views[0].positives == ["7"] and findings.counts["number_id"] == 1


def test_a_json_array_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps([{"query": "a", "positive": "A."}, {"query": "b", "positive": "B."}], indent=1)
    )
    topics, _ = read_all(path)
    assert [t.query for t in topics] == ["a", "b"]


def test_columns_are_mapped_by_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("pos,id,q\nBike.,1,bike\n")
    (topic,), _ = read_all(path, columns={"query": "q", "positive": "pos"})
    assert topic.query == "bike" and topic.docs[0].text == "Bike."
    with pytest.raises(SettingError, match="no column 'nope'"):
        read_all(path, "triplets", columns={"query": "nope"})


def test_unknown_formats_and_options(jsonl: Jsonl) -> None:
    path = jsonl({"query": "a", "positive": "A."})
    with pytest.raises(SettingError, match="unknown format"):
        read_all(path, "word")
    with pytest.raises(SettingError, match="takes no split"):
        read_all(path, "triplets", split="train")
    with pytest.raises(InputError, match="It has the columns a, b"):
        read_all(jsonl({"a": 1, "b": 2}, name="x.jsonl"))


def test_every_reader_can_be_imported() -> None:
    from obverse.read import reader_named

    for format in FORMATS:
        assert callable(reader_named(format))
