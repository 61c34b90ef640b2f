"""Fourteen replies as they come in practice, half of them unusable, through the path of every reply."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pydantic import BaseModel, Field

from obverse.llm.recorded import RecordedReplies
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops
from obverse.synthesis.dialogue import Dialogue, Prompt
from obverse.synthesis.engine import synthesize
from obverse.synthesis.wording import check_instruction

DATA = Path(__file__).parent.parent / "data" / "messy_replies"


class Reversal(BaseModel):
    new_instruction: str = Field(description="the new instruction")


def rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


CONTEXT = json.loads((DATA / "context.json").read_text())


def reverse(topic: Topic, rng: Random) -> Dialogue[list[View]]:
    def check(answer: Reversal) -> None:
        check_instruction(
            answer.new_instruction,
            query=topic.query,
            texts=[doc.text for doc in topic.docs],
            original=CONTEXT["original_instruction"],
        )

    answer = yield Prompt("reverse", "Turn it round.", topic.query, Reversal, check)
    return [View(answer.new_instruction, {"n": Label.POSITIVE, "c": Label.INSTRUCTION_NEGATIVE})]


def topics() -> Iterator[Topic]:
    docs = (Doc("c", CONTEXT["clicked"]), Doc("n", CONTEXT["negative"]))
    for row in rows("replies.jsonl"):
        plain = View("", {"c": Label.POSITIVE, "n": Label.NEGATIVE})
        yield Topic(row["id"], CONTEXT["query"], docs, (plain,))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Topic], Drops, Path]:
    folder = tmp_path_factory.mktemp("messy")
    recorded = folder / "replies.jsonl"
    recorded.write_text(
        "".join(
            json.dumps(
                {"method": "reverse", "stage": "reverse", "topic_id": r["id"], "reply": r["raw"]}
            )
            + "\n"
            for r in rows("replies.jsonl")
        )
    )
    drops = Drops()
    out = synthesize(
        topics(), drops, method=reverse, llm=RecordedReplies(recorded), run_dir=folder / "run"
    )
    return {topic.topic_id: topic for topic in out}, drops, folder / "run"


@pytest.mark.parametrize("expected", rows("expected.jsonl"), ids=lambda row: row["id"])
def test_verdict_and_instruction(
    expected: dict[str, str], made: tuple[dict[str, Topic], Drops, Path]
) -> None:
    done, drops, _ = made
    new = [view.instruction for view in done[expected["id"]].instructed_views]
    reasons = [row["reason"] for row in drops.rows if row["topic_id"] == expected["id"]]
    if expected["verdict"] == "accept":
        assert (new, reasons) == ([expected["instruction"]], [])
    else:
        assert (new, reasons) == ([], [expected["reason"]])


def test_rejects_keep_their_raw_text(made: tuple[dict[str, Topic], Drops, Path]) -> None:
    _, drops, run = made
    raw = {row["id"]: row["raw"] for row in rows("replies.jsonl")}
    rejects = [json.loads(line) for line in (run / "rejects.jsonl").read_text().splitlines()]
    assert len(rejects) == len(drops.rows) == 9
    assert all(row["reply"] == raw[row["topic_id"]] and row["code"] for row in rejects)
    assert all(row["reply"] == raw[row["topic_id"]] for row in drops.rows)
