"""Commands that bring data in, look at it, and mine it: read, check, mine, split, dedup, write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from obverse.cli import app

_Source = Annotated[str, typer.Argument(help="A file, a folder, or - for standard input.")]
_Out = Annotated[
    str,
    typer.Option(help="Where to write; .gz, .zst and .parquet by suffix, - is standard output."),
]
_Workers = Annotated[
    int | None,
    typer.Option(
        help="Processes that work ahead on a large JSON Lines file; 0 for none. [one a processor, up to 4]"
    ),
]
_Split = Annotated[str | None, typer.Option(help="BEIR: which qrels file. [train]")]
_Quoting = Annotated[str | None, typer.Option(help="CSV and TSV: csv, none or guess. [guess]")]
_Rule = Annotated[
    str | None,
    typer.Option(help="Click logs: examined, all or auto (examined where there are positions)."),
]
_MaxPosition = Annotated[
    int | None, typer.Option(help="Click logs: leave out impressions below this rank.")
]
_MinImpressions = Annotated[
    int | None, typer.Option(help="Click logs: how often a negative must have been shown. [1]")
]
_Merge = Annotated[
    str | None, typer.Option(help="Click logs: merge rows by query_id or by query. [query_id]")
]
_Corpus = Annotated[str | None, typer.Option(help="Tevatron: the documents that rows name by id.")]
_Map = Annotated[
    str, typer.Option("--map", help="The file's columns by name: query=q,clicked=pos.")
]

_OF_READER = (
    *("split", "rule", "max_position", "min_impressions", "merge", "quoting", "corpus"),
    *("run", "narratives", "workers"),
)


def _of_reader(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what was said of a command's parameters that a format's reader may take."""
    return {name: given[name] for name in _OF_READER if given.get(name) is not None}


@app.command("read")
def read_command(
    source: _Source,
    out: _Out = "-",
    format: Annotated[
        str | None, typer.Option(help="The source's format; guessed if left out.")
    ] = None,
    map: _Map = "",
    split: _Split = None,
    rule: _Rule = None,
    max_position: _MaxPosition = None,
    min_impressions: _MinImpressions = None,
    merge: _Merge = None,
    quoting: _Quoting = None,
    corpus: _Corpus = None,
    run: Annotated[
        str | None, typer.Option(help="TREC: a run whose best unjudged documents are negatives.")
    ] = None,
    narratives: Annotated[
        bool | None, typer.Option("--narratives", help="TREC: narratives are instructions.")
    ] = None,
    workers: _Workers = None,
) -> None:
    """Read any known format into topics."""
    given = _of_reader(locals())
    from obverse.cli.without_pandas import without_pandas
    from obverse.read.reading import read_file

    with without_pandas():
        read_file(source, out, format=format, map=map, **given)


