"""Commands: measure, evaluate, compare, probe, gate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from obverse.cli import app


def _print_json(value: Any) -> None:
    from obverse.files import to_json

    sys.stdout.buffer.write(to_json(value, indent=True) + b"\n")
    sys.stdout.buffer.flush()


@app.command()
def measure(
    name: Annotated[
        str, typer.Argument(help="p_mrr, ndcg@10, robustness@10, wise, sicr, nevir, ...")
    ],
    run: Annotated[Path, typer.Option(help="A run: lines of query Q0 doc rank score tag.")],
    qrels: Annotated[Path | None, typer.Option(help="Judgements, TREC or BEIR.")] = None,
    run_changed: Annotated[
        Path | None, typer.Option(help="The run under the changed instruction.")
    ] = None,
    run_reversed: Annotated[
        Path | None, typer.Option(help="The run under the reversed instruction.")
    ] = None,
    qrels_changed: Annotated[
        Path | None, typer.Option(help="Judgements under the changed instruction.")
    ] = None,
    changed: Annotated[
        Path | None, typer.Option(help='Ruled-out documents: {"q1": ["d2"], ...}.')
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(
            help='Which queries belong together: {"group": ["q1", ...]} or {"q1": "group"}.'
        ),
    ] = None,
    group_by: Annotated[
        str | None, typer.Option(help="file, text, authors ([SEP]) or prefix (mteb).")
    ] = None,
    queries: Annotated[Path | None, typer.Option(help="queries.jsonl, to group by text.")] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="corpus.jsonl, to find judged documents that are not there.")
    ] = None,
    violations: Annotated[
        Path | None, typer.Option(help='Documents that break the instruction: {"q1": ["d2"], ...}.')
    ] = None,
    ties: Annotated[
        str | None, typer.Option(help="trec (document id) or insertion (order of the file).")
    ] = None,
    variant: Annotated[str, typer.Option(help="WISE and SICR of the code or the paper.")] = "code",
    missing: Annotated[
        str, typer.Option(help="count a judged query without results as 0, or drop it.")
    ] = "count",
    drop_same_ids: Annotated[
        bool, typer.Option(help="Take out documents with the query's own id (ArguAna, Quora).")
    ] = False,
    news: Annotated[bool, typer.Option(help="followir_score: nDCG@5, as for News21.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap interval.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score a run by one measure: value, interval, n, and the value of every query."""
    from obverse.measuring import Files, measure

    files = Files(
        run=run,
        qrels=qrels,
        run_changed=run_changed,
        run_reversed=run_reversed,
        qrels_changed=qrels_changed,
        changed=changed,
        groups=groups,
        group_by=group_by,
        queries=queries,
        corpus=corpus,
        violations=violations,
        ties=ties,  # type: ignore[arg-type]
        variant=variant,  # type: ignore[arg-type]
        missing=missing,  # type: ignore[arg-type]
        same_ids=not drop_same_ids,
        news=news,
        seed=seed,
    )
    _show_measured(measure(name, files), json=json)


def _show_measured(found: Any, *, json: bool) -> None:
    from obverse.log import say
    from obverse.provenance import versions

    for key, note in found.notes.items():
        if isinstance(note, list):
            shown = ", ".join(
                " ".join(map(str, n)) if isinstance(n, list) else str(n) for n in note[:10]
            )
            more = ", ..." if len(note) > 10 else ""
            say(f"{key.replace('_', ' ')} ({len(note)}): {shown}{more}")
    if json:
        row = {"measure": found.measure, **found.brief(), "per_topic": found.per_topic}
        row["left_out"] = sorted(found.left_out)
        _print_json({**row, **found.notes, "versions": versions()})
        return
    print(found)
    for key, note in found.notes.items():
        if not isinstance(note, list):
            print(f"  {key.replace('_', ' ')}: {note}")


