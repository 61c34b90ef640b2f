"""Requests at once by day and hour."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from fake_server import running
from toy_asker import condition, topics

from obverse.errors import SettingError
from obverse.llm.fake_endpoint import FakeEndpoint
from obverse.llm.forms import Form
from obverse.llm.limiter import Limiter
from obverse.llm.live import LLM
from obverse.llm.schedule import read_schedule
from obverse.stages import Drops
from obverse.synthesis.engine import synthesize

SUNDAY = 29  # of November 2026


@pytest.mark.parametrize(
    ("day", "hour", "cap"),
    [
        (SUNDAY + 1, 8, 3),
        (SUNDAY + 1, 18, 3),
        (SUNDAY + 1, 19, 50),
        (SUNDAY + 1, 23, 200),
        (SUNDAY + 1, 5, 200),
        (SUNDAY, 12, 64),
        (SUNDAY, 2, 64),
        (SUNDAY - 1, 12, 64),
    ],
)
def test_the_first_entry_that_fits_counts(day: int, hour: int, cap: int) -> None:
    schedule = read_schedule("Mon-Fri 08-19=3, sat-sun *=64, 22-6=200, *=50")
    now = datetime(2026, 11, day, hour) if day <= 30 else datetime(2026, 12, day - 30, hour)
    assert schedule.cap(now, 512) == cap and schedule.cap(now, 2) == min(cap, 2)


def test_days_and_hours_go_round() -> None:
    schedule = read_schedule("Sat-Mon 22-02=1")
    fits = [
        (day, hour)
        for day in range(23, 30)
        for hour in range(24)
        if schedule.cap(datetime(2026, 11, day, hour), 9) == 1
    ]
    assert fits == [(d, h) for d in (23, 28, 29) for h in (0, 1, 22, 23)]
    assert read_schedule(None).cap(datetime(2026, 11, 29), 7) == 7
    assert read_schedule("00-24=1").cap(datetime(2026, 11, 29, 13), 7) == 1


@pytest.mark.parametrize("text", ["x", "Mon=3", "Abc *=3", "Mon-Xyz *=3", "25-26=3", "*=-1", ","])
def test_what_is_no_schedule(text: str) -> None:
    with pytest.raises(SettingError, match="Mon-Fri 08-19=3"):
        read_schedule(text)


def test_a_cap_of_0_waits() -> None:
    limiter = Limiter(cap=0.0)
    assert not limiter.may_send(0.0)
    limiter.cap = 1.0
    assert limiter.may_send(0.0)


def test_a_run_keeps_to_it(tmp_path: Path) -> None:
    fake = FakeEndpoint(seconds=0.002)
    with running(fake) as url:
        llm = LLM(url, "fake", form=Form.TAGS, schedule=read_schedule("*=3"))
        made = synthesize(topics(60), Drops(), method=condition, llm=llm, run_dir=tmp_path)
        assert sum(len(topic.instructed_views) for topic in made) == 60
    assert fake._most <= 3
