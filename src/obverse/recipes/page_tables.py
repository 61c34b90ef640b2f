"""The tables of a recipe's page: means, seeds, findings, gain against loss, tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from obverse.recipes.blocks import Block, Heading, Table, Words
from obverse.recipes.outcome import Outcome, front
from obverse.report.columns import Column, column_for
from obverse.report.compared import columns_of, scores_of
from obverse.results import Result


def score_table(results: Sequence[Result]) -> Table:
    """Returns the table of means with intervals, one row an arm."""
    columns = columns_of(results)
    counts = {
        c.key: next((r.rows[c.key].get("n") for r in results if c.key in r.rows), 0)
        for c in columns
    }
    head = ["arm", *(f"{column.heading} (n={counts[column.key]})" for column in columns)]
    rows = [
        [each.name, *(column.score(each.scores.get(column.key)) for column in columns)]
        for each in scores_of(results)
    ]
    return Table(head, rows)


def seed_table(found: Outcome, name: str) -> list[Block]:
    """Returns the table of each seed's values, where there are several."""
    arms = found.spread[name]
    columns = columns_of(found.means[name])
    head = ["seed by seed", *(column.heading for column in columns)]
    rows = [
        [arm, *(" / ".join(map(c.number, values.get(c.key, []))) for c in columns)]
        for arm, values in arms.items()
        if len(next(iter(values.values()), [])) > 1
    ]
    return [Table(head, rows)] if rows else []


def findings(found: Outcome) -> list[Block]:
    """Returns what was expected and what came of it."""
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


_GAIN = "p_mrr"
_PLAIN = ("guard_ndcg@10", "ndcg@10")


def _column(found: Outcome, benchmark: str, key: str) -> Column:
    named = {column.key: column for column in columns_of(found.means[benchmark])}
    return named.get(key) or column_for(key)


def gain_and_loss(found: Outcome) -> list[Block]:
    """The gain in obeying against the change in plain retrieval, per benchmark of either, and which arms lead."""
    by_arm: dict[str, dict[tuple[str, str], Any]] = {}
    for test in found.against_base:
        by_arm.setdefault(test["model"], {})[test["benchmark"], test["measure"]] = test
    keys = list(dict.fromkeys(key for tests in by_arm.values() for key in tests))
    gains = [key for key in keys if key[1] == _GAIN]
    plains = [
        (name, measure)
        for name, measure in keys
        if measure == _PLAIN[0] or (measure == _PLAIN[1] and (name, _GAIN) not in keys)
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
    columns = [f"{name}, {_column(found, name, key).heading}" for name, key in gains + plains]
    head = ["arm", *columns, "front"]
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


def paired_tests(found: Outcome) -> list[Block]:
    """Returns the tests of all pairs on all benchmarks."""
    rows = [
        [
            f"{test['model']} against {test['against']}",
            str(test["benchmark"]),
            _column(found, test["benchmark"], test["measure"]).heading,
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
