"""The page of a recipe: scale, means over seeds, paired tests, proof of equal sizes, the papers' numbers, commands."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.files import read_json, whole_file, write_json
from obverse.ledger import compare_ledgers
from obverse.provenance import versions
from obverse.recipes.blocks import (
    Block,
    Code,
    Drawing,
    Heading,
    Points,
    Table,
    Words,
    as_html,
    as_markdown,
)
from obverse.recipes.cells import Cell, ledger_of
from obverse.recipes.outcome import Outcome, distances, front
from obverse.report.columns import column_for
from obverse.report.page_data import ModelScores, Score
from obverse.report.trade_plot import trade_plot
from obverse.results import Result

if TYPE_CHECKING:
    from obverse.recipes.run import Setup

PAGE = "recipe.md"


def write_page(setup: Setup, cells: Sequence[Cell], found: Outcome, home: Path) -> Path:
    """Writes ``recipe.md``, ``recipe.html`` and ``results.json`` and returns the first."""
    title = f"Recipe {setup.recipe.name}, {percent(setup.scale)}"
    blocks = blocks_of(setup, cells, found)
    for name, text in ((PAGE, as_markdown(title, blocks)), ("recipe.html", as_html(title, blocks))):
        with whole_file(home / name) as stream:
            stream.write(text.encode("utf-8", "surrogatepass"))
    write_json(
        home / "results.json",
        {
            "recipe": setup.recipe.name,
            "scale": setup.scale,
            "seeds": list(setup.seeds),
            "base": setup.base,
            "command": command(setup),
            "cells": [{"folder": cell.folder.name, **cell.identity} for cell in cells],
            **found.to_json(),
            "distances": distances(setup.recipe, found),
            "versions": versions(),
        },
    )
    return home / PAGE


def blocks_of(setup: Setup, cells: Sequence[Cell], found: Outcome) -> list[Block]:
    """Returns the page's blocks."""
    blocks: list[Block] = [Words(setup.recipe.says), *_scale(setup, cells)]
    for name, results in found.means.items():
        blocks += [Heading(f"On {name}"), score_table(results), *_seed_table(found, name)]
        plot = trade_plot([_model(result) for result in results])
        blocks += [Drawing(plot)] if plot is not None else []
    blocks.append(
        Words(
            "Each topic's value is the mean over the seeds; intervals are 95 % bootstrap intervals over topics. "
            "Values of p-MRR, Robustness and nDCG are times 100. The second table has each seed's value."
        )
    )
    blocks += (
        _findings(found)
        + _front(found)
        + _tests(found)
        + _sizes(setup, cells)
        + _papers(setup, found)
    )
    limits = [*setup.recipe.limits, *_LIMITS]
    blocks += [Heading("What this scale can and cannot say"), Points(limits)]
    return [*blocks, Heading("Command"), Code(command(setup))]


_LIMITS = (
    "Intervals are over topics of one benchmark: they say how sure the order of the arms is on such topics, not on "
    "other data.",
    "A few seeds show how much a run's chance moves; they are no second sample of topics.",
)


def percent(share: float) -> str:
    """Returns a share as text: ``1%``."""
    return f"{100 * share:g}%"


def command(setup: Setup) -> str:
    """Returns the command that makes the page."""
    called = setup.recipe.command or f"recipe {setup.recipe.name}"
    parts = [f"obverse {called} --scale {percent(setup.scale)}"]
    parts.append(f"--seeds {','.join(map(str, setup.seeds))} --base {setup.base}")
    parts += [f"--set '{key}={_json(value)}'" for key, value in setup.given.items()]
    parts += [f"--on {spec.partition('=')[0]}=FOLDER" for spec in setup.on]
    if setup.source.development and not setup.recipe.command:
        parts.append(f"--dev {len(setup.source.development)}")
    if len(setup.arms) < len(setup.recipe.arms):
        parts += [f"--arm '{name}'" for name in setup.arms]
    return " ".join([*parts, "--out DIR"])


