"""Commands that make views with an LLM: synthesize, plan."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from obverse.cli import app
from obverse.cli.runs import show
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
RequestsPerMinute = Annotated[
    float | None, typer.Option(help="Requests in a minute, at most, over all endpoints.")
]
TokensPerMinute = Annotated[
    float | None,
    typer.Option(help="Tokens in a minute, read and written, at most, over all endpoints."),
]
ByHour = Annotated[
    str | None,
    typer.Option(help="Requests at once by day and hour, Mon-Fri 08-19=3,*=64; the first counts."),
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
    requests_per_minute: RequestsPerMinute = None,
    tokens_per_minute: TokensPerMinute = None,
    schedule: ByHour = None,
    threads: Threads = 1,
    prices: Prices = None,
    max_cost: Annotated[
        float | None,
        typer.Option(help="Ask for no more than this money buys, in the price's currency."),
    ] = None,
    max_reject_rate: Annotated[
        float, typer.Option(help="End where a larger share of topics comes to nothing.")
    ] = 0.95,
    target: Annotated[
        int | None, typer.Option(help="So many new views are enough: stop asking then.")
    ] = None,
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
    from obverse.synthesis.methods import needs_llm

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
        requests_per_minute=requests_per_minute,
        tokens_per_minute=tokens_per_minute,
        schedule=schedule,
        threads=threads,
        prices=prices,
        max_cost=max_cost,
        extra=_pairs(extra, "--extra"),
        needed=needs_llm(method),
    )
    status = synthesize_file(
        topics,
        out,
        method=method,
        llm=lane,
        run_dir=run or f"{out}.run",
        seed=seed,
        shard=_shard(shard),
        options=options,
        max_reject_rate=max_reject_rate,
        target=target,
    )
    if status:
        raise typer.Exit(status)


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
    show(row, plan_table, as_json)


def _write_prompts(topics: str, out: str, *, method: str, seed: int, options: Any) -> None:
    from obverse.files import read_topics, write_json_lines
    from obverse.log import say
    from obverse.synthesis.dry_run import first_prompts

    count = write_json_lines(
        out, first_prompts(read_topics(topics), method=method, seed=seed, options=options)
    )
    say(f"synthesize: {count:,} prompts written, none sent")


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
