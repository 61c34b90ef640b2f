from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fake_server import running
from toy_asker import condition, topics, two_steps

from obverse.errors import ModelError, SettingError
from obverse.llm.fake_endpoint import FAULTS, FakeEndpoint
from obverse.llm.forms import Form
from obverse.llm.journal import Journal
from obverse.llm.lanes import Unfinished
from obverse.llm.live import LLM
from obverse.llm.money import Budget, Price
from obverse.records import Topic
from obverse.stages import Drops
from obverse.synthesis.engine import synthesize


def run(
    llm: LLM, run_dir: Path, count: int = 20, method: Any = condition
) -> tuple[list[Topic], Drops]:
    drops = Drops()
    return list(synthesize(topics(count), drops, method=method, llm=llm, run_dir=run_dir)), drops


def fails(run_dir: Path) -> Counter[str]:
    with Journal(run_dir) as journal:
        return Counter(r["code"] for r in journal.records() if r["kind"] == "fail")


def instructed(out: list[Topic]) -> int:
    return sum(len(topic.instructed_views) for topic in out)


def test_every_topic_gets_its_view_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    fake = FakeEndpoint(seconds=0.01)
    with running(fake) as url:
        first = run(LLM(url, "fake"), tmp_path, 60, two_steps)
        asked = fake.counts["requests"]
        again = run(LLM(url, "fake"), tmp_path, 60, two_steps)
    assert instructed(first[0]) == 60 and asked == 121  # the canary is one
    assert fake.counts["requests"] == asked
    assert again[0] == first[0]
    assert first[0][0].instructed_views[0].origin["model"] == "fake"


def test_a_changed_stage_pays_for_that_stage_alone(tmp_path: Path) -> None:
    from random import Random

    from toy_asker import Condition

    from obverse.records import Label, View
    from obverse.synthesis.dialogue import Dialogue, Prompt

    def changed(topic: Topic, rng: Random) -> Dialogue[list[View]]:
        first = yield Prompt("first", "Write.", topic.query, Condition, max_tokens=64)
        second = yield Prompt(
            "second", "Shorten.", f"{topic.query}: {first.instruction}", Condition, max_tokens=64
        )
        return [View(second.instruction, {"b": Label.POSITIVE})]

    fake = FakeEndpoint(seconds=0.0)
    with running(fake) as url:
        run(LLM(url, "fake", form=Form.TAGS), tmp_path, 10, two_steps)
        run(LLM(url, "fake", form=Form.TAGS), tmp_path, 10, changed)
    assert fake.counts["requests"] == 20 + 10


@pytest.mark.parametrize(
    ("forms", "chosen"),
    [
        (tuple(Form), Form.JSON_SCHEMA),
        ((Form.VLLM, Form.TAGS), Form.VLLM),
        ((Form.JSON_OBJECT, Form.TAGS), Form.JSON_OBJECT),
        ((Form.TAGS,), Form.TAGS),
    ],
)
def test_the_canary_goes_down_the_ladder_once(
    tmp_path: Path, forms: tuple[Form, ...], chosen: Form
) -> None:
    fake = FakeEndpoint(seconds=0.0, forms=forms)
    with running(fake) as url:
        llm = LLM(url, "fake")
        out, _ = run(llm, tmp_path, 3)
        asked = fake.counts["requests"]
        run(LLM(url, "fake"), tmp_path, 3)
    assert llm.form is chosen and instructed(out) == 3
    assert fake.counts["requests"] == asked
    [verdict] = json.loads((tmp_path / "canary.json").read_text()).values()
    assert verdict["form"] == chosen


def test_a_form_that_is_accepted_and_not_kept_is_seen(tmp_path: Path) -> None:
    fake = FakeEndpoint(
        seconds=0.0, reply=lambda body: "<answer><colour>blue</colour><reason>x</reason></answer>"
    )
    with running(fake) as url:
        llm = LLM(url, "fake")
        run(llm, tmp_path, 1)
    assert llm.form is Form.TAGS
    assert "accepted but not kept" in (tmp_path / "canary.json").read_text()