def _json(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _scale(setup: Setup, cells: Sequence[Cell]) -> list[Block]:
    recipe, source = setup.recipe, setup.source
    asked = round(setup.scale * recipe.full)
    got = len(source.topics)
    short = (
        f" The source holds {source.available:,}, which is all: "
        f"{percent(round(source.available / recipe.full, 6))} of the full size."
        if source.available < asked
        else ""
    )
    made = [row for cell in cells if (row := read_json(cell.made))]
    seconds = sum(float(row["seconds"]) for row in made)
    lines = [
        f"Scale {percent(setup.scale)}: {asked:,} of {recipe.full:,} {recipe.full_says}.{short} {got:,} source topics "
        f"are trained on, {len(source.two_sided):,} of them with both instructed views."
        + (
            f" {len(source.development)} more are held back as development topics."
            if source.development
            else ""
        ),
        f"Base: {setup.base}, {setup.encoder.max_tokens} tokens. Seeds: {', '.join(map(str, setup.seeds))}. "
        f"{len(cells)} cells, {seconds / 60:.1f} minutes of training by the clock in all.",
        "Settings of all arms: " + _settings(setup) + ".",
        f"Made on {time.strftime('%Y-%m-%d')}, {platform.machine()}, Python {platform.python_version()}, "
        + ", ".join(
            f"{k} {v}" for k, v in versions().items() if k in ("torch", "sentence-transformers")
        )
        + ".",
    ]
    return [Points(lines)]


def _settings(setup: Setup) -> str:
    shared = [setup.settings[name] for name in setup.arms]
    keys = [k for k, v in shared[0].items() if all(other.get(k) == v for other in shared)]
    return ", ".join(f"{key} {shared[0][key]}" for key in keys)


def _model(result: Result) -> ModelScores:
    return ModelScores(
        result.model,
        {
            key: Score(row.get("value"), row.get("low"), row.get("high"), row.get("n"))
            for key, row in result.rows.items()
        },
    )


def score_table(results: Sequence[Result]) -> Table:
    """Returns the table of means with intervals, one row an arm."""
    keys = list(dict.fromkeys(key for result in results for key in result.rows))
    counts = {
        key: next((r.rows[key].get("n") for r in results if key in r.rows), 0) for key in keys
    }
    head = ["arm", *(f"{column_for(key).heading} (n={counts[key]})" for key in keys)]
    rows = [
        [result.model, *(column_for(k).score(_model(result).scores.get(k)) for k in keys)]
        for result in results
    ]
    return Table(head, rows)


def _seed_table(found: Outcome, name: str) -> list[Block]:
    arms = found.spread[name]
    keys = list(dict.fromkeys(key for values in arms.values() for key in values))
    head = ["seed by seed", *(column_for(key).heading for key in keys)]
    rows = [
        [arm, *(" / ".join(column_for(key).number(v) for v in values.get(key, [])) for key in keys)]
        for arm, values in arms.items()
        if len(next(iter(values.values()), [])) > 1
    ]
    return [Table(head, rows)] if rows else []


def _findings(found: Outcome) -> list[Block]:
    if not found.findings:
        return []
    rows = [
        [
            finding.pair.says,
            f"{finding.pair.arm} against {finding.pair.against}",
            column_for(finding.measure).heading,
            "higher" if finding.wanted > 0 else "lower",
            *_test_cells(finding.test),
            finding.verdict,
        ]
        for finding in found.findings
    ]
    head = [
        "expected",
        "arms",
        "measure",
        "it should be",
        "difference",
        "interval",
        "p",
        "p (Holm)",
        "verdict",
    ]
    note = (
        "Confirmed or refuted: the 95 % interval of the paired difference leaves out 0 and p is below 0.05. Open: "
        "neither; at this size that is no proof of equality."
    )
    return [Heading("What was expected, and what came"), Table(head, rows), Words(note)]


GAIN = "p_mrr"
PLAIN = ("guard_ndcg@10", "ndcg@10")


def _front(found: Outcome) -> list[Block]:
    """The gain in obeying against the change in plain retrieval, per benchmark of either, and which arms lead."""
    by_arm: dict[str, dict[tuple[str, str], Any]] = {}
    for test in found.against_base:
        by_arm.setdefault(test["model"], {})[test["benchmark"], test["measure"]] = test
    keys = list(dict.fromkeys(key for tests in by_arm.values() for key in tests))
    gains = [key for key in keys if key[1] == GAIN]
    plains = [
        (name, measure)
        for name, measure in keys
        if measure == PLAIN[0] or (measure == PLAIN[1] and (name, GAIN) not in keys)
    ]
    if not gains or not plains:
        return []
    leading = front(
        {
            arm: (tests[gains[0]]["difference"], tests[plains[0]]["difference"])
            for arm, tests in by_arm.items()
            if gains[0] in tests and plains[0] in tests
        }
    )
    head = ["arm", *(f"{name}, {column_for(key).heading}" for name, key in gains + plains), "front"]
    rows = [
        [
            arm,
            *(
                " ".join(_test_cells(tests[key])[:2]) if key in tests else "–"
                for key in gains + plains
            ),
            "yes" if arm in leading else "",
        ]
        for arm, tests in by_arm.items()
    ]
    note = (
        "Differences from the base, times 100, with 95 % intervals. Front: no other arm has both a higher p-MRR and a "
        "higher plain nDCG@10 in the first two of these columns of either kind."
    )
    return [Heading("Instruction gain against plain loss"), Table(head, rows), Words(note)]


def _tests(found: Outcome) -> list[Block]:
    rows = [
        [
            f"{test['model']} against {test['against']}",
            str(test["benchmark"]),
            column_for(str(test["measure"])).heading,
            *_test_cells(test),
            f"{test['wins']} / {test['losses']} / {test['ties']}",
            str(test["n"]),
        ]
        for test in found.tests
    ]
    head = [
        "arms",
        "benchmark",
        "measure",
        "difference",
        "interval",
        "p",
        "p (Holm)",
        "won / lost / tied",
        "n",
    ]
    note = (
        f"Paired by topic, each topic averaged over the seeds. p: randomisation test; Holm: corrected for all "
        f"{len(rows)} tests of this page."
    )
    return [Heading("Paired tests"), Table(head, rows), Words(note)] if rows else []


def _test_cells(test: Any) -> list[str]:
    column = column_for(str(test["measure"]))
    return [
        column.number(test["difference"], sign=True),
        column.interval(test["low"], test["high"], sign=True),
        f"{test['p']:.4f}",
        f"{test['p_holm']:.4f}",
    ]


def _sizes(setup: Setup, cells: Sequence[Cell]) -> list[Block]:
    first = {cell.arm.name: cell for cell in cells if cell.seed == setup.seeds[0]}
    books = {name: ledger_of(cell) for name, cell in first.items()}
    rows = []
    for name, cell in first.items():
        book = books[name]
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in book.kinds.items())
        steps = read_json(cell.made)["steps_made"]
        rows.append(
            [
                f"{name}: {cell.arm.says}",
                f"{book.topics:,}",
                f"{book.views:,} ({kinds})",
                f"{book.queries:,}",
                f"{book.documents:,}",
                f"{book.tokens:,}",
                str(steps),
                f"`{book.digest[:12]}`",
            ]
        )
    head = ["arm", "topics", "views", "queries", "documents", "tokens", "steps", "digest"]
    blocks: list[Block] = [Heading("Sizes, from the ledger"), Table(head, rows)]
    proofs = []
    for arm, against in dict.fromkeys((p.arm, p.against) for p in setup.recipe.pairs):
        if arm not in first or against not in first:
            continue
        found = compare_ledgers(books[against], books[arm])
        equal = [unit for unit, (a, b) in found.sizes.items() if a == b]
        taken, given = (
            ", ".join(f"{count:,} {what}" for what, count in views) or "nothing"
            for views in (found.taken, found.given)
        )
        same = first[arm].steps == first[against].steps
        proofs.append(
            f"{against} -> {arm}: {found.same:,} topics the same; taken {taken}; given {given}; equal in "
            f"{', '.join(equal + ['steps'] * same) or 'nothing'}."
        )
    note = f"Of seed {setup.seeds[0]}. Rows are counted and matched by {setup.recipe.matched_by}."
    return [*blocks, Words(note), Points(proofs)] if proofs else [*blocks, Words(note)]


