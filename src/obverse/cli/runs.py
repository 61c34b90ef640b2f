"""Commands about runs of synthesis: what they did and cost, their batches, their output made anew; a fake LLM."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from obverse.cli import app
from obverse.errors import SettingError

KeyVariable = Annotated[
    str, typer.Option(help="The environment variable that holds the server's key.")
]
RunFolder = Annotated[str, typer.Argument(help="The run's folder.")]


@app.command("batch-import")
def batch_import(
    results: Annotated[list[str], typer.Argument(help="Result and error files of batches.")],
    run: Annotated[str, typer.Option(help="The run that wrote the request files.")],
) -> None:
    """Read results of batch files into a run's journal, in whatever state they come back."""
    from obverse.llm.batch_import import import_results
    from obverse.log import say

    say(f"batch-import: {import_results(results, run)}")


@app.command("batch-submit")
def batch_submit(
    run: RunFolder,
    endpoint: Annotated[
        str, typer.Option(help="Base URL of a server with /files and /batches, https://host/v1.")
    ],
    api_key_env: KeyVariable = "OPENAI_API_KEY",
) -> None:
    """Hand in a run's request files; what was handed in already is not handed in again."""
    import asyncio

    from obverse.llm.batch_service import BatchService, submit_files
    from obverse.log import say

    batches = asyncio.run(submit_files(run, BatchService(endpoint, api_key_env)))
    for batch in batches:
        print(batch.batch_id)
    say(f"batch-submit: {len(batches):,} batches handed in; their state: obverse batch-poll {run}")


@app.command("batch-poll")
def batch_poll(
    run: RunFolder,
    wait: Annotated[bool, typer.Option("--wait", help="Ask again until all are over.")] = False,
    every: Annotated[float, typer.Option(help="With --wait: seconds between two looks.")] = 60.0,
    api_key_env: KeyVariable = "OPENAI_API_KEY",
) -> None:
    """Ask how far a run's batches are, and import what has come back; exit status 75 while some are running."""
    import asyncio
    import time

    from obverse.llm.batch_service import poll
    from obverse.log import say

    while True:
        found = asyncio.run(poll(run, api_key_env))
        for batch_id, told in found.statuses.items():
            say(f"batch-poll: {batch_id}: {told}")
        for problem in found.problems:
            say(f"batch-poll: {problem}")
        say(f"batch-poll: {found.imported}")
        if found.again:
            say(
                f"batch-poll: {found.again:,} requests ended without reply; run the same command to write them anew"
            )
        if not found.running:
            return
        if not wait:
            raise typer.Exit(75)
        time.sleep(every)


@app.command("status")
def status_command(
    run: RunFolder,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")] = False,
) -> None:
    """Say how far a run is."""
    from obverse.synthesis.reading import read_about, status_table

    show(read_about(run, "status.json"), status_table, as_json)


@app.command("costs")
def costs_command(
    run: RunFolder,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")] = False,
) -> None:
    """Say what a run cost: by stage, per accepted view, and what came to nothing."""
    from obverse.synthesis.reading import costs_table, read_about

    show(read_about(run, "costs.json"), costs_table, as_json)


@app.command("rejects")
def rejects_command(
    run: RunFolder,
    code: Annotated[str | None, typer.Option(help="Only those with this code.")] = None,
    first: Annotated[int, typer.Option(help="So many at most.")] = 20,
) -> None:
    """Write unusable replies as JSON Lines: code, raw text, tokens."""
    from obverse.files import write_json_lines
    from obverse.synthesis.reading import rejects

    write_json_lines("-", rejects(run, code=code, first=first))


@app.command("fake-llm")
def fake_llm(
    port: Annotated[int, typer.Option(help="The port on 127.0.0.1; 0 takes a free one.")] = 0,
    seconds: Annotated[float, typer.Option(help="How long a reply takes.")] = 0.05,
    cap: Annotated[int | None, typer.Option(help="Requests at once; more get a 429.")] = None,
    slots: Annotated[int | None, typer.Option(help="Requests worked on; more must wait.")] = None,
    faults: Annotated[float, typer.Option(help="The share of replies with a fault.")] = 0.0,
    kinds: Annotated[
        str | None, typer.Option(help="Which faults, by commas; by default all.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws depend on it and the request.")] = 0,
) -> None:
    """Serve a fake LLM for dry runs: right in form, empty in meaning, and as faulty as you like."""
    from obverse.llm.fake_endpoint import FAULTS, FakeEndpoint, serve_forever

    chosen = tuple(kinds.split(",")) if kinds else FAULTS
    if unknown := set(chosen) - set(FAULTS):
        raise SettingError(f"unknown fault {min(unknown)!r}", fix=f"Use {', '.join(FAULTS)}")
    fake = FakeEndpoint(
        seconds=seconds, cap=cap, slots=slots, faults=faults, kinds=chosen, seed=seed
    )
    serve_forever(fake, port)


@app.command("rebuild")
def rebuild_command(
    run: RunFolder,
    out: Annotated[str, typer.Option(help="Where the topics with their new views go.")],
    topics: Annotated[
        str | None, typer.Option(help="The topics, where they are not in their old place.")
    ] = None,
) -> None:
    """Make a run's output again from its journal alone: no server, no key, no network, the same bytes."""
    from obverse.synthesis.rebuilding import rebuild

    if status := rebuild(run, out, topics=topics):
        raise typer.Exit(status)


def show(row: Any, table: Any, as_json: bool) -> None:
    """Prints a row, as JSON or as a table for people."""
    from obverse.files import to_json

    print(to_json(row, indent=True).decode() if as_json else table(row))