@app.command("mine")
def mine_command(
    topics: Annotated[str, typer.Argument(help="A topics file.")],
    corpus: Annotated[
        str,
        typer.Option(
            help="What to mine from: a BEIR folder, a table of documents, a topics file. [the topics' own]"
        ),
    ] = "",
    out: _Out = "-",
    by: Annotated[str, typer.Option(help="bm25, dense or bm25+dense.")] = "bm25",
    take: Annotated[int, typer.Option(help="Negatives per topic.")] = 5,
    first_rank: Annotated[int, typer.Option(help="The best rank that is taken.")] = 1,
    last_rank: Annotated[int, typer.Option(help="The worst rank that is looked at.")] = 200,
    min_score: Annotated[float | None, typer.Option(help="The least score of a negative.")] = None,
    max_score: Annotated[
        float | None, typer.Option(help="The highest score of a negative.")
    ] = None,
    below_positive: Annotated[
        float | None,
        typer.Option(help="Stay below this share of the lowest positive's score, such as 0.95."),
    ] = None,
    pick: Annotated[
        str, typer.Option(help="best, or random: draw among all in the window.")
    ] = "best",
    language: Annotated[str, typer.Option(help="BM25: whose stemmer, or none.")] = "english",
    stopwords: Annotated[str, typer.Option(help="BM25: off or english.")] = "off",
    k1: Annotated[float, typer.Option(help="BM25: how soon repeated words stop counting.")] = 0.9,
    b: Annotated[float, typer.Option(help="BM25: how much long documents are held back.")] = 0.4,
    encoder: Annotated[
        str | None, typer.Option(help="Dense: a model folder or name. [all-MiniLM-L6-v2]")
    ] = None,
    memory_mb: Annotated[
        int, typer.Option(help="Dense: how much the search may hold at once, in MB.")
    ] = 1_000,
    index: Annotated[
        str,
        typer.Option(help="own; faiss (dense); tantivy (BM25, on disk); or tantivy+faiss."),
    ] = "own",
    cache: Annotated[
        str | None,
        typer.Option(help="Where indexes and vectors are kept between runs, by content."),
    ] = None,
    seed: Annotated[int, typer.Option(help="For --pick random.")] = 0,
) -> None:
    """Add hard negatives from a corpus."""
    from pathlib import Path

    from obverse.errors import SettingError
    from obverse.files import in_folder, read_topics
    from obverse.mine import mine
    from obverse.read.corpus import read_documents
    from obverse.stages import run_stage

    settings = {
        "by": by,
        "take": take,
        "first_rank": first_rank,
        "last_rank": last_rank,
        "min_score": min_score,
        "max_score": max_score,
        "below_positive": below_positive,
        "pick": pick,
        "language": language,
        "stopwords": stopwords,
        "k1": k1,
        "b": b,
        "encoder": encoder,
        "memory_mb": memory_mb,
        "index": index,
        "cache": cache,
        "seed": seed,
    }
    if topics != "-":  # rows that are no topics are named before the corpus is read
        next(iter(read_topics(topics)))
    elif not corpus:
        raise SettingError("topics from standard input need a corpus", fix="Name it with --corpus")
    docs = read_documents(corpus or topics)
    run_stage(
        "mine",
        lambda came, drops: mine(came, docs, drops=drops, **settings),  # type: ignore[arg-type]
        topics,
        out,
        others=[in_folder(corpus, "corpus.jsonl") if Path(corpus).is_dir() else corpus]
        if corpus
        else [],
        parameters={"corpus": corpus or topics, **settings},
    )


@app.command("check")
def check_command(
    source: _Source,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    fix: Annotated[
        str | None,
        typer.Option(
            help="Write a mended copy here and say what changed; the exit status is the copy's."
        ),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="The source's format; guessed if left out.")
    ] = None,
    map: _Map = "",
    split: _Split = None,
    rule: _Rule = None,
    max_position: _MaxPosition = None,
    min_impressions: _MinImpressions = None,
    merge: _Merge = None,
    quoting: _Quoting = None,
    corpus: _Corpus = None,
    min_candidates: Annotated[
        int, typer.Option(help="Report topics with fewer documents than this.")
    ] = 2,
    encoder: Annotated[
        str | None, typer.Option(help="Report documents longer than this encoder reads.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="The limit in tokens; by default the encoder's own.")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(help="A benchmark whose texts must not be in the data; may be repeated."),
    ] = None,
    apart_from: Annotated[
        list[str] | None,
        typer.Option(help="Another split, which must share no query and no positive document."),
    ] = None,
    fail_on: Annotated[
        str, typer.Option(help="The least severity that gives exit status 2: error, warning, note.")
    ] = "error",
    workers: _Workers = None,
) -> None:
    """Say what is wrong with data, by file and line; exit status 2 if there is an error."""
    given = _of_reader(locals())
    from obverse.check import as_bad_as, check, report, said_of_copy, to_json
    from obverse.check.mending import is_quoted, mend, refuse_unmendable
    from obverse.errors import SettingError
    from obverse.files import to_json as json_bytes
    from obverse.log import say
    from obverse.read.faults import Severity
    from obverse.read.rows import column_map

    if fail_on not in set(Severity):
        raise SettingError(f"--fail-on {fail_on!r}", fix=f"Use one of {', '.join(Severity)}")
    columns = column_map(map)
    if fix is not None:
        refuse_unmendable(source, fix, format=format, columns=columns)
    options = given | {
        "min_candidates": min_candidates,
        "encoder": encoder,
        "max_tokens": max_tokens,
        "against": against or (),
        "apart_from": apart_from or (),
    }
    findings = check(source, format, columns=columns, **options)
    if json:
        print(json_bytes(to_json(findings)).decode())
    else:
        print("\n".join(report(findings)))
    if fix is not None:
        mend(source, fix, format=format, columns=columns, quoting=quoting or "guess")
        if quoting == "csv" or is_quoted(fix):
            options.pop("quoting", None)  # what holds for the source may not for the copy
        findings = check(fix, format, **options)
        say(f"{fix}: {said_of_copy(findings, Severity(fail_on))}")
    if as_bad_as(findings, Severity(fail_on)):
        raise typer.Exit(2)


