"""Commands by which people judge the data: audit sample, label, report."""

from __future__ import annotations

from typing import Annotated

import typer

from obverse.cli import app

audit = typer.Typer(
    help="Let people judge a blind sample of views, and say what share is valid.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(audit, name="audit")

_Sample = Annotated[str, typer.Argument(help="The file that obverse audit sample wrote.")]


@audit.command("sample")
def sample_command(
    topics: Annotated[str, typer.Argument(help="A topics file.")],
    out: Annotated[str, typer.Option(help="Where the sample goes.")] = "audit.jsonl",
    size: Annotated[int, typer.Option(help="How many views.")] = 100,
    seed: Annotated[int, typer.Option(help="Draws depend on it.")] = 0,
    corpus: Annotated[
        str | None, typer.Option(help="Where the documents are, if the topics hold none.")
    ] = None,
) -> None:
    """Draw a frozen, blind sample of views, stratified by method and lever."""
    import orjson

    from obverse.audit.drawing import draw_sample, freeze_note, write_sample
    from obverse.files import made_file, read_topics
    from obverse.log import say
    from obverse.read.corpus import read_documents

    docs = read_documents(corpus) if corpus else None
    drawn = draw_sample(read_topics(topics), size, seed, corpus=docs)
    frozen = write_sample(drawn, out)
    note = orjson.loads(freeze_note(frozen, drawn))
    parameters = {"size": size, "seed": seed, "corpus": corpus}
    made_file(out, command="audit sample", inputs=[topics], parameters=parameters, **note)
    say(
        f"audit sample: {len(drawn)} views, sha256 {frozen[:12]}; to judge: {out} or {out}.sheet.csv"
    )
    say(f"audit sample: keep {out}.key.jsonl from those who judge")


@audit.command("label")
def label_command(
    sample: _Sample,
    who: Annotated[str, typer.Option(help="Who judges.")],
    labels: Annotated[
        str | None, typer.Option(help="Where judgements are appended. [<sample>.<who>.jsonl]")
    ] = None,
) -> None:
    """Judge a sample in the terminal, one key a judgement; stop with q and go on another time."""
    import sys

    from obverse.audit.dialogue import judge_in_terminal, key_reader
    from obverse.audit.drawing import read_sample

    path = labels or f"{sample}.{who}.jsonl"
    judge_in_terminal(read_sample(sample), path, who, key_reader(sys.stdin))


@audit.command("report")
def report_command(
    sample: _Sample,
    labels: Annotated[
        list[str], typer.Option(help="What people said, JSON Lines or CSV; repeatable.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    topics: Annotated[
        str | None, typer.Option(help="The audited topics, whose made-file gets the result.")
    ] = None,
) -> None:
    """Say what share of views is fully valid, by method and lever, with intervals and agreement."""
    from obverse.audit.reporting import report_on_files, report_text
    from obverse.files import to_json

    report = report_on_files(sample, labels, topics)
    print(to_json(report, indent=True).decode() if json else report_text(report))
