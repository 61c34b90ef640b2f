"""Commands: synthesis."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from obverse.cli import app
from obverse.errors import SettingError

Topics = Annotated[str, typer.Argument(help="Topics: JSON Lines or Parquet; - is stdin.")]
Method = Annotated[str, typer.Option(help="A method's name, or package.module:function.")]
Replies = Annotated[
    str | None, typer.Option(help="Recorded replies instead of an LLM (JSON Lines).")
]
Endpoint = Annotated[
    list[str] | None,
    typer.Option(help="Base URL of an OpenAI-compatible server, http://host:8000/v1; repeatable."),
]
Model = Annotated[str | None, typer.Option(help="The model's name at the endpoint.")]
Local = Annotated[
    str | None, typer.Option(help="A GGUF file to run here, or smollm2 to try that lane.")
]
Batch = Annotated[
    str | None, typer.Option(help="openai or vllm: write request files, send nothing.")
]
Again = Annotated[
    bool, typer.Option("--again", help="Batch: write requests again that are out already.")
]
AnswerForm = Annotated[
    str | None,
    typer.Option(
        help="How answers are asked for: json_schema, vllm, json_object, tags; by default a canary finds out."
    ),
]
KeyVariable = Annotated[
    str, typer.Option(help="The environment variable that holds the endpoint's key.")
]
MaxConcurrency = Annotated[int, typer.Option(help="Requests at once per endpoint, at most.")]
Timeout = Annotated[
    float | None,
    typer.Option(help="Seconds from sending to reply; by default by the reply's length."),
]
MaxStall = Annotated[
    float, typer.Option(help="Without a reply for so many seconds: end with exit status 75.")
]
Threads = Annotated[int, typer.Option(help="Threads of a local model.")]
Prices = Annotated[str | None, typer.Option(help="Prices by model, TOML.")]
Extra = Annotated[
    list[str] | None,
    typer.Option(help="A further field of each request, as key=value; repeatable."),
]
Run = Annotated[
    str | None, typer.Option(help="The run's folder with its journal; by default <out>.run.")
]
RunFolder = Annotated[str, typer.Argument(help="The run's folder.")]
Seed = Annotated[int, typer.Option(help="Draws depend on it, the method and the topic.")]
MethodOptions = Annotated[
    list[str] | None, typer.Option(help="A parameter of the method, as key=value; repeatable.")
]


@app.command()
def synthesize(
    topics: Topics,
    method: Method,
    out: Annotated[str, typer.Option(help="Where the topics with their new views go.")],
    replies: Replies = None,
    endpoint: Endpoint = None,
    model: Model = None,
    local: Local = None,
    batch: Batch = None,
    again: Again = False,
    run: Run = None,
    seed: Seed = 0,
    shard: Annotated[
        str | None, typer.Option(help="i/n: only part i of n of the topics, from 0.")
    ] = None,
    option: MethodOptions = None,
    form: AnswerForm = None,
    api_key_env: KeyVariable = "OPENAI_API_KEY",
    max_concurrency: MaxConcurrency = 512,
    timeout: Timeout = None,
    max_stall: MaxStall = 600.0,
    threads: Threads = 1,
    prices: Prices = None,
    max_cost: Annotated[
        float | None,
        typer.Option(help="Ask for no more than this money buys, in the price's currency."),
    ] = None,
    max_reject_rate: Annotated[
        float, typer.Option(help="End where a larger share of topics comes to nothing.")
    ] = 0.95,
    extra: Extra = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write the first prompts as JSON Lines and send none.")
    ] = False,
) -> None:
    """Add views to topics with an LLM. Run it again to go on: nothing is lost, nothing is paid twice."""
    options = _pairs(option, "--option")
    if dry_run:
        _write_prompts(topics, out, method=method, seed=seed, options=options)
        return
    from obverse.llm.choosing import lane_named
    from obverse.synthesis.files import synthesize_file

    if out == "-" and run is None:
        raise SettingError(
            "the output has no name to derive the run's folder from", fix="Give --run"
        )
    lane = lane_named(
        replies=replies,
        endpoint=endpoint or [],
        model=model,
        local=local,
        batch=batch,
        again=again,
        form=form,
        api_key_env=api_key_env,
        max_concurrency=max_concurrency,
        timeout=timeout,
        max_stall=max_stall,
        threads=threads,
        prices=prices,
        max_cost=max_cost,
        extra=_pairs(extra, "--extra"),
    )
    whole = synthesize_file(
        topics,
        out,
        method=method,
        llm=lane,
        run_dir=run or f"{out}.run",
        seed=seed,
        shard=_shard(shard),
        options=options,
        max_reject_rate=max_reject_rate,
    )
    if not whole:
        raise typer.Exit(3)


@app.command("plan")
def plan_command(
    topics: Topics,
    method: Method,
    run: Annotated[
        str, typer.Option(help="The run's folder, of the pilot and of the run to come.")
    ],
    pilot: Annotated[
        int, typer.Option(help="Ask so many topics now; their replies are the run's first.")
    ] = 0,
    endpoint: Endpoint = None,
    model: Model = None,
    replies: Replies = None,
    local: Local = None,
    form: AnswerForm = None,
    api_key_env: KeyVariable = "OPENAI_API_KEY",
    threads: Threads = 1,
    prices: Prices = None,
    max_cost: Annotated[
        float | None, typer.Option(help="The most that the pilot may cost.")
    ] = None,
    at_once: Annotated[int, typer.Option(help="Requests at once, for the hours.")] = 64,
    seed: Seed = 0,
    option: MethodOptions = None,
    extra: Extra = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")] = False,
) -> None:
    """Say what a run will ask, cost and take, before it is paid for; go by a pilot of some 50 topics."""
    from obverse.llm.choosing import lane_named
    from obverse.synthesis.planning import plan_file, plan_table

    lane = None
    if pilot:
        lane = lane_named(
            replies=replies,
            endpoint=endpoint or [],
            model=model,
            local=local,
            form=form,
            api_key_env=api_key_env,
            threads=threads,
            prices=prices,
            max_cost=max_cost,
            extra=_pairs(extra, "--extra"),
        )
    row = plan_file(
        topics,
        run,
        method=method,
        llm=lane,
        pilot=pilot,
        model=model,
        prices=prices,
        at_once=at_once,
        seed=seed,
        options=_pairs(option, "--option"),
    )
    _print(row, plan_table, as_json)


@app.command("batch-import")
def batch_import(
    results: Annotated[list[str], typer.Argument(help="Result and error files of batches.")],
    run: Annotated[str, typer.Option(help="The run that wrote the request files.")],
) -> None:
    """Read results of batch files into a run's journal, in whatever state they come back."""
    from obverse.llm.batch_import import import_results
    from obverse.log import say

    say(f"batch-import: {import_results(results, run)}")