@app.command("write")
def write_command(
    topics: Annotated[str, typer.Argument(help="A topics file.")],
    out: Annotated[
        str, typer.Option(help="Where to write: a file, or a folder where the form has several.")
    ],
    format: Annotated[
        str,
        typer.Option(
            help="triplets, n-tuples, tevatron, tevatron-ids, promptriever, flag_embedding, swift, arctic, beir."
        ),
    ],
    template: Annotated[
        str, typer.Option(help="How query and instruction are joined: a template's name.")
    ] = "default",
    negatives: Annotated[
        int | None, typer.Option(help="n-tuples: how many negative columns. [5]")
    ] = None,
    split: Annotated[str | None, typer.Option(help="BEIR: the qrels file's name. [train]")] = None,
) -> None:
    """Write topics in the form of another trainer."""
    from pathlib import Path

    from obverse.files import read_topics
    from obverse.log import say
    from obverse.stages import refuse_own_input
    from obverse.write import FOLDERS, write

    for name in FOLDERS.get(format, ("",)):
        refuse_own_input(Path(out) / name, topics)
    given = {"negatives": negatives, "split": split}
    options = {name: value for name, value in given.items() if value is not None}
    count = write(out, read_topics(topics), format, template=template, **options)
    say(f"write: {count:,} rows as {format} to {out}")


@app.command("split")
def split_command(
    topics: Annotated[str, typer.Argument(help="A topics file.")],
    out: Annotated[str, typer.Option(help="The folder to write to, one file for each part.")],
    parts: Annotated[str, typer.Option(help="The parts and their shares.")] = (
        "train=0.8,dev=0.1,test=0.1"
    ),
    by: Annotated[str, typer.Option(help="topic, documents or time.")] = "topic",
    seed: Annotated[int, typer.Option(help="Decides which topics go where.")] = 0,
) -> None:
    """Split topics into parts that share no query (and, by documents, no positive)."""
    from pathlib import Path

    from obverse.files import made_file, read_topics, write_topics
    from obverse.log import say
    from obverse.split import earlier_parts, shares_from, split
    from obverse.stages import refuse_own_input

    shares = shares_from(parts)
    for name in shares:
        refuse_own_input(Path(out) / f"{name}.jsonl", topics)
    made = split(list(read_topics(topics)), shares, by=by, seed=seed)
    if earlier := earlier_parts(out, shares):
        made.notes.append(
            f"{out} still holds {', '.join(earlier)} of an earlier split, which may share topics with these"
        )
    for name, part in made.parts.items():
        path = Path(out) / f"{name}.jsonl"
        write_topics(path, part)
        made_file(
            path,
            command="split",
            inputs=[topics],
            parameters={"parts": parts, "by": by, "seed": seed},
            left=f"{len(part):,} topics",
        )
    for line in made.notes:
        say(line)


@app.command("dedup")
def dedup_command(
    topics: Annotated[str, typer.Argument(help="A topics file.")],
    out: _Out = "-",
    near: Annotated[
        float | None,
        typer.Option(help="Also drop negatives sharing this part of their words with a positive."),
    ] = None,
) -> None:
    """Merge topics of one query and documents of one text."""
    from obverse.dedup import dedup
    from obverse.stages import run_stage

    run_stage(
        "dedup",
        lambda came, drops: dedup(came, near=near, drops=drops),
        topics,
        out,
        parameters={"near": near},
    )