def test_all_kinds_of_faults_end_in_views_or_rejects(tmp_path: Path) -> None:
    fake = FakeEndpoint(
        seconds=0.001, faults=0.6, kinds=tuple(f for f in FAULTS if f != "hang"), seed=3
    )
    with running(fake) as url:
        out, drops = run(LLM(url, "fake", form=Form.TAGS, retries=1), tmp_path, 200)
    assert len(out) == 200
    assert instructed(out) + len(drops.rows) == 200
    assert instructed(out) > 80
    assert {"no-answer-block", "refused", "status-500"} <= set(drops.by_reason)
    assert all(row.get("reply") is not None for row in drops.rows if row["reason"] == "refused")


def test_a_cap_is_found_with_few_refusals(tmp_path: Path) -> None:
    fake = FakeEndpoint(seconds=0.05, cap=40)
    with running(fake) as url:
        out, _ = run(LLM(url, "fake", form=Form.TAGS), tmp_path, 1_500)
    assert instructed(out) == 1_500
    assert fake.counts["refused"] < 0.05 * 1_500  # on a busy machine; the simulation has the figure


def test_retry_after_is_kept(tmp_path: Path) -> None:
    fake = FakeEndpoint(seconds=0.01, cap=0, retry_after=0.4)
    with running(fake) as url:
        opener = threading.Timer(0.2, lambda: setattr(fake, "cap", 50))
        opener.start()
        begun = time.monotonic()
        out, _ = run(LLM(url, "fake", form=Form.TAGS), tmp_path, 5)
    assert instructed(out) == 5
    assert 0.4 <= time.monotonic() - begun < 2
    assert fake.counts["refused"] <= 5