@app.command()
def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            help="A model folder, a hub name, bm25, cross-encoder:NAME, onnx:FOLDER, or http://host/v1#MODEL."
        ),
    ],
    on: Annotated[
        list[str],
        typer.Option(
            help="A folder, NAME=PLACE or NAME:SUBSET=PLACE (followir:core17=DIR); repeatable."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write runs and scores into this folder.")
    ] = None,
    runs: Annotated[
        Path | None, typer.Option(help="Score the runs in this folder again; nothing is searched.")
    ] = None,
    scope: Annotated[str, typer.Option(help="Search views over the pool or the corpus.")] = "pool",
    guard: Annotated[
        str, typer.Option(help="Search the plain test queries over the corpus or the pool.")
    ] = "corpus",
    partial: Annotated[bool, typer.Option(help="Compute on half-present data.")] = False,
    joining: Annotated[
        str, typer.Option(help="Join query and instruction as the model, paper or mteb does.")
    ] = "model",
    template: Annotated[
        str | None, typer.Option(help="A query template by name; by default the model's own.")
    ] = None,
    force: Annotated[
        bool, typer.Option(help="Allow a template that the model was not trained with.")
    ] = False,
    show_input: Annotated[
        bool, typer.Option(help="Print one real input string per search, and stop.")
    ] = False,
    max_tokens: Annotated[int | None, typer.Option(help="Token limit of an input.")] = None,
    first_stage: Annotated[
        int, typer.Option(help="Cross-encoders: how many of BM25's best are reordered.")
    ] = 100,
    vectors: Annotated[
        Path | None, typer.Option(help="Keep document vectors in this folder; resumes there.")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Texts per forward pass.")] = 32,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; the best by default.")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap intervals.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure a model on a benchmark; runs are written with --out."""
    from obverse.benchmarks.named import load_benchmark
    from obverse.evaluate import evaluate, score_again, show_inputs
    from obverse.inputs import template_named
    from obverse.rankers import EncoderRanker, load_ranker

    loaded = [load_benchmark(each, scope=scope, guard=guard, partial=partial) for each in on]
    found = {}
    if runs is not None:
        for benchmark in loaded:
            home = runs / benchmark.name if len(loaded) > 1 else runs
            found[benchmark.name] = score_again(benchmark, home, seed=seed)
    else:
        ranker = load_ranker(
            model,
            template=template_named(template) if template else None,
            max_tokens=max_tokens,
            device=device,
            threads=threads,
            batch_size=batch_size,
            first_stage=first_stage,
        )
        if vectors is not None and isinstance(ranker, EncoderRanker):
            ranker.vectors.keep_in(vectors)
        if show_input:
            _print_json(
                {b.name: {"joining": joining, **show_inputs(ranker, b, joining)} for b in loaded}  # type: ignore[arg-type]
            )
            return
        for benchmark in loaded:
            home_out = out / benchmark.name if out is not None and len(loaded) > 1 else out
            found[benchmark.name] = evaluate(
                ranker,
                benchmark,
                out=home_out,
                joining=joining,  # type: ignore[arg-type]
                force=force,
                seed=seed,
            )
    _show_scores(found, json=json)


def _show_scores(found: dict[str, Any], *, json: bool) -> None:
    if json:
        rows = {name: scores.to_json(per_topic=True) for name, scores in found.items()}
        _print_json(next(iter(rows.values())) if len(rows) == 1 else rows)
        return
    for name, scores in found.items():
        print(f"{scores.model} on {name}")
        for key, measured in scores.measures.items():
            print(f"  {key:18} {str(measured).removeprefix(measured.measure).lstrip(': ')}")
            for note, items in measured.notes.items():
                if isinstance(items, list):
                    shown = ", ".join(map(str, items[:8])) + (", ..." if len(items) > 8 else "")
                    print(f"  {'':18} {note.replace('_', ' ')} ({len(items)}): {shown}")
        if scores.about.get("kind") == "constraints":
            for key, values in scores.per_topic.items():
                print(f"  {key} by query: " + ", ".join(f"{q} {v:.2f}" for q, v in values.items()))
        keys = (
            "scope",
            "guard",
            "candidates",
            "joining",
            "max_tokens",
            "template_digest",
            "ties",
        )
        for key, gone in _missing(scores.about).items():
            shown = ", ".join(" ".join(r) if isinstance(r, list) else str(r) for r in gone[:8])
            print(f"  {key}: {shown}" + (", ..." if len(gone) > 8 else ""))
        for key in keys:
            if key in scores.about:
                print(f"  {key:18} {scores.about[key]}")
        for search, example in scores.about.get("input_examples", {}).items():
            print(f"  {'input, ' + search:18} {example[:140]!r}")


def _missing(about: dict[str, Any]) -> dict[str, list[Any]]:
    """What the data lack and was computed on all the same, by phrase with its number."""
    found = {
        f"partial, {phrase} ({row['count']})": row["first"]
        for phrase, row in (about.get("partial") or {}).items()
    }
    for key in (
        "labels_of_missing_documents",
        "judged_queries_without_text",
        "judged_documents_not_in_corpus",
    ):
        if rows := about.get(key):
            found[f"{key.replace('_', ' ')} ({len(rows)})"] = rows
    return found


@app.command()
def compare(
    what: Annotated[
        list[str],
        typer.Argument(
            help="Result folders of evaluate --out, or models to be measured with --on; the first is held against."
        ),
    ],
    on: Annotated[list[str] | None, typer.Option(help="Benchmarks for models; repeatable.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write comparison.md, .html, .tex, .json here.")
    ] = None,
    show: Annotated[str, typer.Option(help="Print markdown, html, latex or json.")] = "markdown",
    max_tokens: Annotated[int | None, typer.Option(help="Token limit of an input.")] = None,
    scope: Annotated[str, typer.Option(help="Search views over the pool or the corpus.")] = "pool",
    guard: Annotated[
        str, typer.Option(help="Search plain queries over the corpus or the pool.")
    ] = "corpus",
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the resamplings.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="The same as --show json.")] = False,
) -> None:
    """Hold models against the first one: intervals, paired tests (Holm), wins and losses."""
    from obverse.compare import Result, compare, read_result, result_of
    from obverse.errors import SettingError
    from obverse.files import to_json, whole_file

    results: list[Result] = []
    models = []
    for name in what:
        home = Path(name)
        if (home / "scores.json").is_file() or (home.suffix == ".json" and home.is_file()):
            results.append(read_result(home))
        else:
            models.append(name)
    if models and not on:
        raise SettingError(
            f"{models[0]} is no result folder", fix="Say what to measure it on: --on BENCHMARK"
        )
    if models:
        from obverse.benchmarks.named import load_benchmark
        from obverse.evaluate import evaluate
        from obverse.rankers import load_ranker

        loaded = [load_benchmark(each, scope=scope, guard=guard) for each in on or ()]
        for model in models:
            ranker = load_ranker(model, max_tokens=max_tokens, threads=threads)
            for benchmark in loaded:
                home_out = out / f"{Path(model).name}-{benchmark.name}" if out else None
                results.append(result_of(evaluate(ranker, benchmark, out=home_out, seed=seed)))
    found = compare(results, seed=seed)
    from obverse.report.comparison import comparison_html, comparison_latex, comparison_markdown

    made = {
        "markdown": (comparison_markdown(found), "md"),
        "html": (comparison_html(found), "html"),
        "latex": (comparison_latex(found), "tex"),
        "json": (to_json(found.to_json(), indent=True).decode() + "\n", "json"),
    }
    kind = "json" if json else show
    if kind not in made:
        raise SettingError(f"--show is {show!r}", fix=f"Use {', '.join(made)}")
    if out is not None:
        for text, ending in made.values():
            with whole_file(out / f"comparison.{ending}") as stream:
                stream.write(text.encode("utf-8", "surrogatepass"))
    sys.stdout.write(made[kind][0])


@app.command()
def gate(
    result: Annotated[
        Path, typer.Argument(help="A result folder of evaluate --out, or its scores.json.")
    ],
    thresholds: Annotated[Path, typer.Option(help="Bounds by measure, TOML or JSON.")],
    baseline: Annotated[
        Path | None, typer.Option(help="The result that max_drop is measured from.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a result against thresholds: exit status 1 and one line per breach."""
    from obverse.compare import read_result
    from obverse.gate import breaches, read_thresholds

    lines = breaches(
        read_result(result),
        read_thresholds(thresholds),
        read_result(baseline) if baseline is not None else None,
    )
    if json:
        _print_json({"passed": not lines, "breaches": lines})
    else:
        for line in lines:
            print(line)
        print("passed" if not lines else f"{len(lines)} breached", file=sys.stderr)
    if lines:
        raise typer.Exit(1)


@app.command()
def probe(
    models: Annotated[
        list[str], typer.Argument(help="Models as for evaluate; bm25 is a good neighbour.")
    ],
    docs: Annotated[
        Path | None,
        typer.Option(
            help="Your corpus.jsonl (or its folder, or a .txt, one text a line); else the sample."
        ),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(help="Your queries.jsonl or a .txt; by default the documents' titles."),
    ] = None,
    on: Annotated[
        Path | None,
        typer.Option(
            help="A folder of instructed queries (queries, qrels.tsv, violations.json): shows every ranking."
        ),
    ] = None,
    take: Annotated[int, typer.Option(help="How many documents are looked at.")] = 150,
    take_queries: Annotated[int, typer.Option(help="How many queries are asked.")] = 20,
    out: Annotated[
        Path | None, typer.Option(help="With --on: write the page of all models here (HTML).")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Token limit of an input; 128 by default here.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads.")] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the choice of documents and of the intervals.")
    ] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show on one screen whether the top ten move, and the right way, when the instruction changes."""
    from obverse.rankers import load_ranker

    if on is not None:
        _probe_constraints(
            models, on, out=out, max_tokens=max_tokens, threads=threads, seed=seed, json=json
        )
        return
    from obverse.probe import probe, screen
    from obverse.probe_input import probe_input

    chosen, asked = probe_input(docs, queries, take=take, take_queries=take_queries, seed=seed)
    rows = {}
    for model in models:
        limit = max_tokens or (None if model == "bm25" else 128)
        ranker = load_ranker(model, max_tokens=limit, threads=threads)
        found = probe(ranker, chosen, asked, seed=seed)
        rows[ranker.name] = {"kinds": [each.to_json() for each in found], "about": ranker.note()}
        if not json:
            print(screen(f"{ranker.name}: {len(chosen)} documents, {len(asked)} queries", found))
    if json:
        about = {"documents": len(chosen), "queries": len(asked), "seed": seed}
        if len(rows) == 1:
            _print_json({"model": next(iter(rows)), **about, **next(iter(rows.values()))})
        else:
            _print_json({**about, "models": rows})


def _probe_constraints(
    models: list[str],
    on: Path,
    *,
    out: Path | None,
    max_tokens: int | None,
    threads: int | None,
    seed: int,
    json: bool,
) -> None:
    from obverse.benchmarks.constraints import constraints
    from obverse.evaluate import evaluate
    from obverse.files import whole_file
    from obverse.moves import ignored, lost_plain, moves_of, moves_text
    from obverse.rankers import load_ranker

    benchmark = constraints(on)
    scores, moves = {}, {}
    for model in models:
        ranker = load_ranker(
            model, max_tokens=max_tokens if model != "bm25" else None, threads=threads
        )
        scores[ranker.name] = evaluate(ranker, benchmark, seed=seed)
        moves[ranker.name] = moves_of(scores[ranker.name], benchmark, on)
    if out is not None:
        from obverse.report.moves_page import moves_page

        with whole_file(out) as stream:
            stream.write(moves_page(moves, scores).encode("utf-8", "surrogatepass"))
    if json:
        rows = {
            name: {
                **scores[name].to_json(per_topic=True),
                "ignores_the_instruction": ignored(scores[name]),
                "queries": [
                    {
                        "query_id": each.ask.query_id,
                        "query": each.ask.query,
                        "instruction": each.ask.instruction,
                        "violations": each.violations,
                        "violations_without_instruction": each.violations_before,
                        "same_order": each.same_order,
                        "ranking": [[r.doc_id, r.before, r.violates] for r in each.rows],
                    }
                    for each in moves[name]
                ],
            }
            for name in scores
        }
        _print_json(next(iter(rows.values())) if len(rows) == 1 else rows)
        return
    for name in scores:
        print(moves_text(name, moves[name], scores[name]) + "\n")
    for line in lost_plain(scores):
        print(line)
