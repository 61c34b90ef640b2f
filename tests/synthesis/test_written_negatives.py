"""The two methods in which an LLM writes documents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from canned import drive, topic_of

from obverse.records import Label
from obverse.synthesis.dialogue import Prompt, Rejected, Skip

P, D, N, X = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE, Label.IGNORE
TOPIC = topic_of("Brand new mountain bike, sealed box, for adults.", "Mountain bike helmet.")
LONG = (
    "a mountain bike that has been ridden for several years by its first owner and is sold as seen"
)
TEXTS = [f"{LONG}, number {word}" for word in ("one", "two", "three")]


def fits(
    prompt: Prompt[Any], *right: str, query: tuple[str, ...] = (), wrong: tuple[str, ...] = ()
) -> str:
    """Answers the blind question: documents that hold one of the strings fit."""
    rows = []
    for n in range(1, 9):
        if f"<document {n}>" in prompt.user:
            text = prompt.user.split(f"<document {n}>")[1].split(f"</document {n}>")[0]
            good = any(part in text for part in right)
            on = good or (any(p in text for p in query) and not any(p in text for p in wrong))
            rows.append({"document": n, "fits_query": on, "fits_instruction": good})
    return json.dumps({"documents": rows})


class Judge(dict[str, Any]):
    """Replies by stage; those of the blind questions depend on the order shown."""

    def __init__(
        self, replies: dict[str, str], blind: dict[str, Any], asked: list[Prompt[Any]]
    ) -> None:
        super().__init__(replies)
        self.blind, self.asked = blind, asked

    def __missing__(self, stage: str) -> str:
        return str(self.blind[stage](self.asked[-1]))


def promptriever(blind: Any, texts: list[str] = TEXTS, instruction: Any = "Unused only.") -> Any:
    asked: list[Prompt[Any]] = []
    replies = {
        "instruct": json.dumps({"instruction": instruction}),
        "violate": json.dumps({"documents": [{"title": "T", "text": text} for text in texts]}),
    }
    return drive("promptriever", TOPIC, Judge(replies, {"check": blind}, asked), asked), asked


def test_promptriever_keeps_what_fits_the_query_and_fails_the_instruction() -> None:
    made, asked = promptriever(lambda p: fits(p, "Brand new", "number two", query=("number one",)))
    plain, view = made.views
    (written,) = [doc for doc in made.docs if doc.doc_id.startswith("written-")]
    assert written.text.endswith("one")
    assert dict(view.labels) == {"a": P, "b": N, written.doc_id: D}
    assert plain.labels[written.doc_id] == X
    assert view.origin["written"] == [1, 3]
    assert [p.stage for p in asked] == ["instruct", "violate", "check"]
    # The last question shows no roles.
    assert "right answer" not in asked[2].user and "meets both" not in asked[2].user


def test_promptriever_rechecks_the_positive() -> None:
    with pytest.raises(Rejected, match="positive-broken"):
        promptriever(lambda p: fits(p, query=("number", "Brand new")))
    with pytest.raises(Skip, match="no written document"):
        promptriever(lambda p: fits(p, "Brand new", "number"))


@pytest.mark.parametrize(
    ("texts", "instruction", "code"),
    [
        (TEXTS[:2], "Unused only.", "wrong-documents"),
        ([TEXTS[0], TEXTS[0], TEXTS[1]], "Unused only.", "same-document"),
        ([*TEXTS[:2], "short"], "Unused only.", "empty-document"),
        (TEXTS, None, "model-declined"),
        (TEXTS, "Unused. " * 20, "too-long"),
    ],
)
def test_promptriever_rejects(texts: list[str], instruction: Any, code: str) -> None:
    with pytest.raises(Rejected) as caught:
        promptriever(lambda p: fits(p, "Brand new"), texts, instruction)
    assert caught.value.code == code


def test_promptriever_draws_styles_and_lengths() -> None:
    seen = set()
    for seed in range(90):
        asked: list[Prompt[Any]] = []
        with pytest.raises(KeyError):
            drive("promptriever", TOPIC, {}, asked, seed=seed)
        seen.add(asked[0].user.split("- Style: ")[1])
    assert len(seen) == 12


def inf_ir(first: Any, opposite: Any, **changes: Any) -> Any:
    asked: list[Prompt[Any]] = []
    misses = {
        "opposite_instruction": "Second-hand only.",
        "document_for_opposite_instruction": {"title": "T", "text": TEXTS[0]},
        "opposite_query": "racing bike",
        "document_for_opposite_query": {"title": "T", "text": TEXTS[1]},
    }
    replies = {
        "instruct": '{"instruction": "Unused only."}',
        "poison": json.dumps(misses | changes),
    }
    blind = {"check": first, "check-opposite": opposite}
    return drive("inf_ir", TOPIC, Judge(replies, blind, asked), asked)


def test_inf_ir_makes_two_views() -> None:
    made = inf_ir(
        lambda p: fits(p, "Brand new", query=("number one",)),
        lambda p: fits(p, "number one", query=("Brand new",)),
    )
    plain, keep, promote = made.views
    first, second = (doc.doc_id for doc in made.docs[2:])
    assert dict(plain.labels) == {"a": P, "b": N, first: X, second: N}
    assert dict(keep.labels) == {"a": P, "b": N, first: D, second: N}
    assert dict(promote.labels) == {"a": D, "b": N, first: P, second: N}


@pytest.mark.parametrize(
    ("first", "opposite", "code"),
    [
        (lambda p: fits(p), lambda p: fits(p, "number one"), "positive-broken"),
        (lambda p: fits(p, "Brand new"), lambda p: fits(p, "Brand new"), "positive-broken"),
        (lambda p: fits(p, "Brand new"), lambda p: fits(p), "not-poisoned"),
        (lambda p: fits(p, "Brand new", "one"), lambda p: fits(p, "one"), "not-poisoned"),
        (lambda p: fits(p, "Brand new", query=("two",)), lambda p: fits(p, "one"), "not-poisoned"),
    ],
)
def test_inf_ir_rejects_what_does_not_fit_its_pair(first: Any, opposite: Any, code: str) -> None:
    with pytest.raises(Rejected) as caught:
        inf_ir(first, opposite)
    assert caught.value.code == code


def test_inf_ir_declines() -> None:
    with pytest.raises(Rejected, match="model-declined"):
        inf_ir(None, None, opposite_instruction=None)
    with pytest.raises(Rejected, match="same-as-original"):
        inf_ir(None, None, opposite_instruction="unused only")