def test_two_endpoints_share_and_a_dead_one_only_loses_its_own(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        fakes = [FakeEndpoint(seconds=0.01), FakeEndpoint(seconds=0.01)]
        with running(fakes[0]) as one, running(fakes[1]) as two:
            llm = LLM([one, two, dead], "fake", form=Form.TAGS, retries=20)
            llm_out, _ = run(llm, tmp_path, 300)
    assert instructed(llm_out) == 300
    assert all(fake.counts["answered"] > 50 for fake in fakes)
    assert fails(tmp_path)["no-connection"] <= 30


def test_an_endpoint_that_hangs_is_given_up_and_the_row_rejected(tmp_path: Path) -> None:
    fake = FakeEndpoint(faults=1.0, kinds=("hang",))
    with running(fake) as url:
        llm = LLM(url, "fake", form=Form.TAGS, timeout=0.2, retries=1)
        out, drops = run(llm, tmp_path, 2)
    assert instructed(out) == 0
    assert drops.by_reason == {"time-out": 2}
    assert fails(tmp_path)["time-out"] == 4


def test_a_prompt_that_is_too_long_loses_its_own_row_only(tmp_path: Path) -> None:
    class Fussy(FakeEndpoint):
        async def _answer(self, body: dict[str, Any]) -> Any:
            from obverse.llm.fake_endpoint import _error

            if "thing 3" in body["messages"][1]["content"]:
                return _error(400, "This model's maximum context length is 512 tokens.")
            return await super()._answer(body)

    with running(Fussy(seconds=0.0)) as url:
        out, drops = run(LLM(url, "fake", form=Form.TAGS), tmp_path, 10)
    assert instructed(out) == 9
    assert [(row["topic_id"], row["reason"]) for row in drops.rows] == [("t3", "prompt-too-long")]


@pytest.mark.parametrize(
    ("status", "message", "told"),
    [
        (401, "bad key", "refuses the key"),
        (404, "no such model", "knows no model 'fake'"),
        (429, "insufficient_quota", "no quota left"),
    ],
)
def test_what_cannot_work_ends_the_run_at_once(
    tmp_path: Path, status: int, message: str, told: str
) -> None:
    class Closed(FakeEndpoint):
        async def _answer(self, body: dict[str, Any]) -> Any:
            from obverse.llm.fake_endpoint import _error

            return _error(status, message)

    for form in (None, Form.TAGS):
        fake = Closed(seconds=0.0)
        with running(fake) as url, pytest.raises(ModelError, match=told):
            run(LLM(url, "fake", form=form), tmp_path / str(form), 500)
        assert fake.counts["requests"] <= 20


def test_no_server_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        with pytest.raises(ModelError, match="cannot be reached"):
            run(LLM(url, "fake"), tmp_path, 1)


def test_a_stall_ends_with_the_status_for_schedulers(tmp_path: Path) -> None:
    fake = FakeEndpoint(cap=0)
    with running(fake) as url:
        llm = LLM(url, "fake", form=Form.TAGS, max_stall=0.5)
        with pytest.raises(Unfinished, match="no endpoint has answered") as caught:
            run(llm, tmp_path, 5)
    assert caught.value.exit_status == 75
    assert fake.counts["requests"] < 60


def test_a_stopped_run_keeps_what_was_in_flight(tmp_path: Path) -> None:
    fake = FakeEndpoint(seconds=0.3)
    with running(fake) as url:
        llm = LLM(url, "fake", form=Form.TAGS)
        threading.Timer(0.4, llm.stop, ["stopped"]).start()
        with pytest.raises(Unfinished, match="stopped: "):
            run(llm, tmp_path, 200)
        with Journal(tmp_path) as journal:
            assert journal.found.in_flight == 0
            assert journal.found.done == fake.counts["answered"] > 0
        out, _ = run(LLM(url, "fake", form=Form.TAGS), tmp_path, 200)
    assert instructed(out) == fake.counts["requests"] == 200


def test_closing_early_keeps_what_was_in_flight(tmp_path: Path) -> None:
    fake = FakeEndpoint(seconds=0.1)
    with running(fake) as url:
        llm = LLM(url, "fake", form=Form.TAGS)
        with contextlib.closing(
            synthesize(topics(100), Drops(), method=condition, llm=llm, run_dir=tmp_path)
        ) as out:
            next(out)  # type: ignore[call-overload]
    with Journal(tmp_path) as journal:
        assert journal.found.in_flight == 0
        assert journal.found.done == fake.counts["answered"] < 100


def test_a_cost_limit_stops_asking_before_it_is_passed(tmp_path: Path) -> None:
    price = Price(input=1_000.0, output=10_000.0)
    fake = FakeEndpoint(seconds=0.01)
    with running(fake) as url:
        budget = Budget(5.0, price)
        llm = LLM(url, "fake", form=Form.TAGS, budget=budget)
        out, drops = run(llm, tmp_path, 100)
        assert 0 < instructed(out) < 100
        assert drops.by_reason == {"cost limit reached": 100 - instructed(out)}
        assert budget.spent <= 5.0 and budget.reserved == 0
        assert len(out) == instructed(out)
        again = Budget(5.0, price)
        more, _ = run(LLM(url, "fake", form=Form.TAGS, budget=again), tmp_path, 100)
        assert len(more) >= len(out) and budget.spent <= again.spent <= 5.0


def test_a_cost_limit_without_a_price_is_refused() -> None:
    with pytest.raises(SettingError, match="price"):
        Budget(5.0, None)


def test_bad_urls_are_refused() -> None:
    for url in ("localhost:8000", "http://", "ftp://x/v1", ""):
        with pytest.raises(SettingError, match="no base URL"):
            LLM(url, "m")


def test_rows_that_always_fail_do_not_close_the_endpoint(tmp_path: Path) -> None:
    class Fussy(FakeEndpoint):
        async def _answer(self, body: dict[str, Any]) -> Any:
            from obverse.llm.fake_endpoint import _error

            if body["messages"][1]["content"].endswith("7"):
                return _error(500, "cannot")
            return await super()._answer(body)

    with running(Fussy(seconds=0.0)) as url:
        llm = LLM(url, "fake", form=Form.TAGS, retries=1)
        out, drops = run(llm, tmp_path, 100)
    assert instructed(out) == 90 and drops.by_reason == {"status-500": 10}
