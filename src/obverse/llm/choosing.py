"""The lane that the flags of a command name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from obverse.errors import SettingError
from obverse.llm.forms import Form
from obverse.llm.lanes import Lane, NoLLM
from obverse.llm.money import Budget, price_of, read_prices


def lane_named(
    *,
    replies: str | None = None,
    endpoint: Sequence[str] = (),
    model: str | None = None,
    local: str | None = None,
    batch: str | None = None,
    again: bool = False,
    form: str | None = None,
    api_key_env: str = "OPENAI_API_KEY",
    max_concurrency: int = 512,
    timeout: float | None = None,
    max_stall: float = 600.0,
    threads: int = 1,
    prices: str | None = None,
    max_cost: float | None = None,
    extra: Mapping[str, Any] | None = None,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    schedule: str | None = None,
    needed: bool = True,
) -> Lane:
    """Returns the one lane that is named: recorded replies, endpoints, a local model, or batch files.

    Args:
        replies: A file of recorded replies.
        endpoint: Base URLs that serve the model.
        model: The model's name there, and in batch files.
        local: A GGUF file, or ``smollm2``.
        batch: ``openai`` or ``vllm``: write request files.
        again: Whether batch requests that are out already are written again.
        form: How the form of answers is asked for; by default a canary finds out.
        api_key_env: The environment variable that holds the key.
        max_concurrency: Requests at once per endpoint, at most.
        timeout: Seconds from sending to reply.
        max_stall: Without any reply for so many seconds the run ends with exit status 75.
        threads: Threads of a local model.
        prices: A TOML file with prices by model.
        max_cost: The most that may be spent.
        extra: Further fields of each request.
        requests_per_minute: Requests in a minute, at most, over all endpoints.
        tokens_per_minute: Tokens in a minute, at most, read and written.
        schedule: Requests at once by day and hour, such as ``Mon-Fri 08-19=3,*=64``.
        needed: Whether there must be one; else none named is :class:`NoLLM`.

    Raises:
        SettingError: If not exactly one lane is named, or its model is missing.
    """
    chosen = [name for name, given in _named(replies, endpoint, local, batch).items() if given]
    if not chosen and not needed:
        return NoLLM()
    if len(chosen) != 1:
        raise SettingError(
            f"{' and '.join(chosen)} exclude each other" if chosen else "no LLM is named",
            fix="Give one of --endpoint URL, --replies FILE, --local GGUF, --batch openai or vllm",
        )
    known = _form(form)
    if replies is not None:
        from obverse.llm.recorded import RecordedReplies

        return RecordedReplies(replies)
    if local is not None:
        from obverse.llm.local import LocalLLM

        return LocalLLM(local, threads=threads, extra=extra)
    if model is None:
        raise SettingError(f"{chosen[0]} needs the model's name", fix="Give --model NAME")
    if batch is not None:
        from obverse.llm.batch_files import LINES, BatchFiles

        if batch not in LINES:
            raise SettingError(f"unknown batch kind {batch!r}", fix="Use openai or vllm")
        kind: Any = batch
        return BatchFiles(model, kind=kind, form=known, extra=extra, again=again)
    from obverse.llm.live import LLM
    from obverse.llm.pace import Pace
    from obverse.llm.schedule import read_schedule

    price = price_of(read_prices(prices), model) if prices is not None else None
    return LLM(
        endpoint,
        model,
        api_key_env=api_key_env,
        form=known,
        max_concurrency=max_concurrency,
        timeout=timeout,
        max_stall=max_stall,
        extra=extra,
        budget=Budget(max_cost, price),
        pace=Pace(requests_per_minute, tokens_per_minute),
        schedule=read_schedule(schedule),
    )


def _named(
    replies: str | None, endpoint: Sequence[str], local: str | None, batch: str | None
) -> dict[str, bool]:
    return {
        "--replies": replies is not None,
        "--endpoint": bool(endpoint),
        "--local": local is not None,
        "--batch": batch is not None,
    }


def _form(name: str | None) -> Form | None:
    if name is None:
        return None
    try:
        return Form(name)
    except ValueError:
        raise SettingError(f"unknown form {name!r}", fix=f"Use one of {', '.join(Form)}") from None
