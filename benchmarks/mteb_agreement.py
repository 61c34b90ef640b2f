"""Runs mteb itself and this package on one small local task in FollowIR's form, and shows the values side by side.

    python benchmarks/mteb_agreement.py [TOPICS_FOLDER] [--model all-MiniLM-L6-v2] [--max-tokens 128]

TOPICS_FOLDER is the packaged sample unless given. Each topic with two instructed views becomes a FollowIR topic: the
first view is the original instruction, the second the changed one, and the documents that the second rules out are the
changed ones. Needs mteb (pip install mteb).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from obverse.benchmarks.followir import followir
from obverse.evaluate import evaluate
from obverse.files import in_folder, read_corpus, read_topics, write_json_lines
from obverse.models import load_encoder
from obverse.mteb_adapter import MtebModel
from obverse.records import Label
from obverse.sample import sample_folder


def write_task(topics_folder: str, home: Path) -> None:
    """Writes a topics benchmark as a folder in mteb's FollowIR layout."""
    topics = [
        t
        for t in read_topics(in_folder(topics_folder, "topics.jsonl"))
        if len(t.instructed_views) == 2
    ]
    corpus = read_corpus(in_folder(topics_folder, "corpus.jsonl"))
    pool = sorted({d for t in topics for v in t.views for d in v.labels})
    queries, instructions, qrels, ranked, changed = [], [], [], [], []
    for topic in topics:
        old, new = topic.instructed_views
        for suffix, view in (("og", old), ("changed", new)):
            key = f"{topic.topic_id}-{suffix}"
            queries.append({"_id": key, "text": topic.query})
            instructions.append({"query-id": key, "instruction": view.instruction})
            ranked.append({"query-id": key, "corpus-ids": pool})
            qrels += [
                {"query-id": key, "corpus-id": d, "score": int(label == Label.POSITIVE)}
                for d, label in view.labels.items()
                if label != Label.IGNORE
            ]
        ruled_out = [d for d in old.positives if new.labels.get(d) == Label.INSTRUCTION_NEGATIVE]
        changed.append({"query-id": topic.topic_id, "corpus-ids": ruled_out})
    tables: dict[str, list[dict[str, Any]]] = {
        "corpus": [{"_id": d, "title": corpus[d].title, "text": corpus[d].text} for d in pool],
        "queries": queries,
        "instruction": instructions,
        "qrels": qrels,
        "top_ranked": ranked,
        "qrel_diff": changed,
    }
    for name, rows in tables.items():
        write_json_lines(home / f"{name}.jsonl", rows)


def mteb_task(home: Path) -> Any:
    """Returns the folder as a task of mteb, with FollowIR's scores."""
    from datasets import Dataset
    from mteb._evaluators.retrieval_metrics import evaluate_p_mrr_change
    from mteb.tasks.instruction_reranking.eng.core17_instruction_retrieval import (
        Core17InstructionRetrieval,
    )

    def rows(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (home / f"{name}.jsonl").read_text().splitlines()]

    class LocalFollowIR(Core17InstructionRetrieval):
        def load_data(self, num_proc: int | None = None, **kwargs: Any) -> None:
            told = {row["query-id"]: row["instruction"] for row in rows("instruction")}
            qrels: dict[str, dict[str, int]] = {}
            for row in rows("qrels"):
                qrels.setdefault(row["query-id"], {})[row["corpus-id"]] = row["score"]
            self.dataset = {
                "default": {
                    "test": {
                        "corpus": Dataset.from_list(
                            [
                                {"id": r["_id"], "title": r["title"], "text": r["text"]}
                                for r in rows("corpus")
                            ]
                        ),
                        "queries": Dataset.from_list(
                            [
                                {"id": r["_id"], "text": r["text"], "instruction": told[r["_id"]]}
                                for r in rows("queries")
                            ]
                        ),
                        "relevant_docs": qrels,
                        "top_ranked": {r["query-id"]: r["corpus-ids"] for r in rows("top_ranked")},
                    }
                }
            }
            self.data_loaded = True

        def task_specific_scores(
            self, scores: Any, qrels: Any, results: Any, *args: Any, **kwargs: Any
        ) -> Any:
            changed = {r["query-id"]: r["corpus-ids"] for r in rows("qrel_diff")}
            return evaluate_p_mrr_change(qrels, results, changed, self.k_values)

    return LocalFollowIR()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="?", default=str(sample_folder()))
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--max-tokens", type=int, default=128)
    options = parser.parse_args()
    import mteb

    encoder = load_encoder(options.model, max_tokens=options.max_tokens)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_task(options.topics, home)
        ours = evaluate(encoder, followir(home, subset="core17"), joining="mteb")
        task = mteb_task(home)
        encoder.model.max_seq_length = options.max_tokens
        found = {}
        for name, model in (("adapter", MtebModel(encoder)), ("own wrapper", encoder.model)):
            result = mteb.evaluate(
                model,
                task,
                encode_kwargs={"batch_size": 32},
                cache=None,
                overwrite_strategy="always",
            )
            found[f"mteb, {name}"] = result.task_results[0].scores["test"][0]
    print(
        f"mteb {mteb.__version__}, {options.model} at {options.max_tokens} tokens, "
        f"{ours['p_mrr'].n} topics"
    )
    own = ours["p_mrr"].value, ours["score"].value
    print(f"{'obverse':20} p-MRR {own[0]:.10f}   MAP@1000 (original) {own[1]:.5f}")
    for name, scores in found.items():
        p_mrr, score = scores["p-MRR"], scores["og"]["map_at_1000"]
        print(f"{name:20} p-MRR {p_mrr:.10f}   MAP@1000 (original) {score:.5f}")


if __name__ == "__main__":
    main()
