"""The page in a real browser: no error, no request, nothing wider than the window. Skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from headless_chromium import Chromium, chromium, find_chromium

from obverse.report.page import page
from obverse.report.page_data import PageData

PROGRAM = find_chromium()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium or Chrome is installed")


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    assert PROGRAM is not None
    with chromium(PROGRAM) as running:
        yield running


@pytest.fixture
def shown(page_data: PageData, tmp_path: Path) -> Path:
    file = tmp_path / "page.html"
    file.write_text(page(page_data), encoding="utf-8")
    return file


@pytest.mark.parametrize("width", [1280, 760, 390, 320])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_the_window_without_errors(
    browser: Chromium, shown: Path, width: int, dark: bool
) -> None:
    browser.open(shown, width=width, dark=dark)
    browser.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    # `documentElement.clientWidth` grows with what overflows on an emulated phone; the asked width does not.
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.querySelectorAll('svg.plot').length") == 3
    faults = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
    assert [event for event in browser.events if event["method"] in faults] == []
    asked = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert asked == [shown.resolve().as_uri()]


def test_both_schemes_differ(browser: Chromium, shown: Path) -> None:
    papers = []
    for dark in (False, True):
        browser.open(shown, width=1280, dark=dark)
        papers.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(set(papers)) == 2


def test_rows_of_both_columns_stand_level(browser: Chromium, shown: Path) -> None:
    for width in (1280, 390):
        browser.open(shown, width=width)
        uneven = browser.evaluate(
            """[...document.querySelectorAll('.moves')].filter(moves => {
                const tops = [...moves.querySelectorAll('ol')].map(
                    list => [...list.children].map(row => Math.round(row.getBoundingClientRect().top)).join());
                return new Set(tops).size > 1;
            }).length"""
        )
        assert uneven == 0


def test_endless_words_do_not_widen_a_phone(
    browser: Chromium, page_data: PageData, tmp_path: Path
) -> None:
    endless = "x" * 300
    topic = replace(page_data.topics[0], query=endless)
    named = [replace(model, name=model.name + endless) for model in page_data.models]
    file = tmp_path / "endless.html"
    data = replace(page_data, title=endless, topics=[topic], models=named, facts={endless: endless})
    file.write_text(page(data), encoding="utf-8")
    browser.open(file, width=390)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
