"""The LLM judge, with recorded replies through the engine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from obverse.errors import SettingError
from obverse.files import write_json_lines
from obverse.filters.judge import decide, judge, judge_views
from obverse.llm.fake_endpoint import FakeEndpoint, serve
from obverse.llm.forms import Form
from obverse.llm.live import LLM
from obverse.llm.recorded import RecordedReplies
from obverse.records import Doc, Label, Topic, View
from obverse.sampling import rng_for
from obverse.stages import Drops

P, D, N, X = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE, Label.IGNORE
DOCS = (Doc("a", "A brand new bike."), Doc("b", "A used bike."), Doc("c", "A bike helmet."))
KEEP = View("New only.", {"a": P, "b": D, "c": N}, {"method": "m", "model": "writer"})
TURN = View("Used only.", {"a": D, "b": P, "c": N}, {"method": "m", "model": "writer"})
TOPIC = Topic("t", "bike", DOCS, (View("", {"a": P, "b": N, "c": N}), KEEP, TURN))


def answer(numbers: dict[str, int], **verdicts: str) -> str:
    rows = [
        {"document": number, "evidence": "bike", "verdict": verdicts.get(doc_id, "breaks")}
        for doc_id, number in numbers.items()
    ]
    return json.dumps({"documents": rows})


def orders(topic: Topic) -> list[dict[str, int]]:
    """Returns the numbers of the documents in each question."""
    dialogue, found = judge_views(topic, rng_for(0, "judge_views", topic.topic_id)), []
    prompt = next(dialogue)
    try:
        while True:
            texts = {doc.doc_id: prompt.user.index(f"\n{doc.text}\n") for doc in DOCS}
            numbers = {d: n for n, d in enumerate(sorted(texts, key=texts.__getitem__), start=1)}
            found.append(numbers)
            prompt = dialogue.send(prompt.answer.model_validate_json(answer(numbers)))
    except StopIteration:
        return found


def run(
    tmp_path: Path, *verdicts: dict[str, str], topic: Topic = TOPIC, **settings: Any
) -> tuple[list[Topic], Drops]:
    replies = [
        {
            "method": "judge_views",
            "stage": "judge",
            "topic_id": "t",
            "sample": n,
            "reply": answer(numbers, **said),
        }
        for n, (numbers, said) in enumerate(zip(orders(topic), verdicts, strict=True))
    ]
    path = tmp_path / "replies.jsonl"
    write_json_lines(path, replies)
    drops = Drops()
    stage = judge(RecordedReplies(path), tmp_path / "run", **settings)
    return list(stage([topic], drops)), drops


def test_questions_are_blind_and_in_two_orders() -> None:
    first, second, *_ = orders(TOPIC)
    assert sorted(first) == sorted(second) and [4 - n for n in first.values()] == [
        second[d] for d in first
    ]
    dialogue = judge_views(TOPIC, rng_for(0))
    text = next(dialogue).user
    assert "New only." in text and "Used only." not in text and "positive" not in text


def test_good_views_stay(tmp_path: Path) -> None:
    new, used = {"a": "satisfies"}, {"b": "satisfies"}
    (left,), drops = run(tmp_path, new, new, used, used)
    assert [view.labels for view in left.views] == [view.labels for view in TOPIC.views]
    assert left.views[1].checks["judge"]["valid"] is True
    assert left.views[1].checks["judge"]["forward"] == {
        "a": "satisfies",
        "b": "breaks",
        "c": "breaks",
    }
    assert left.views[1].origin == KEEP.origin and not drops.rows


def test_bad_views_go(tmp_path: Path) -> None:
    new, both, none = {"a": "satisfies"}, {"a": "satisfies", "b": "satisfies"}, {"c": "off_topic"}
    (left,), drops = run(tmp_path, both, both, none, none)
    assert len(left.views) == 1
    assert [row["reason"] for row in drops.rows] == [
        "judge: an instruction negative satisfies the instruction",
        "judge: the positive does not satisfy the instruction",
    ]
    (tmp_path / "second").mkdir()
    (left,), drops = run(tmp_path / "second", new, both, new, {"b": "satisfies"})
    assert [row["reason"] for row in drops.rows] == ["judge: the two orders disagree"] * 2


def test_negatives_that_satisfy_are_ignored(tmp_path: Path) -> None:
    extra, used = {"a": "satisfies", "c": "satisfies"}, {"b": "satisfies"}
    (left,), drops = run(tmp_path, extra, {"a": "satisfies"}, used, used)
    assert list(left.views[1].labels.values()) == [P, D, X]
    assert drops.rows[0]["doc_id"] == "c"


def test_evidence_must_stand_in_the_document(tmp_path: Path) -> None:
    replies = [
        {
            "method": "judge_views",
            "stage": "judge",
            "topic_id": "t",
            "sample": n,
            "reply": answer(numbers, a="satisfies", b="satisfies").replace('"bike"', f'"{span}"'),
        }
        for n, (numbers, span) in enumerate(
            zip(orders(TOPIC), ["boat", "", "A BIKE", "x"], strict=True)
        )
    ]
    path = tmp_path / "replies.jsonl"
    write_json_lines(path, replies)
    drops = Drops()
    (left,) = judge(RecordedReplies(path), tmp_path / "run")([TOPIC], drops)
    assert left.views == TOPIC.views[:1]
    assert drops.by_reason == {"judge: no usable verdict": 2}


def test_no_model_judges_its_own_views(tmp_path: Path) -> None:
    own = TOPIC.with_views([TOPIC.views[0], View("New.", KEEP.labels, {"model": "recorded"})])
    new = {"a": "satisfies"}
    with pytest.raises(SettingError, match="would judge what it wrote itself"):
        run(tmp_path, new, new, topic=own)
    (left,), _ = run(tmp_path, new, new, topic=own, same_model=True)
    assert len(left.views) == 2


def test_what_was_not_judged_goes() -> None:
    drops = Drops()
    left = decide(TOPIC, drops)
    assert left is not None and len(left.views) == 1
    assert drops.by_reason == {"judge: no usable verdict": 2}


def test_golden_question() -> None:
    prompt = next(judge_views(TOPIC, rng_for(0)))
    path = Path(__file__).parents[1] / "data" / "prompts" / "judge.txt"
    text = f"[system]\n{prompt.system}\n\n[user]\n{prompt.user}\n"
    if not path.exists():
        path.write_text(text)
        pytest.fail(f"wrote {path.name}: read it, then run again")
    assert text == path.read_text(), "the judge's question has changed"


@contextlib.contextmanager
def running(fake: FakeEndpoint) -> Iterator[str]:
    """Yields the base URL of a fake endpoint in a thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner, url = asyncio.run_coroutine_threadsafe(serve(fake), loop).result()
    yield url
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def by_endpoint(
    tmp_path: Path, said: Any, *, logprobs: bool = True, **settings: Any
) -> tuple[list[Topic], Drops, FakeEndpoint]:
    fake = FakeEndpoint(seconds=0.0, reply=said, logprobs=logprobs)
    drops = Drops()
    with running(fake) as url:
        llm = LLM(url, "fake", form=Form.TAGS)
        stage = judge(llm, tmp_path / "run", scoring="logprobs", **settings)
        return list(stage([TOPIC], drops)), drops, fake


