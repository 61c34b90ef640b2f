"""Commands: synthesis."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from obverse.cli import app
from obverse.errors import SettingError


@app.command()
def synthesize(
    topics: Annotated[str, typer.Argument(help="Topics: JSON Lines or Parquet; - is stdin.")],
    method: Annotated[str, typer.Option(help="A method's name, or package.module:function.")],
    out: Annotated[str, typer.Option(help="Where the topics with their new views go.")],
    replies: Annotated[
        str | None, typer.Option(help="Recorded replies instead of an LLM (JSON Lines).")
    ] = None,
    run: Annotated[
        str | None, typer.Option(help="The run's folder with its journal; by default <out>.run.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws depend on it, the method and the topic.")] = 0,
    shard: Annotated[
        str | None, typer.Option(help="i/n: only part i of n of the topics, from 0.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="A parameter of the method, as key=value; repeatable.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write the first prompts as JSON Lines and send none.")
    ] = False,
) -> None:
    """Add views to topics with an LLM. Run it again to go on: nothing is lost, nothing is paid twice."""
    from obverse.stages import run_stage
    from obverse.synthesis import engine

    options = _options(option)
    if dry_run:
        _write_prompts(topics, out, method=method, seed=seed, options=options)
        return
    lane = _lane(replies)
    part = _shard(shard)
    run_stage(
        "synthesize",
        lambda came, drops: engine.synthesize(
            came,
            drops,
            method=method,
            llm=lane,
            run_dir=run or f"{out}.run",
            seed=seed,
            shard=part,
            options=options,
        ),
        topics,
        out,
        parameters={
            "method": method,
            "model": lane.model,
            "lane": lane.name,
            "seed": seed,
            "shard": shard,
            "options": options,
        },
    )


def _write_prompts(topics: str, out: str, *, method: str, seed: int, options: Any) -> None:
    from obverse.files import read_topics, write_json_lines
    from obverse.log import say
    from obverse.synthesis.dry_run import first_prompts

    count = write_json_lines(
        out, first_prompts(read_topics(topics), method=method, seed=seed, options=options)
    )
    say(f"synthesize: {count:,} prompts written, none sent")


def _lane(replies: str | None) -> Any:
    from obverse.llm.recorded import RecordedReplies

    if replies is None:
        raise SettingError("no LLM is named", fix="Give --replies FILE")
    return RecordedReplies(replies)


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    part, slash, parts = text.partition("/")
    if not slash or not part.isdigit() or not parts.isdigit():
        raise SettingError(f"--shard {text} is not of the form i/n", fix="Write 0/4, 1/4, ...")
    return int(part), int(parts)


def _options(pairs: list[str] | None) -> dict[str, Any]:
    """Values are read as JSON where they are JSON, else as text."""
    import orjson

    options: dict[str, Any] = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise SettingError(
                f"--option {pair} is not of the form key=value", fix="Write key=value"
            )
        try:
            options[key] = orjson.loads(value)
        except orjson.JSONDecodeError:
            options[key] = value
    return options
