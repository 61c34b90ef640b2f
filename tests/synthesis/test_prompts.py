"""What the questions look like: golden files, changed only on purpose (delete one, run, read it, commit)."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from canned import drive, topic_of

from obverse.records import Doc, Label, Topic, View
from obverse.synthesis.dialogue import Prompt, Rejected, Skip
from obverse.synthesis.documents import show

GOLDEN = Path(__file__).parents[1] / "data" / "prompts"
TOPIC = topic_of(
    "Brand new mountain bike, sealed box.",
    "Refurbished mountain bike with 21 gears.",
    "Mountain bike helmet for children.",
)
KEEP = View(
    "Only brand new items.",
    {"a": Label.POSITIVE, "b": Label.INSTRUCTION_NEGATIVE, "c": Label.INSTRUCTION_NEGATIVE},
)
REPLIES = {
    "classify": '{"positive_confirmed": true, "documents": [{"document": 2, "verdict": "convertible",'
    ' "instruction": "Used goods only."}, {"document": 3, "verdict": "other", "instruction": ""}]}',
    "promote": '{"lever": null, "instruction": "Nothing unused, please.", "also_satisfy": []}',
    "instruct": '{"lever": null, "keep_instruction": "Unused only.", "promote_instruction": "Second-hand is what '
    'I can pay for.", "also_satisfy_keep": [3], "also_satisfy_promote": []}',
    "reverse": '{"new_instruction": "Second-hand is what I can pay for.", "also_satisfy": [3]}',
    "verify": '{"satisfying": [2]}',
}

LONG = "A mountain bike that was ridden for years and is sold as seen, number"
WRITTEN = [{"title": "Offer", "text": f"{LONG} {n}."} for n in (1, 2, 3)]
ALL_FIT = [{"document": n, "fits_query": True, "fits_instruction": True} for n in (1, 2, 3, 4)]
WRITING = {
    "promptriever": {
        "instruct": '{"instruction": "Unused only."}',
        "violate": json.dumps({"documents": WRITTEN}),
        "check": json.dumps({"documents": ALL_FIT}),
    },
    "inf_ir": {
        "instruct": '{"instruction": "Unused only."}',
        "poison": json.dumps(
            {
                "opposite_instruction": "Second-hand only.",
                "document_for_opposite_instruction": WRITTEN[0],
                "opposite_query": "racing bike",
                "document_for_opposite_query": WRITTEN[1],
            }
        ),
        "check": json.dumps({"documents": ALL_FIT[:3]}),
        "check-opposite": json.dumps({"documents": ALL_FIT[:3]}),
    },
}


@pytest.mark.parametrize(
    ("method", "topic"),
    [
        ("promoted_negative", TOPIC),
        ("natural_dual_view", TOPIC),
        ("dual_view", TOPIC.with_views([*TOPIC.views, KEEP])),
        ("promptriever", TOPIC),
        ("inf_ir", TOPIC),
    ],
)
def test_golden(method: str, topic: Topic) -> None:
    asked: list[Prompt] = []
    # Every document fits everything here, which ends the two methods that write documents after their last question.
    with contextlib.suppress(Skip, Rejected):
        drive(method, topic, REPLIES | WRITING.get(method, {}), asked)
    for prompt in asked:
        path = GOLDEN / f"{method}.{prompt.stage}.txt"
        text = f"[system]\n{prompt.system}\n\n[user]\n{prompt.user}\n"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            pytest.fail(f"wrote {path.name}: read it, then run again")
        assert text == path.read_text(), f"{path.name} has changed"


def test_first_question_is_the_same_for_every_method() -> None:
    first = []
    for method in ("promoted_negative", "natural_dual_view", "dual_view"):
        asked: list[Prompt] = []
        drive(method, TOPIC, REPLIES, asked)
        first.append((asked[0].stage, asked[0].system, asked[0].user))
    assert len(set(first)) == 1


def test_documents_come_first_so_that_servers_cache_them() -> None:
    asked: list[Prompt] = []
    drive("natural_dual_view", TOPIC, REPLIES, asked)
    prefix = show(TOPIC).text
    assert all(prompt.user.startswith(prefix) for prompt in asked)


@pytest.mark.parametrize(
    "text",
    [
        "Let S = {north; south} and T = {x : x is a direction}.",
        "Write {% for row in rows %}{{ row.name }}{% endfor %} and {{ query }}.",
        "printf('%s %d', name, n) costs $HOME",
        "The reply goes in <answer><new_instruction>put it here</new_instruction></answer>.",
        'Use a JSON object instead: {"instruction": null}',
        "NFD stays: e\u0301 and so do \u2028 and  two  blanks.",
    ],
)
def test_documents_stand_byte_for_byte(text: str) -> None:
    for query in ("plain", text):
        asked: list[Prompt] = []
        drive(
            "natural_dual_view",
            topic_of(text, f"other {text}", "third", query=query),
            REPLIES,
            asked,
        )
        for prompt in asked:
            assert f"\n{text}\n" in prompt.user and f"other {text}" in prompt.user
            assert f"Query: {query}\n" in prompt.user


def test_huge_document_is_an_excerpt_and_the_view_says_so() -> None:
    huge = "contract clause " * 200_000
    topic = topic_of("A short positive.", huge, "Third.")
    asked: list[Prompt] = []
    made = drive("natural_dual_view", topic, REPLIES, asked)
    assert all(len(prompt.user) < 20_000 for prompt in asked)
    assert "its first 8,000 of 3,200,000 characters" in asked[0].user
    assert made.views[1].origin["excerpts"] == {"b": [8_000, 3_200_000]}
    assert made.docs == topic.docs


def test_blank_documents_and_copies_are_not_shown() -> None:
    docs = (
        Doc("a", "Crème brûlée torch."),
        Doc("n", "  crème brûlée TORCH. "),
        Doc("e", " \t"),
        Doc("c", "Gas."),
    )
    topic = Topic("t", "torch", docs, ())
    shown = show(topic)
    assert shown.numbers == {"a": 1, "c": 4}
    assert "document 2" not in shown.text and "document 3" not in shown.text