@app.command("status")
def status_command(
    run: RunFolder,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")] = False,
) -> None:
    """Say how far a run is."""
    from obverse.synthesis.reading import read_about, status_table

    _print(read_about(run, "status.json"), status_table, as_json)


@app.command("costs")
def costs_command(
    run: RunFolder,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")] = False,
) -> None:
    """Say what a run cost: by stage, per accepted view, and what came to nothing."""
    from obverse.synthesis.reading import costs_table, read_about

    _print(read_about(run, "costs.json"), costs_table, as_json)


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


def _write_prompts(topics: str, out: str, *, method: str, seed: int, options: Any) -> None:
    from obverse.files import read_topics, write_json_lines
    from obverse.log import say
    from obverse.synthesis.dry_run import first_prompts

    count = write_json_lines(
        out, first_prompts(read_topics(topics), method=method, seed=seed, options=options)
    )
    say(f"synthesize: {count:,} prompts written, none sent")


def _print(row: Any, table: Any, as_json: bool) -> None:
    from obverse.files import to_json

    print(to_json(row, indent=True).decode() if as_json else table(row))


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    part, slash, parts = text.partition("/")
    if not slash or not part.isdigit() or not parts.isdigit():
        raise SettingError(f"--shard {text} is not of the form i/n", fix="Write 0/4, 1/4, ...")
    return int(part), int(parts)


def _pairs(pairs: list[str] | None, flag: str) -> dict[str, Any]:
    """Values are read as JSON where they are JSON, else as text."""
    import orjson

    found: dict[str, Any] = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise SettingError(f"{flag} {pair} is not of the form key=value", fix="Write key=value")
        try:
            found[key] = orjson.loads(value)
        except orjson.JSONDecodeError:
            found[key] = value
    return found
