"""Training speed beside sentence-transformers, in one run on one machine: views per second and peak memory.

    python benchmarks/training_speed.py --json

The same encoder, topics, batch and temperature for all. Every contender is a process of its own:

- ``st``, ``st-cached``: sentence-transformers' MultipleNegativesRankingLoss and its cached version on exploded rows
  (each view a row with its own copy of the documents), in a bare loop without its trainer's extra work;
- ``bare``: the arithmetic of obverse written as a plain torch loop: documents shared by the views of a batch, sorted
  by length, tokenised beforehand;
- ``obverse``, ``obverse-chunked``: what ``obverse train`` runs, its trainer included.

The losses are compared too. ``bare`` and ``obverse`` must agree. The exploded rows hold a document as often as views
share it, so their loss is compared with obverse's vectors counted that often.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

CONTENDERS = ("st", "st-cached", "bare", "obverse", "obverse-chunked")
TEMPERATURE, MAX_TOKENS = 0.02, 128


def topics_of(count: int, negatives: int) -> list[Any]:
    """Dual-view topics out of the packaged abstracts, cut to 20 to 110 words: about 80 tokens in the mean."""
    from obverse.files import in_folder, read_corpus
    from obverse.records import Doc, Label, Topic, View
    from obverse.sample import sample_folder

    corpus = list(read_corpus(in_folder(sample_folder(), "corpus.jsonl")).values())
    draw = random.Random(0)
    draw.shuffle(corpus)
    texts = iter(corpus)
    found = []
    for number in range(count):
        docs = []
        for place in range(1 + negatives):
            words = next(texts).text.split()[: draw.randint(20, 110)]
            docs.append(Doc(f"d{place}", f"{number}-{place} " + " ".join(words)))
        rest = {doc.doc_id: Label.NEGATIVE for doc in docs[2:]}
        one = {"d0": Label.POSITIVE, "d1": Label.INSTRUCTION_NEGATIVE} | rest
        two = {"d0": Label.INSTRUCTION_NEGATIVE, "d1": Label.POSITIVE} | rest
        views = (
            View(" ".join(docs[0].text.split()[1 : 1 + draw.randint(6, 20)]), one),
            View(" ".join(docs[1].text.split()[1 : 1 + draw.randint(6, 20)]), two),
        )
        query = " ".join(docs[0].text.split()[-draw.randint(5, 12) :])
        found.append(Topic(f"t{number}", query, tuple(docs), views))
    return found


def exploded(topics: list[Any]) -> list[list[str]]:
    """The columns of the exploded rows: anchors, positives, and a column for each negative."""
    from obverse.inputs import Template

    build, rows = Template(), []
    for topic in topics:
        text = {doc.doc_id: build.doc(doc) for doc in topic.docs}
        for view in topic.views:
            anchor = build.query(topic.query, view.instruction)
            rows.append([anchor, text[view.positives[0]], *(text[name] for name in view.negatives)])
    return [list(column) for column in zip(*rows, strict=True)]


def model_of(name: str) -> Any:
    from obverse.models import load_model

    model = load_model(name, device=DEVICE)
    model.max_seq_length = MAX_TOKENS
    return model


DEVICE = os.environ.get("SPEED_DEVICE", "cpu")


def optimiser(model: Any) -> Any:
    import torch

    return torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)


def timed(steps: int, step: Any) -> tuple[list[float], list[float]]:
    """Runs a warm-up step and ``steps`` more; returns losses and seconds of these."""
    losses, seconds = [], []
    for number in range(steps + 1):
        began = time.perf_counter()
        loss = step()
        if number:
            seconds.append(time.perf_counter() - began)
        losses.append(loss)
    return losses, seconds


def autocast(precision: str) -> Any:
    import contextlib

    import torch

    if precision == "fp32":
        return contextlib.nullcontext()
    return torch.autocast(DEVICE, dtype=torch.bfloat16)


def run_st(topics: list[Any], args: argparse.Namespace, *, cached: bool) -> dict[str, Any]:
    from sentence_transformers.sentence_transformer.losses import (
        CachedMultipleNegativesRankingLoss,
        MultipleNegativesRankingLoss,
    )

    model = model_of(args.model)
    model.train()
    _no_dropout(model)
    loss_of = (
        CachedMultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE, mini_batch_size=32)
        if cached
        else MultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE)
    )
    columns, adam = exploded(topics), optimiser(model)

    def step() -> float:
        features = [
            {
                k: v.to(DEVICE) if hasattr(v, "to") else v
                for k, v in model.preprocess(column).items()
            }
            for column in columns
        ]
        with autocast(args.precision):
            loss = loss_of(features, None)
        loss.backward()
        adam.step()
        adam.zero_grad()
        return float(loss.detach())

    losses, seconds = timed(args.steps, step)
    return {"losses": losses, "seconds": seconds}


def run_bare(topics: list[Any], args: argparse.Namespace) -> dict[str, Any]:
    import torch
    import torch.nn.functional as F

    from obverse.inputs import Template

    model, build = model_of(args.model), Template()
    model.train()
    _no_dropout(model)
    anchors, docs, positive = [], {}, []
    for topic in topics:
        texts = {doc.doc_id: build.doc(doc) for doc in topic.docs}
        for text in texts.values():
            docs.setdefault(text, len(docs))
        for view in topic.views:
            anchors.append(build.query(topic.query, view.instruction))
            positive.append(docs[texts[view.positives[0]]])
    inputs = [*anchors, *docs]
    lengths = [
        len(model.tokenizer.encode(text, truncation=True, max_length=MAX_TOKENS)) for text in inputs
    ]
    order = sorted(range(len(inputs)), key=lambda n: -lengths[n])
    parts: list[list[int]] = []
    for n in order:
        if parts and (len(parts[-1]) + 1) * lengths[parts[-1][0]] <= args.micro_tokens:
            parts[-1].append(n)
        else:
            parts.append([n])
    batches = [
        {
            k: v.to(DEVICE) if hasattr(v, "to") else v
            for k, v in model.preprocess([inputs[n] for n in part]).items()
        }
        for part in parts
    ]
    back = torch.tensor([n for part in parts for n in part]).argsort()
    target, adam = torch.tensor(positive, device=DEVICE), optimiser(model)

    def step() -> float:
        with autocast(args.precision):
            vectors = [model(dict(batch))["sentence_embedding"] for batch in batches]
        whole = F.normalize(torch.cat(vectors).float(), dim=1)[back]
        loss = F.cross_entropy(
            whole[: len(anchors)] @ whole[len(anchors) :].T / TEMPERATURE, target
        )
        loss.backward()
        adam.step()
        adam.zero_grad()
        return float(loss.detach())

    losses, seconds = timed(args.steps, step)
    return {"losses": losses, "seconds": seconds}


def run_obverse(topics: list[Any], args: argparse.Namespace, *, chunked: bool) -> dict[str, Any]:
    from obverse.training.run import prepare
    from obverse.training.settings import Settings
    from obverse.training.steps import make_trainer

    settings = Settings(
        epochs=args.steps + 1,
        batch_size=len(topics),
        learning_rate=1e-6,
        max_tokens=MAX_TOKENS,
        schedule="constant",
        warmup=0,
        negatives=1_000,
        chunked=chunked,
        micro_tokens=args.micro_tokens,
        precision=args.precision,
    )
    with tempfile.TemporaryDirectory() as folder:
        run = prepare(topics, settings, base=args.model, out=Path(folder), device=DEVICE)
        _no_dropout(run.learner)
        counted = _counted_as_exploded(run)
        trainer = make_trainer(run, save_every=10_000, tensorboard=False)
        trainer.train()
        rows = [json.loads(line) for line in (run.home / "training.jsonl").open()]
    ends = [row["seconds"] for row in rows]
    return {
        "losses": [row["loss"] for row in rows],
        "seconds": [after - before for before, after in pairwise(ends)],
        "loss_counted_as_exploded": counted,
    }


def _counted_as_exploded(run: Any) -> float:
    """The loss of the exploded rows, from obverse's vectors: each document as often as the views name it."""
    import torch

    step = run.collator([0])
    vectors = run.forward.frozen(step.texts).cpu()
    queries, docs = vectors[: len(step.rows)], vectors[len(step.rows) :]
    scores = queries @ docs.T / TEMPERATURE
    column = {uid: place for place, uid in enumerate(step.docs)}
    counts = torch.zeros(len(docs))
    for row in step.rows:
        for uid in row.labels:
            counts[column[uid]] += 1
    own = torch.tensor([column[next(iter(row.ids("positive")))] for row in step.rows])  # type: ignore[arg-type]
    each = (scores + counts.log()).logsumexp(1) - scores[torch.arange(len(own)), own]
    return float(each.mean())


