"""The fake LLM is good for a dry run of every method: some of what it says makes views."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_server import running

from obverse.filters.judge import judge
from obverse.llm.fake_endpoint import FakeEndpoint
from obverse.llm.forms import Form
from obverse.llm.live import LLM
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops
from obverse.synthesis.engine import synthesize

P, N = Label.POSITIVE, Label.NEGATIVE


def topics(count: int) -> list[Topic]:
    docs = tuple(Doc(d, f"The {d} thing is described here at some length.") for d in "abcd")
    labels = {d: Label.POSITIVE if d == "a" else Label.NEGATIVE for d in "abcd"}
    return [Topic(f"t{n}", f"thing {n}", docs, (View("", labels),)) for n in range(count)]


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("method", ["promoted_negative", "natural_dual_view", "dual_view"])
def test_views_are_made(method: str, form: Form, tmp_path: Path) -> None:
    with running(FakeEndpoint(seconds=0.0)) as url:
        llm, drops = LLM(url, "fake", form=form), Drops()
        made = list(synthesize(topics(30), drops, method=method, llm=llm, run_dir=tmp_path / "run"))
    assert sum(len(topic.instructed_views) for topic in made) > 5, drops.by_reason


@pytest.mark.parametrize("form", list(Form))
def test_a_judge_gets_verdicts(form: Form, tmp_path: Path) -> None:
    views = [View(f"Only {d}.", {**dict.fromkeys("abcd", N), d: P}) for d in "ab"]
    came = [topic.with_views([*topic.views, *views]) for topic in topics(30)]
    with running(FakeEndpoint(seconds=0.0)) as url:
        drops = Drops()
        stage = judge(LLM(url, "fake", form=form), tmp_path / "run")
        list(stage(came, drops))
    assert "judge: no usable verdict" not in drops.by_reason and drops.rows
