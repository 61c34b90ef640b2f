"""Commands that give topics without any LLM: sample (the packaged ones) and checkable (out of a corpus)."""

from __future__ import annotations

from typing import Annotated

import typer

from obverse.cli import app


@app.command("checkable")
def checkable_command(
    source: Annotated[
        str, typer.Argument(help="A BEIR folder or a table of documents; or topics, see --add.")
    ],
    out: Annotated[str, typer.Option(help="Where the topics go; - is standard output.")] = "-",
    size: Annotated[int, typer.Option(help="How many topics at most.")] = 5_000,
    seed: Annotated[int, typer.Option(help="Draws depend on it.")] = 0,
    take: Annotated[int, typer.Option(help="Candidates per topic.")] = 6,
    add: Annotated[
        bool, typer.Option("--add", help="The source is a topics file: add views to its topics.")
    ] = False,
    pairs: Annotated[int, typer.Option(help="With --add: pairs of views per topic.")] = 1,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Topics whose positives stay out, such as held-out ones; repeatable."),
    ] = None,
) -> None:
    """Make topics with two checkable views each out of a corpus alone: labels that a program proves, no LLM."""
    if add:
        from obverse.stages import run_stage
        from obverse.synthesis.checkable import checkable_views

        parameters = {"seed": seed, "pairs": pairs}
        run_stage("checkable", checkable_views(seed, pairs), source, out, parameters=parameters)
        return
    from obverse.files import read_topics, write_topics
    from obverse.read.corpus import read_documents
    from obverse.stages import Counts, Drops, finish_stage, refuse_own_input
    from obverse.synthesis.checkable_topics import checkable_topics

    refuse_own_input(out, source)
    docs = read_documents(source)
    held_out = {
        doc_id
        for path in exclude or []
        for topic in read_topics(path)
        for view in topic.views
        for doc_id in view.positives
    }
    drops, left = Drops(), Counts()
    topics = checkable_topics(docs, size, seed, take=take, exclude=held_out, drops=drops)
    write_topics(out, left.watch(topics))
    finish_stage(
        "checkable",
        out,
        f"{len(docs):,} documents",
        left,
        drops,
        inputs=[source, *(exclude or [])],
        parameters={"size": size, "seed": seed, "take": take, "excluded": len(held_out)},
    )


@app.command("sample")
def sample_command(
    folder: Annotated[str, typer.Argument(help="Where to write; the folder is made.")],
) -> None:
    """Write the packaged sample: SciFact as a BEIR folder, held-out topics, training topics, recorded replies."""
    import shutil
    from pathlib import Path

    from obverse.files import write_topics
    from obverse.log import say
    from obverse.sample import sample_candidates, sample_folder

    home, target = sample_folder(), Path(folder)
    names = ("corpus.jsonl.gz", "queries.jsonl.gz", "topics.jsonl.gz", "replies.jsonl.gz")
    for name in (*names, "qrels/train.tsv", "qrels/test.tsv", "ATTRIBUTION.md"):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(home / name, target / name)
    count = write_topics(target / "train.jsonl.gz", sample_candidates())
    say(
        f"sample: {count} training topics in {target / 'train.jsonl.gz'}; held-out topics, BEIR files, replies beside"
    )
