"""Command: measure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from obverse.cli import app
from obverse.cli.json_output import print_json


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
    topics: Annotated[
        Path | None, typer.Option(help="topics.jsonl, for flip_rate and symmetric_p_mrr.")
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
        topics=topics,
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
        print_json({**row, **found.notes, "versions": versions()})
        return
    print(found)
    for key, note in found.notes.items():
        if isinstance(note, dict):
            note = ", ".join(f"{name} {value}" for name, value in note.items())
        if not isinstance(note, list):
            print(f"  {key.replace('_', ' ')}: {note}")
