"""What docs/synthesis.md promises and no other test looks at."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fake_server import running
from toy_asker import Condition, condition, topics, two_steps

import obverse
from obverse.errors import SettingError
from obverse.llm.fake_endpoint import FakeEndpoint
from obverse.llm.forms import Form, chat_body
from obverse.llm.live import LLM
from obverse.records import Label, Topic, View
from obverse.stages import Drops
from obverse.synthesis.conversation import repair_turn
from obverse.synthesis.dialogue import Dialogue, Prompt, Rejected
from obverse.synthesis.engine import synthesize

HOME = Path(obverse.__file__).parent


def test_a_run_where_nearly_everything_is_unusable_ends_early(tmp_path: Path) -> None:
    fake = FakeEndpoint(seconds=0.0, faults=1.0, kinds=("prose",))
    with running(fake) as url, pytest.raises(SettingError, match="came to nothing"):
        llm = LLM(url, "fake", form=Form.TAGS, max_concurrency=4)
        list(
            synthesize(
                topics(2_000),
                Drops(),
                method=condition,
                llm=llm,
                run_dir=tmp_path,
                open_topics=50,
            )
        )
    assert 200 <= fake.counts["requests"] < 1_000
    told = (tmp_path / "rejects.jsonl").read_text()
    assert told.count("no-answer-block") >= 200


def test_and_goes_on_where_that_is_wanted(tmp_path: Path) -> None:
    fake = FakeEndpoint(seconds=0.0, faults=1.0, kinds=("prose",))
    with running(fake) as url:
        llm, drops = LLM(url, "fake", form=Form.TAGS), Drops()
        made = synthesize(
            topics(150),
            drops,
            method=condition,
            llm=llm,
            run_dir=tmp_path,
            max_reject_rate=1.0,
        )
        assert len(list(made)) == 150 and drops.by_reason == {"no-answer-block": 150}


def test_a_slow_topic_holds_back_only_itself(tmp_path: Path) -> None:
    class OneIsSlow(FakeEndpoint):
        before = 0

        async def _answer(self, body: dict[str, Any]) -> Any:
            if body["messages"][-1]["content"] == "thing 0":
                await asyncio.sleep(1.5)
                self.before = self.counts["answered"]
            return await super()._answer(body)

    fake = OneIsSlow(seconds=0.0)
    with running(fake) as url:
        llm = LLM(url, "fake", form=Form.TAGS)
        made = synthesize(
            topics(200), Drops(), method=two_steps, llm=llm, run_dir=tmp_path, open_topics=30
        )
        assert [topic.topic_id for topic in made] == [topic.topic_id for topic in topics(200)]
    assert fake.before > 300  # of 399, though only 30 topics are under way at once


def test_nothing_is_pickled() -> None:
    for area in ("llm", "synthesis", "filters", "audit"):
        for path in (HOME / area).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom):
                    names = [node.module or ""]
                found = {name.split(".")[0] for name in names}
                assert not found & {"pickle", "shelve", "diskcache", "dill", "cloudpickle"}, path


def test_time_outs_do_not_run_while_a_request_waits_for_its_turn(tmp_path: Path) -> None:
    fake = FakeEndpoint(seconds=0.1)
    with running(fake) as url:
        llm = LLM(url, "fake", form=Form.TAGS, max_concurrency=1, timeout=0.5, retries=0)
        drops = Drops()
        made = synthesize(topics(12), drops, method=condition, llm=llm, run_dir=tmp_path)
        assert sum(len(topic.instructed_views) for topic in made) == 12 and not drops.rows


def test_a_better_reader_reads_old_replies_for_free(tmp_path: Path) -> None:
    def strict(answer: Condition) -> None:
        raise Rejected("not-to-my-taste")

    def method(check: Any) -> Any:
        def taste(topic: Topic, rng: Random) -> Dialogue[list[View]]:
            answer = yield Prompt("write", "Write.", topic.query, Condition, check, max_tokens=64)
            return [View(answer.instruction, {"b": Label.POSITIVE})]

        return taste

    fake = FakeEndpoint(seconds=0.0)
    with running(fake) as url:
        views = []
        for check in (strict, None):
            llm = LLM(url, "fake", form=Form.TAGS)
            made = synthesize(topics(5), Drops(), method=method(check), llm=llm, run_dir=tmp_path)
            views.append(sum(len(topic.instructed_views) for topic in made))
    assert views == [0, 5] and fake.counts["requests"] == 10  # five, and five repair turns


def test_a_second_try_holds_the_prompt_and_what_was_wrong_and_no_dialogue() -> None:
    prompt = Prompt("write", "Write.", "the documents and the question", Condition)
    again = repair_turn(prompt, Rejected("wrong-form", "x" * 10_000))
    assert again.user.startswith(prompt.user) and again.system == prompt.system
    assert len(again.user) < len(prompt.user) + 400
    assert len(chat_body(again, model="m", form=Form.TAGS)["messages"]) == 2
