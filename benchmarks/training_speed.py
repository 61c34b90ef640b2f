"""Training speed beside sentence-transformers, in one run on one machine: views per second and peak memory.

    python benchmarks/training_speed.py --json

The same encoder, topics, batch and temperature for all. Every contender is a process of its own:

- ``st``, ``st-cached``: sentence-transformers' MultipleNegativesRankingLoss and its cached version on exploded rows
  (each view a row with its own copy of the documents), in a bare loop without its trainer's extra work;
- ``bare``: the arithmetic of obverse written as a plain torch loop: documents shared by the views of a batch, sorted
  by length, tokenised beforehand;
- ``obverse``, ``obverse-chunked``: what ``obverse train`` runs, its trainer included, and the same with ``--chunked``
  and ``--keep-tokens``.

A contender's speed is the median over steps, and over ``--repeats`` processes, which take turns; the lowest and highest
step stand beside it. On a machine that others use as well, look at ``views_per_cpu_second`` with ``--threads 1``:
processor time does not count while another process has the core. A contender whose process dies, most likely for lack
of memory, is named, and the others go on.

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
from statistics import median
from typing import Any

Step = tuple[float, float, float]
"""Loss, seconds and processor seconds of a step."""

CONTENDERS = ("st", "st-cached", "bare", "obverse", "obverse-chunked")
TEMPERATURE, MAX_TOKENS = 0.02, 128
DOCUMENTS = 128
"""Documents in a step, unless the number of topics is given."""


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


def timed(steps: int, step: Any) -> list[Step]:
    """Runs a warm-up step and ``steps`` more; returns all of them."""
    found = []
    for _ in range(steps + 1):
        began, cpu = time.perf_counter(), time.process_time()
        loss = step()
        found.append((loss, time.perf_counter() - began, time.process_time() - cpu))
    return found


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
    _no_dropout(model, args)
    loss_of = (
        CachedMultipleNegativesRankingLoss(
            model, scale=1 / TEMPERATURE, mini_batch_size=args.st_mini_batch
        )
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

    return {"steps": timed(args.steps, step)}


def run_bare(topics: list[Any], args: argparse.Namespace) -> dict[str, Any]:
    import torch
    import torch.nn.functional as F

    from obverse.inputs import Template

    model, build = model_of(args.model), Template()
    model.train()
    _no_dropout(model, args)
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
        if parts and (len(parts[-1]) + 1) * lengths[parts[-1][0]] <= (args.micro_tokens or 1024):
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

    return {"steps": timed(args.steps, step)}


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
        keep_tokens=args.keep_tokens if chunked else 0,
        micro_tokens=args.micro_tokens,
        precision=args.precision,
    )
    ends: list[Step] = []
    with tempfile.TemporaryDirectory() as folder:
        run = prepare(topics, settings, base=args.model, out=Path(folder), device=DEVICE)
        _no_dropout(run.learner, args)
        counted = _counted_as_exploded(run)
        trainer = make_trainer(run, save_every=10_000, tensorboard=False)
        write = trainer.log_file.add

        def add(step: int, logs: dict[str, float], seen: Any) -> None:
            write(step, logs, seen)
            ends.append((logs["loss"], time.perf_counter(), time.process_time()))

        trainer.log_file.add = add
        trainer.train()
    # A step lasts from the end of the one before to its own, all that the trainer does in between included.
    first = (ends[0][0], 0.0, 0.0)
    later = [(b[0], b[1] - a[1], b[2] - a[2]) for a, b in pairwise(ends)]
    return {"steps": [first, *later], "loss_counted_as_exploded": counted}


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


def _no_dropout(model: Any, args: argparse.Namespace) -> None:
    """The losses are compared, so chance stays out, unless ``--dropout`` asks for it."""
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.Dropout) and not args.dropout:
            module.p = 0.0


def contend(name: str, negatives: int, args: argparse.Namespace) -> dict[str, Any]:
    """Runs one contender in this process."""
    import torch

    torch.set_num_threads(args.threads)
    topics = topics_of(args.topics or DOCUMENTS // (1 + negatives), negatives)
    found = (
        run_st(topics, args, cached=name == "st-cached")
        if name.startswith("st")
        else run_bare(topics, args)
        if name == "bare"
        else run_obverse(topics, args, chunked=name.endswith("chunked"))
    )
    steps: list[Step] = found.pop("steps")
    counted = found.get("loss_counted_as_exploded")
    return {
        "contender": name,
        "negatives": negatives,
        "topics": len(topics),
        "seconds_per_step": [round(wall, 3) for _, wall, _ in steps[1:]],
        "cpu_seconds_per_step": [round(cpu, 3) for _, _, cpu in steps[1:]],
        "loss": round(steps[0][0], 6),
        "loss_counted_as_exploded": None if counted is None else round(counted, 6),
        "peak_rss_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "peak_gpu_gb": round(torch.cuda.max_memory_allocated() / 2**30, 2)
        if DEVICE == "cuda"
        else None,
    }


def together(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns a contender's figures over its repeats."""
    topics = runs[0]["topics"]
    walls = [second for run in runs for second in run["seconds_per_step"]]
    cpus = [second for run in runs for second in run["cpu_seconds_per_step"]]
    return runs[0] | {
        "views_per_second": round(2 * topics / median(walls), 3),
        "slowest_and_fastest": [
            round(2 * topics / max(walls), 3),
            round(2 * topics / min(walls), 3),
        ],
        "views_per_cpu_second": round(2 * topics / median(cpus), 3),
        "seconds_per_step": walls,
        "cpu_seconds_per_step": cpus,
        "peak_rss_gb": max(run["peak_rss_gb"] for run in runs),
    }