def asked_for_used(body: dict[str, Any]) -> tuple[bool, bool]:
    text = body["messages"][-1]["content"]
    return "Used only." in text, "A used bike." in text


def test_the_probability_of_yes(tmp_path: Path) -> None:
    def said(body: dict[str, Any]) -> str:
        used, used_bike = asked_for_used(body)
        helmet = "helmet" in body["messages"][-1]["content"]
        return "yes" if not helmet and used == used_bike else "no"

    (left,), drops, fake = by_endpoint(tmp_path, said)
    assert len(left.views) == 3 and not drops.rows and fake.counts["requests"] == 6
    found = left.views[1].checks["judge"]
    assert found["valid"] is True and found["yes_at"] == 0.5
    assert found["probabilities"] == pytest.approx({"a": 0.8, "b": 0.2, "c": 0.2})
    (left,), drops, _ = by_endpoint(tmp_path, said, yes_at=0.9)
    assert drops.by_reason == {"judge: the positive does not satisfy the instruction": 2}


@pytest.mark.parametrize("word", ["yes", "<think>Let me"])
def test_without_log_probabilities_the_judge_goes_by_text(tmp_path: Path, word: str) -> None:
    def said(body: dict[str, Any]) -> str:
        if "logprobs" in body:
            return word
        used, _ = asked_for_used(body)
        text = body["messages"][-1]["content"]
        places = {d: text.index(f"\n{doc.text}\n") for d, doc in zip("abc", DOCS, strict=True)}
        numbers = {d: n for n, d in enumerate(sorted(places, key=places.__getitem__), start=1)}
        return f"<answer>{json_to_tags(answer(numbers, **{'b' if used else 'a': 'satisfies'}))}</answer>"

    (left,), drops, fake = by_endpoint(tmp_path, said, logprobs=False)
    assert len(left.views) == 3 and not drops.rows
    assert "forward" in left.views[1].checks["judge"]
    assert fake.counts["requests"] == (6 if word == "yes" else 8)


def json_to_tags(text: str) -> str:
    return f"<documents>{json.dumps(json.loads(text)['documents'])}</documents>"


@pytest.mark.parametrize("settings", [{"scoring": "stars"}, {"yes_at": 0.0}, {"yes_at": 1.5}])
def test_odd_settings(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        judge(LLM("http://x/v1", "m"), tmp_path, **settings)
