"""A small method for tests of the engine: one question, or two where the topic's query asks for it."""

from __future__ import annotations

from random import Random

from pydantic import BaseModel, Field

from obverse.records import Label, Topic, View
from obverse.synthesis.dialogue import Dialogue, Prompt, Rejected, Skip


class Rewrite(BaseModel):
    new_instruction: str = Field(description="the new instruction")


def check(answer: Rewrite) -> None:
    if "forbidden" in answer.new_instruction:
        raise Rejected("forbidden-word", answer.new_instruction)


def contrast(topic: Topic, rng: Random, tone: str = "plain") -> Dialogue[list[View]]:
    if topic.query == "skip me":
        raise Skip("nothing to contrast")
    docs = "\n".join(doc.text for doc in topic.docs)
    prompt = Prompt("rewrite", f"Be {tone}.", f"{topic.query}\n{docs}", Rewrite, check)
    first = yield prompt
    text = first.new_instruction
    if "twice" in topic.query:
        second = yield Prompt("polish", "Polish.", text, Rewrite, check)
        text = second.new_instruction
    labels = {
        doc.doc_id: Label.POSITIVE if n else Label.NEGATIVE for n, doc in enumerate(topic.docs)
    }
    return [View(text, labels)]