def ratios(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What is asked for: times the better of sentence-transformers, its memory, and the share of the bare loop."""
    for negatives in dict.fromkeys(row["negatives"] for row in rows):
        here = {row["contender"]: row for row in rows if row["negatives"] == negatives}
        theirs = [here[n] for n in ("st", "st-cached") if n in here]
        for name in ("obverse", "obverse-chunked"):
            if name not in here:
                continue
            ours = here[name]
            line = {"negatives": negatives, "contender": name}
            if theirs:
                best = max(theirs, key=lambda row: row["views_per_second"])
                line["best_st"] = best["contender"]
                line["times_best_st"] = _share(ours, best, "views_per_second")
                line["times_best_st_by_cpu_time"] = round(
                    ours["views_per_cpu_second"] / max(r["views_per_cpu_second"] for r in theirs), 3
                )
                line["memory_beside_best_st"] = _share(ours, best, "peak_rss_gb")
                line["memory_beside_leanest_st"] = round(
                    ours["peak_rss_gb"] / min(row["peak_rss_gb"] for row in theirs), 3
                )
            if "bare" in here:
                line["share_of_bare"] = _share(ours, here["bare"], "views_per_second")
                line["share_of_bare_by_cpu_time"] = _share(
                    ours, here["bare"], "views_per_cpu_second"
                )
            yield line


def _share(ours: dict[str, Any], theirs: dict[str, Any], key: str) -> float:
    return round(float(ours[key]) / float(theirs[key]), 3)


def main() -> None:
    """Runs every contender on every number of negatives and prints figures and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--topics", type=int, help="dual-view topics in a batch [128 documents: 16, or 4]"
    )
    parser.add_argument("--negatives", type=int, nargs="+", default=[7, 30])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--micro-tokens", type=int, help="[1024; obverse-chunked 512]")
    parser.add_argument("--keep-tokens", type=int, default=0, help="for obverse-chunked")
    parser.add_argument("--st-mini-batch", type=int, default=32, help="texts, for st-cached")
    parser.add_argument("--dropout", action="store_true", help="the model's own dropout is on")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.contender:
        print(json.dumps(contend(args.contender, args.negatives[0], args)))
        return
    rows, died = [], []
    for negatives in args.negatives:
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in args.only}
        for _ in range(args.repeats):
            for name in args.only:
                command = [sys.executable, __file__, *sys.argv[1:], "--contender", name]
                command += ["--negatives", str(negatives)]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
                if done.returncode:
                    print(
                        f"{name}, {negatives} negatives: died ({done.returncode})", file=sys.stderr
                    )
                    continue
                runs[name].append(json.loads(done.stdout.splitlines()[-1]))
                seconds = runs[name][-1]["seconds_per_step"]
                print(f"{name}, {negatives} negatives: {seconds} s a step", file=sys.stderr)
        rows += [together(found) for found in runs.values() if found]
        died += [{"contender": n, "negatives": negatives} for n, found in runs.items() if not found]
    found = {
        "settings": vars(args),
        "contenders": rows,
        "died": died,
        "ratios": list(ratios(rows)),
    }
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
