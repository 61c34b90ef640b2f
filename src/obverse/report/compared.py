"""What the tables and the page of a comparison show, before it is written in any form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from obverse.compare import Comparison
from obverse.report.columns import Column, column_for
from obverse.report.page_data import Difference, ModelScores, Score
from obverse.report.trade_plot import Against
from obverse.results import Result
from obverse.set_means import KIND as MEAN

NOTE = (
    "Values with 95 % bootstrap intervals over topics. p: paired randomisation test over topics, corrected for all "
    "{count} tests of this comparison (Holm). * differs from {first}: corrected p below 0.05."
)
_HOW = ("joining", "scope", "guard", "candidates", "ties")
_PLAIN = ("beir", "msmarco")
_OWN_PLOT = {
    "topics": Against(),
    "followir": Against("p_mrr", "p-MRR", "score", "Score under the original instructions"),
    MEAN: Against("p_mrr", "p-MRR, mean", "score", "Score, mean"),
    "constraints": Against(
        "ndcg@10", "nDCG@10 with instruction", "plain_ndcg@10", "nDCG@10 without"
    ),
}


def by_benchmark(comparison: Comparison) -> dict[str, list[Result]]:
    """Returns the results of each benchmark, in order of appearance."""
    found: dict[str, list[Result]] = {}
    for result in comparison.results:
        found.setdefault(result.benchmark, []).append(result)
    return found


def headings_of(rows: Sequence[Result]) -> dict[str, str]:
    """Returns what the measures of one benchmark are called; the topics' own have names of their own."""
    if rows[0].about.get("kind", "topics") == "topics":
        return {}
    return {
        key: str(row["measure"]) for r in rows for key, row in r.rows.items() if "measure" in row
    }


def columns_of(rows: Sequence[Result]) -> list[Column]:
    """Returns the columns of one benchmark's table."""
    headings = headings_of(rows)
    keys = dict.fromkeys(key for row in rows for key in row.rows)
    columns = [column_for(key) for key in keys]
    return [replace(each, heading=headings.get(each.key, each.heading)) for each in columns]


def scores_of(rows: Sequence[Result]) -> list[ModelScores]:
    """Returns results as rows of a table."""
    return [
        ModelScores(
            row.model,
            {
                key: Score(v.get("value"), v.get("low"), v.get("high"), v.get("n"), v.get("reason"))
                for key, v in row.rows.items()
            },
        )
        for row in rows
    ]


def differences_of(comparison: Comparison, benchmark: str) -> dict[str, dict[str, Difference]]:
    """Returns the differences from the first model on one benchmark, with corrected p values."""
    found: dict[str, dict[str, Difference]] = {}
    for test in comparison.tests:
        if test["benchmark"] == benchmark:
            found.setdefault(test["model"], {})[test["measure"]] = Difference(
                test["difference"], test["low"], test["high"], test["p_holm"]
            )
    return found


def how_measured(rows: Sequence[Result]) -> list[str]:
    """Returns how the numbers of one benchmark were made: rules, n, what each model read, versions."""
    about = rows[0].about
    said = [f"{key}: {about[key]}" for key in _HOW if about.get(key)]
    said += [f"{key}: {words}" for key, words in (about.get("what") or {}).items()]
    if about.get("partial"):
        said.append("computed on half-present data")
    sizes = [f"{key} n={row['n']}" for key, row in rows[0].rows.items() if row.get("n") is not None]
    if sizes:
        said.append(", ".join(sizes))
    for row in rows:
        limit, digest = row.about.get("max_tokens"), row.about.get("template_digest")
        made = [
            f"{limit} tokens" if limit else "no token limit named",
            f"template {digest}" if digest else "no template",
            ", ".join(f"{name} {v}" for name, v in (row.about.get("versions") or {}).items()),
        ]
        said.append(f"{row.model}: {'; '.join(part for part in made if part)}")
    return said


def plots_of(comparison: Comparison) -> dict[str, tuple[list[ModelScores], Against]]:
    """Returns what can be drawn of obeying against plain retrieval, by title.

    A benchmark that measures both is drawn by itself; another instructed one against each plain benchmark.
    """
    found: dict[str, tuple[list[ModelScores], Against]] = {}
    groups = by_benchmark(comparison)
    plain = {n: rows for n, rows in groups.items() if rows[0].about.get("kind") in _PLAIN}
    for name, rows in groups.items():
        kind = rows[0].about.get("kind", "topics")
        if kind in _OWN_PLOT:
            found[name] = (scores_of(rows), _OWN_PLOT[kind])
        for other, its in plain.items() if kind not in _PLAIN and kind != "topics" else ():
            across, up = next(iter(rows[0].rows)), next(iter(its[0].rows))
            found[f"{name} against {other}"] = (
                _side_by_side(rows, across, its, up),
                Against("across", f"{name}, {across}", "up", f"{other}, {up}"),
            )
    return found


def _side_by_side(
    rows: Sequence[Result], across: str, its: Sequence[Result], up: str
) -> list[ModelScores]:
    plain = {model.name: model.scores for model in scores_of(its)}
    return [
        ModelScores(model.name, {"across": model.scores[across], "up": plain[model.name][up]})
        for model in scores_of(rows)
        if model.name in plain and across in model.scores and up in plain[model.name]
    ]
