"""Whether a new instruction swaps two documents."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from test_similarity_gain import Angles
from typer.testing import CliRunner

from obverse.errors import InputError
from obverse.filters.swap import Scores, is_blind, read_scores, swap, swap_report, swap_verdict
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops

CASE = Path(__file__).parents[1] / "data" / "cases" / "19-polarity-filter"
GOOD = Scores(0.71, 0.60, 0.58, 0.69, 0.66, 0.63, (0.41,))
P, D, N = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE


def test_verdicts_of_the_case() -> None:
    expected = [json.loads(line) for line in (CASE / "expected.jsonl").read_text().splitlines()]
    report = swap_report(list(read_scores(CASE / "scores.jsonl")))
    assert report["verdicts"] == expected
    assert report["counts"]["kept"] == 1 and not report["blind"]


def test_blind_scorer_is_named() -> None:
    report = swap_report(list(read_scores(CASE / "scores_blind_encoder.jsonl")))
    assert report["blind"] and "cannot see instructions" in report["scorer"]


@pytest.mark.parametrize(
    ("changes", "margin", "reason"),
    [
        ({}, 0.0, ""),
        ({}, 0.2, "tie under the original instruction"),
        ({"new_promoted": math.nan}, 0.0, "a score is missing or not a number"),
        ({"new_others": (math.inf,)}, 0.0, "a score is missing or not a number"),
        ({"new_others": (0.69,)}, 0.0, "tie under the new instruction"),
        ({"new_others": ()}, 0.0, ""),
        ({"orig_promoted": 0.71}, 0.0, "tie under the original instruction"),
        ({"plain_promoted": 0.3}, 0.0, ""),
        ({"plain_promoted": 0.29}, 0.0, "promoted document is off topic for the plain query"),
    ],
)
def test_edges(changes: dict[str, float], margin: float, reason: str) -> None:
    assert swap_verdict(replace(GOOD, **changes), margin) == reason


def test_blindness_needs_evidence() -> None:
    still = replace(GOOD, new_clicked=0.7, new_promoted=0.69)
    assert not is_blind([]) and not is_blind([GOOD]) and not is_blind([still])
    assert is_blind([still] * 5) and not is_blind([*[still] * 9, GOOD])
    assert is_blind([replace(GOOD, new_clicked=0.71, new_promoted=0.60)])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("[]", "is no object"),
        ("{}", "lacks the key 's_orig_clicked'"),
        (json.dumps({"s_orig_clicked": "0.7"}), "is no number"),
        (json.dumps({"s_new_others": 0.4}), "should be a list"),
    ],
)
def test_bad_scores(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(row + "\n")
    with pytest.raises(InputError, match=message) as caught:
        list(read_scores(path))
    assert f"{path}:1" in str(caught.value)


def test_stage_on_topics() -> None:
    docs = (Doc("a", "new 0"), Doc("b", "used 90"), Doc("c", "both 45"))
    plain = View("", {"a": P, "b": N, "c": N})
    keep = View("keep 10", {"a": P, "b": D, "c": N})
    good = View("promote 80", {"a": D, "b": P, "c": N})
    weak = View("promote 55", {"a": D, "b": P, "c": N})
    idle = View("promote 12", {"a": D, "b": P, "c": N})
    topic = Topic("t", "bike 40", docs, (plain, keep, good, weak, idle))
    drops = Drops()
    (left,) = swap(Angles())([topic], drops)  # type: ignore[arg-type]
    assert left.views == (plain, keep, good)
    assert [row["reason"] for row in drops.rows] == [
        "a third document wins under the new instruction",
        "clicked document still wins under the new instruction",
    ]


def test_stage_drops_nothing_where_the_scorer_is_blind(capsys: pytest.CaptureFixture[str]) -> None:
    docs = (Doc("a", "new 0"), Doc("b", "used 90"))
    views = (View("keep 10", {"a": P, "b": D}), View("promote 10", {"a": D, "b": P}))
    topics = [Topic(f"t{n}", "bike 40", docs, views) for n in range(5)]
    drops = Drops()
    assert list(swap(Angles())(topics, drops)) == topics  # type: ignore[arg-type]
    assert not drops.rows and "cannot see instructions" in capsys.readouterr().err


def test_command() -> None:
    from obverse.cli import _register, app

    _register()
    done = CliRunner().invoke(app, ["swap", str(CASE / "scores.jsonl")])
    assert done.exit_code == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["verdict"] for row in rows] == ["keep", *["drop"] * 5]
    done = CliRunner().invoke(app, ["swap", str(CASE / "scores_blind_encoder.jsonl")])
    assert "cannot see instructions" in done.stderr
