from __future__ import annotations

import math
import re
from random import Random

import pytest

from obverse.report.axes import labels, ticks
from obverse.report.gain_plot import _binned, gain_plot
from obverse.report.loss_plot import loss_plot
from obverse.report.page_data import Gains, LossPoint, ModelScores, Score
from obverse.report.trade_plot import trade_plot


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0, 100, ["0", "20", "40", "60", "80", "100"]),
        (-0.12, 0.31, ["−0.1", "0.0", "0.1", "0.2", "0.3"]),
        (0, 1.7, ["0.0", "0.5", "1.0", "1.5"]),
        (0, 12_000, ["0", "2,000", "4,000", "6,000", "8,000", "10,000", "12,000"]),
    ],
)
def test_ticks_are_round_and_evenly_written(low: float, high: float, shown: list[str]) -> None:
    assert labels(ticks(low, high)) == shown


def test_the_threshold_is_an_edge_and_what_lies_on_it_is_dropped() -> None:
    edges, counts, first_kept = _binned([-0.2, 0.0, 1e-15, 0.1, 0.3], 0.0)
    assert edges[first_kept] == 0.0
    assert sum(counts[:first_kept]) == 2
    assert sum(counts[first_kept:]) == 3


@pytest.mark.parametrize("threshold", [-0.5, 0.0, 0.013, 0.7])
def test_bins_hold_every_value_on_its_side(threshold: float) -> None:
    rng = Random(3)
    values = [rng.gauss(0.1, 0.2) for _ in range(500)]
    edges, counts, first_kept = _binned(values, threshold)
    assert len(edges) == len(counts) + 1
    assert edges == sorted(edges)
    assert sum(counts[first_kept:]) == sum(value > threshold for value in values)
    assert sum(counts) == 500
    assert len(counts) < 80


@pytest.mark.parametrize("values", [[0.0], [0.2], [-0.2], [0.1, 0.1], [math.nan, 0.1], [1e-9]])
def test_odd_gains_are_drawn(values: list[float]) -> None:
    text = gain_plot(Gains(values))
    assert text is not None
    assert "nan" not in text


def test_the_histogram_says_what_was_kept() -> None:
    text = gain_plot(Gains([-0.1, 0.0, 0.2, 0.3]))
    assert text is not None
    assert "2 kept" in text
    assert "2 dropped" in text
    assert gain_plot(Gains([])) is None


def test_a_long_log_is_drawn_with_few_points() -> None:
    text = loss_plot([LossPoint(n, 2 + math.sin(n), 1e-5) for n in range(20_000)])
    assert text is not None
    assert len(text) < 20_000
    assert "learning rate, at most 1e−5" in text


def test_a_log_without_learning_rate_or_of_one_step() -> None:
    text = loss_plot([LossPoint(1, 2.0), LossPoint(2, 1.0)])
    assert text is not None
    assert "learning rate" not in text
    assert loss_plot([LossPoint(1, 2.0)]) is None
    assert loss_plot([]) is None
    flat = loss_plot([LossPoint(1, 0.0), LossPoint(2, 0.0)])
    assert flat is not None
    assert "nan" not in flat


def both(p_mrr: float, guard: float) -> dict[str, Score]:
    return {
        "p_mrr": Score(p_mrr, p_mrr - 0.05, p_mrr + 0.05),
        "guard_ndcg@10": Score(guard, guard - 0.04, guard + 0.04),
    }


def test_the_arrow_leads_from_the_first_model_to_the_last() -> None:
    models = [ModelScores(name, both(x, 0.6)) for name, x in (("a", 0.2), ("b", 0.3), ("c", 0.5))]
    text = trade_plot(models, 0.01)
    assert text is not None
    assert text.count('class="arrow"') == 1
    assert [text.count(f'class="{kind}"') for kind in ("base", "between", "trained")] == [1, 1, 1]
    assert "1 point lower" in text
    points = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', text)]
    assert points == sorted(points)


def test_a_point_without_an_interval_and_models_without_values() -> None:
    lone = ModelScores("a", {"p_mrr": Score(0.2), "guard_ndcg@10": Score(0.6)})
    text = trade_plot([lone, ModelScores("b", {"p_mrr": Score(0.2)})])
    assert text is not None
    assert "whisker" not in text
    assert trade_plot([ModelScores("b", {"p_mrr": Score(0.2)})]) is None
