"""Requests and tokens a minute."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from fake_server import running
from toy_asker import condition, topics

from obverse.errors import SettingError
from obverse.llm.fake_endpoint import FakeEndpoint
from obverse.llm.forms import Form
from obverse.llm.live import LLM
from obverse.llm.pace import Pace
from obverse.llm.reply import Usage
from obverse.stages import Drops
from obverse.synthesis.engine import synthesize


def sent_at(pace: Pace, seconds: float, tokens: int = 0) -> list[float]:
    """Returns when requests go out that are always there."""
    now, times = 1_000.0, []
    while now < 1_000.0 + seconds:
        if now >= pace.ready_at:
            pace.sent(now, tokens)
            times.append(now)
        else:
            now = pace.ready_at
    return times


@pytest.mark.parametrize("limit", [1, 7, 60, 61, 1_000, 30_000])
def test_no_minute_has_more_requests_than_allowed_and_hardly_fewer(limit: int) -> None:
    times = sent_at(Pace(requests_per_minute=limit), 180.0)
    most = max(sum(a <= b < a + 60.0 for b in times) for a in times[:: max(1, len(times) // 50)])
    assert 0.95 * limit - 1 <= most <= limit


def test_tokens_count_what_a_request_may_take_until_the_reply_says_what_it_took() -> None:
    pace = Pace(tokens_per_minute=6_000)
    assert len(sent_at(pace, 60.0, tokens=1_000)) <= 6
    pace = Pace(tokens_per_minute=6_000)
    pace.sent(0.0, 3_000)
    late = pace.ready_at
    pace.used(3_000, Usage(prompt=200, completion=100))
    assert 29 < late < 32 and pace.ready_at < 4
    pace.used(0, Usage())  # unknown stays as it was set aside
    assert pace.ready_at < 4


def test_both_limits_hold_together() -> None:
    pace = Pace(requests_per_minute=600, tokens_per_minute=6_000)
    assert len(sent_at(pace, 60.0, tokens=1_000)) <= 6
    assert 500 < len(sent_at(Pace(600, 6_000_000), 60.0, tokens=10)) <= 600


def test_a_run_keeps_to_it(tmp_path: Path) -> None:
    fake = FakeEndpoint(seconds=0.0)
    with running(fake) as url:
        llm = LLM(url, "fake", form=Form.TAGS, pace=Pace(requests_per_minute=1_200))
        begun = time.monotonic()
        made = synthesize(topics(50), Drops(), method=condition, llm=llm, run_dir=tmp_path)
        assert sum(len(topic.instructed_views) for topic in made) == 50
    assert time.monotonic() - begun > 1.3  # 20 at once, then 20 a second


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_is_a_number_above_0(rate: float) -> None:
    with pytest.raises(SettingError, match="above 0"):
        Pace(requests_per_minute=rate)
