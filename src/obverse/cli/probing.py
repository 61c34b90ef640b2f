"""Command: probe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from obverse.cli import app
from obverse.cli.json_output import print_json

if TYPE_CHECKING:
    from obverse.rankers import Ranker


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
    if on is not None:
        _probe_constraints(
            models, on, out=out, max_tokens=max_tokens, threads=threads, seed=seed, json=json
        )
        return
    from obverse.probe import probe, screen
    from obverse.probe_input import probe_input
    from obverse.provenance import versions

    chosen, asked = probe_input(docs, queries, take=take, take_queries=take_queries, seed=seed)
    rows = {}
    for model in models:
        ranker = _ranker(model, max_tokens, threads)
        found = probe(ranker, chosen, asked, seed=seed)
        made = {**ranker.note(), "joining": "model", "ties": "trec", "versions": versions()}
        rows[ranker.name] = {"kinds": [each.to_json() for each in found], "about": made}
        if not json:
            print(screen(f"{ranker.name}: {len(chosen)} documents, {len(asked)} queries", found))
            print(_made(made))
    if json:
        about = {"documents": len(chosen), "queries": len(asked), "seed": seed}
        if len(rows) == 1:
            print_json({"model": next(iter(rows)), **about, **next(iter(rows.values()))})
        else:
            print_json({**about, "models": rows})


_QUICK = 128
"""Tokens that a probe lets a model read: it is to take less than a minute."""


def _ranker(model: str, max_tokens: int | None, threads: int | None) -> Ranker:
    from obverse.rankers import EncoderRanker, load_ranker

    ranker = load_ranker(model, max_tokens=max_tokens, threads=threads)
    if max_tokens is None and isinstance(ranker, EncoderRanker) and "://" not in model:
        ranker.encoder.max_tokens = min(_QUICK, ranker.encoder.max_tokens)
    return ranker


def _made(about: dict[str, Any]) -> str:
    """How the numbers of a screen were made, in one line."""
    limit, digest = about.get("max_tokens"), about.get("template_digest")
    named = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"joining {about['joining']}, ties {about['ties']}, "
        f"{f'template {digest}' if digest else 'no template'}, "
        f"{f'{limit} tokens' if limit else 'no token limit'}; {named}"
    )


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
        print_json(next(iter(rows.values())) if len(rows) == 1 else rows)
        return
    for name in scores:
        print(moves_text(name, moves[name], scores[name]) + "\n")
    for line in lost_plain(scores):
        print(line)