def _no_dropout(model: Any) -> None:
    """The losses are compared, so chance stays out; its cost is the same for all."""
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0


def contend(name: str, negatives: int, args: argparse.Namespace) -> dict[str, Any]:
    """Runs one contender in this process."""
    import torch

    torch.set_num_threads(args.threads)
    topics = topics_of(args.topics, negatives)
    began = resource.getrusage(resource.RUSAGE_SELF)
    found = (
        run_st(topics, args, cached=name == "st-cached")
        if name.startswith("st")
        else run_bare(topics, args)
        if name == "bare"
        else run_obverse(topics, args, chunked=name.endswith("chunked"))
    )
    ended = resource.getrusage(resource.RUSAGE_SELF)
    seconds = sorted(found.pop("seconds"))
    typical = seconds[len(seconds) // 2]
    losses = found.pop("losses")
    return found | {
        "contender": name,
        "negatives": negatives,
        "views_per_second": round(2 * args.topics / typical, 3),
        "seconds_per_step": [round(s, 3) for s in seconds],
        "loss": round(losses[0], 6),
        "peak_rss_gb": round(ended.ru_maxrss / 2**20, 2),
        "peak_gpu_gb": round(torch.cuda.max_memory_allocated() / 2**30, 2)
        if DEVICE == "cuda"
        else None,
        "cpu_seconds": round(ended.ru_utime - began.ru_utime, 1),
    }


def ratios(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What is asked for: times the best of sentence-transformers, share of the bare loop, memory beside its best."""
    for negatives in dict.fromkeys(row["negatives"] for row in rows):
        here = {row["contender"]: row for row in rows if row["negatives"] == negatives}
        theirs = [here[n] for n in ("st", "st-cached") if n in here]
        for name in ("obverse", "obverse-chunked"):
            if name not in here:
                continue
            ours = here[name]["views_per_second"]
            line = {"negatives": negatives, "contender": name}
            if theirs:
                line["times_best_st"] = round(ours / max(r["views_per_second"] for r in theirs), 2)
                line["memory_beside_best_st"] = round(
                    here[name]["peak_rss_gb"] / min(r["peak_rss_gb"] for r in theirs), 2
                )
            if "bare" in here:
                line["share_of_bare"] = round(ours / here["bare"]["views_per_second"], 3)
            yield line


def main() -> None:
    """Runs every contender on every number of negatives and prints figures and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--topics", type=int, default=16, help="dual-view topics in a batch")
    parser.add_argument("--negatives", type=int, nargs="+", default=[7, 30])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--micro-tokens", type=int, default=1024)
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.contender:
        print(json.dumps(contend(args.contender, args.negatives[0], args)))
        return
    rows = []
    for negatives in args.negatives:
        for name in args.only:
            command = [sys.executable, __file__, *sys.argv[1:], "--contender", name]
            command += ["--negatives", str(negatives)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            rows.append(json.loads(done.stdout.splitlines()[-1]))
            print(
                f"{name}, {negatives} negatives: {rows[-1]['views_per_second']} views/s",
                file=sys.stderr,
            )
    found = {"settings": vars(args), "contenders": rows, "ratios": list(ratios(rows))}
    if args.json:
        print(json.dumps(found, indent=2))
        return
    for row in rows:
        print(
            f"{row['negatives']:3} negatives  {row['contender']:16} {row['views_per_second']:8.2f} views/s  "
            f"{row['peak_rss_gb']:5.2f} GB  loss {row['loss']:.6f}"
        )
    for line in found["ratios"]:
        print(line)


if __name__ == "__main__":
    main()
