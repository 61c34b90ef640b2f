"""Commands that take away what should not be trained on: filter, swap."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from obverse.cli import app


@app.command("filter")
def filter_command(
    topics: Annotated[str, typer.Argument(help="A topics file; - is standard input.")],
    by: Annotated[list[str], typer.Option(help="A filter; repeatable, in this order.")],
    out: Annotated[str, typer.Option(help="Where the topics that are left go.")] = "-",
    model: Annotated[
        str, typer.Option(help="similarity_gain, margin, swap, leak: the frozen encoder.")
    ] = "all-MiniLM-L6-v2",
    max_tokens: Annotated[
        int | None, typer.Option(help="similarity_gain: the encoder's token limit. [its own]")
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="similarity_gain: keep where the gain is above it.")
    ] = 0.0,
    near_instructions: Annotated[
        float, typer.Option(help="unique: the overlap from which instructions are the same.")
    ] = 0.8,
    near_documents: Annotated[
        float, typer.Option(help="unique: the overlap from which documents are the same.")
    ] = 0.9,
    max_words: Annotated[int, typer.Option(help="rule: the most words of an instruction.")] = 300,
    max_sentences: Annotated[int, typer.Option(help="rule: the most sentences of one.")] = 12,
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="leak: a topics benchmark, topics file, BEIR folder, or NAME=PLACE as in evaluate; repeatable."
        ),
    ] = None,
    levels: Annotated[
        str, typer.Option(help="leak: which of id,text,ngram,embedding.")
    ] = "id,text,ngram",
    closeness: Annotated[
        float, typer.Option(help="leak: the cosine from which queries are the same.")
    ] = 0.95,
    ratio: Annotated[
        float, typer.Option(help="margin: negatives above this share of the positive's score.")
    ] = 0.95,
    at_least: Annotated[
        int, typer.Option(help="margin: name views with fewer negatives than this.")
    ] = 1,
    lead: Annotated[
        float, typer.Option("--margin", help="swap: by how much the right document must lead.")
    ] = 0.0,
    floor: Annotated[
        float, typer.Option(help="swap: the least score of the promoted document alone.")
    ] = 0.3,
    replies: Annotated[
        str | None, typer.Option(help="judge: recorded replies instead of an LLM.")
    ] = None,
    endpoint: Annotated[
        list[str] | None, typer.Option(help="judge: base URL of an OpenAI-compatible server.")
    ] = None,
    judge_model: Annotated[
        str | None, typer.Option(help="judge: the model's name at the endpoint.")
    ] = None,
    local: Annotated[str | None, typer.Option(help="judge: a GGUF file to run here.")] = None,
    max_concurrency: Annotated[
        int, typer.Option(help="judge: requests at once per endpoint, at most.")
    ] = 512,
    api_key_env: Annotated[
        str, typer.Option(help="judge: the environment variable that holds the endpoint's key.")
    ] = "OPENAI_API_KEY",
    run: Annotated[
        str | None, typer.Option(help="judge: the run's folder; by default <out>.judge.run.")
    ] = None,
    scoring: Annotated[
        str,
        typer.Option(
            help="judge: text, with evidence and in two orders; or logprobs, the probability of yes."
        ),
    ] = "text",
    yes_at: Annotated[
        float, typer.Option(help="judge by logprobs: from which probability a document satisfies.")
    ] = 0.5,
    seed: Annotated[int, typer.Option(help="judge: draws the orders of the documents.")] = 0,
    same_model: Annotated[
        bool, typer.Option(help="judge: let a model judge what it wrote itself.")
    ] = False,
) -> None:
    """Take away views that should not be trained on; says what each filter left."""
    from obverse.filters.filtering import filter_file

    settings: dict[str, Any] = {
        "encoder": model,
        "max_tokens": max_tokens,
        "threshold": threshold,
        "near_instructions": near_instructions,
        "near_documents": near_documents,
        "max_words": max_words,
        "max_sentences": max_sentences,
        "against": [named_test_set(place) for place in against or []],
        "levels": [level.strip() for level in levels.split(",")],
        "closeness": closeness,
        "ratio": ratio,
        "at_least": at_least,
        "margin": lead,
        "floor": floor,
        "seed": seed,
        "same_model": same_model,
        "scoring": scoring,
        "yes_at": yes_at,
    }
    if "judge" in by:
        from obverse.llm.choosing import lane_named

        llm = lane_named(
            replies=replies,
            endpoint=endpoint or [],
            model=judge_model,
            local=local,
            max_concurrency=max_concurrency,
            api_key_env=api_key_env,
        )
        settings |= {"llm": llm, "run_dir": run or f"{out}.judge.run"}
    filter_file(topics, out, by, **settings)


def named_test_set(place: str) -> Any:
    """Returns a test set by name: of a public benchmark its queries and instructions; other places as they are."""
    from pathlib import Path

    if "=" not in place or Path(place).exists():
        return place
    from obverse.benchmarks.named import load_benchmark
    from obverse.filters.leak import HeldOut

    tests = HeldOut(place)
    for search in load_benchmark(place).searches:
        for ask in search.asks:
            tests.add_query(ask.query, *filter(None, [ask.instruction]))
    return tests


@app.command("swap")
def swap_command(
    scores: Annotated[str, typer.Argument(help="Scores of document pairs, JSON Lines.")],
    out: Annotated[str, typer.Option(help="Where the verdicts go, JSON Lines.")] = "-",
    margin: Annotated[float, typer.Option(help="By how much the right document must lead.")] = 0.0,
    floor: Annotated[
        float, typer.Option(help="The least score of the promoted document for the query alone.")
    ] = 0.3,
) -> None:
    """Say of scored document pairs whether the new instruction really swaps them."""
    from obverse.files import write_json_lines
    from obverse.filters.swap import read_scores, swap_report
    from obverse.log import say

    report = swap_report(list(read_scores(scores)), margin, floor)
    write_json_lines(out, report["verdicts"])
    if report["blind"]:
        say(f"swap: {report['scorer']}")
        return
    for reason, count in report["counts"].items():
        say(f"swap: {count:,} {reason} (such as {', '.join(report['examples'][reason])})")