def _papers(setup: Setup, found: Outcome) -> list[Block]:
    rows = [
        [
            f"{row['arm']} ({row['model']})",
            f"{row['benchmark']} {row['measure']}",
            f"{row['published']:.2f}",
            _number(row.get("ours")),
            f"{row['against']}: {row['published difference']:+.2f}" if "against" in row else "–",
            _number(row.get("our difference"), sign=True),
            _number(row.get("distance"), sign=True),
        ]
        for row in distances(setup.recipe, found)
    ]
    blocks: list[Block] = [Heading("The papers' numbers, and the distance")]
    if rows:
        head = [
            "arm",
            "published for",
            "published",
            "ours",
            "published against",
            "ours against it",
            "distance",
        ]
        blocks.append(Table(head, rows))
        blocks.append(
            Words(
                "Where the published benchmark was not measured here, the published difference between two arms is "
                "set against ours on the topics benchmark in the measure of the same kind."
            )
        )
    blocks.append(Points([f"Known reason to differ: {reason}" for reason in setup.recipe.reasons]))
    missing = [
        b for b in setup.recipe.benchmarks if not any(spec.startswith(b) for spec in setup.on)
    ]
    if missing:
        blocks.append(
            Words("Not measured here: " + ", ".join(f"`--on {b}=FOLDER`" for b in missing) + ".")
        )
    return blocks


def _number(value: float | None, *, sign: bool = False) -> str:
    return "–" if value is None else f"{value:{'+' if sign else ''}.2f}"
