"""What a run's folder says: status, costs, rejects, of one process or of all shards."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from obverse.errors import InputError
from obverse.files import read_json_lines


def about_files(run_dir: str | os.PathLike[str], name: str) -> list[Path]:
    """Returns the files of that name, one a shard.

    Raises:
        InputError: If there is none.
    """
    stem, _, suffix = name.partition(".")
    folder = Path(run_dir)
    found = [
        path
        for path in (folder / name, *sorted(folder.glob(f"{stem}.*-of-*.{suffix}")))
        if path.is_file()
    ]
    if not found:
        raise InputError(
            f"holds no {name}",
            where=str(folder),
            fix="Name the folder of a run: by default <out>.run",
        )
    return found


def read_about(run_dir: str | os.PathLike[str], name: str) -> dict[str, Any]:
    """Returns the contents of a run's files of that name, by shard (``0`` for a run without shards)."""
    rows = {}
    for path in about_files(run_dir, name):
        parts = path.name.split(".")
        rows[parts[1] if len(parts) == 3 else "0"] = orjson.loads(path.read_bytes())
    return rows


def rejects(
    run_dir: str | os.PathLike[str], *, code: str | None = None, first: int = 20
) -> Iterator[dict[str, Any]]:
    """Yields unusable replies: code, raw text, tokens."""
    count = 0
    for path in about_files(run_dir, "rejects.jsonl"):
        for _, row in read_json_lines(path):
            if code is None or row["code"] == code:
                count += 1
                if count > first:
                    return
                yield row


def status_table(rows: Mapping[str, Any]) -> str:
    """Returns the status for people."""
    lines = []
    for shard, row in rows.items():
        name = f" (shard {shard})" if shard != "0" else ""
        lines.append(f"{row['method']} by {row['model']}{name}: {row['state']}, {row['updated']}")
        topics = row["topics"]
        total = f" of {topics['total']:,}" if topics["total"] is not None else ""
        states = ", ".join(f"{topics[key]:,} {key}" for key in topics if key != "total")
        lines.append(f"  topics{total}: {states}")
        lines.append(
            f"  {row['accepted_views']:,} views accepted, {row['accepted_per_minute']:,} a minute; "
            f"{row['replies']['asked for']:,} requests, {row['replies']['from the journal']:,} replies from the journal"
        )
        for one in row["endpoints"]:
            lines.append(
                f"  {one['url']}: {one['in_flight']} of {one['limit']} in flight, {one['answers']:,} answers, "
                f"{one['refusals']:,} refusals, {one['failures']:,} failures, breaker {one['breaker']}"
            )
        cost = "unknown" if row["cost"] is None else f"{row['cost']:.4f} {row['currency']}"
        left = "unknown" if row["seconds_left"] is None else f"{row['seconds_left'] / 60:.0f} min"
        lines.append(f"  cost: {cost}; time left: {left}")
        for reason, count in row["top_reasons"].items():
            lines.append(f"  {count:>8,} {reason}")
        for change in row["changed_since_last_run"]:
            lines.append(
                f"  changed: {change['stage']}, {change['what']} ({change['requests']:,} requests)"
            )
    return "\n".join(lines)


def costs_table(rows: Mapping[str, Any]) -> str:
    """Returns the costs for people."""
    lines = []
    for shard, row in rows.items():
        if shard != "0":
            lines.append(f"shard {shard}")
        lines.append(
            f"{'stage':<16}{'replies':>9}{'rejected':>9}{'tokens in':>12}{'cached':>10}{'out':>11}{'reasoning':>11}"
            f"{'wasted':>10}{'cost':>12}"
        )
        for name, stage in row["stages"].items():
            lines.append(
                f"{name:<16}{stage['replies']:>9,}{stage['rejected']:>9,}{stage['prompt_tokens']:>12,}"
                f"{stage['cached_tokens']:>10,}{stage['completion_tokens']:>11,}{stage['reasoning_tokens']:>11,}"
                f"{stage['wasted_tokens']:>10,}{_money(stage['cost']):>12}"
            )
        lines.append(
            f"{row['accepted_views']:,} accepted views; cost {_money(row['cost'])} {row['currency'] or ''}; "
            f"per accepted view {_money(row['cost_per_accepted_view'], 6)}"
        )
        lost = row["waste"]
        maybe = lost["possibly_billed"]
        lines.append(
            f"beside that: {lost['unused_replies']:,} replies no longer asked for, {lost['replies_paid_twice']:,} paid "
            f"twice ({lost['unused_tokens']:,} tokens); possibly billed: {maybe['requests']:,} requests, at most "
            f"{maybe['completion_tokens_at_most']:,} completion tokens"
        )
        for code, count in lost["failed_attempts"].items():
            lines.append(f"  {count:>8,} attempts failed: {code}")
    return "\n".join(lines)


def _money(value: float | None, digits: int = 4) -> str:
    return "unknown" if value is None else f"{value:.{digits}f}"
