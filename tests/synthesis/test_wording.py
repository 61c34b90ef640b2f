"""String checks of an instruction."""

from __future__ import annotations

import pytest

from obverse.files import read_json_lines
from obverse.sample import sample_folder
from obverse.synthesis.dialogue import Rejected
from obverse.synthesis.wording import check_instruction, copied_run, count_sentences

CLICKED = "Brand new mountain bike, sealed box."
NEGATIVE = "Refurbished mountain bike with 21 gears, new brake pads and a steel frame."


@pytest.mark.parametrize(
    ("instruction", "code"),
    [
        ("", "empty-instruction"),
        ("[your new instruction]", "placeholder"),
        ("put it here", None),
        ("...", "placeholder"),
        ("<instruction>", "placeholder"),
        ("Your new instruction here", "placeholder"),
        ("Choose passage 2 and not P+.", "refers-to-passages"),
        ("Return document #3.", "refers-to-passages"),
        ("Not the first document, please.", "refers-to-passages"),
        ("Leave out abstracts 1 to 4.", "refers-to-passages"),
        ("Only documents from 2019 on.", None),
        ("Level N2 Japanese only.", "refers-to-passages"),
        ("Only brand new items.", "same-as-original"),
        ("only brand-new items", "same-as-original"),
        (NEGATIVE, "copies-passage"),
        ("I want a bike with 21 gears, new brake pads and a steel frame.", "copies-passage"),
        ("Only used. No new. No kids. No parts. No helmets.", "too-long"),
        ("word " * 70, "too-long"),
        ("Только бывшие в употреблении.", "other-language"),
        ("Return only listings sold as used or refurbished.", None),
        ("Only used goods.", None),
        ("Nur gebrauchte Ware, z.B. aus zweiter Hand.", None),
    ],
)
def test_codes(instruction: str, code: str | None) -> None:
    def check() -> None:
        check_instruction(
            instruction,
            query="mountain bike",
            texts=[CLICKED, NEGATIVE],
            original="Only brand new items.",
        )

    if code is None:
        check()
    else:
        with pytest.raises(Rejected) as caught:
            check()
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One.", 1),
        ("One. Two", 2),
        ("Use e.g. mice, not rats.", 1),
        ("U.S. data only. No Dr. Smith.", 2),
        ("Really?! Yes.", 2),
        ("Version 3.11 only", 1),
        ("仅限新品。不要二手。", 2),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert count_sentences(text) == count


def test_copies_are_found_across_case_and_punctuation() -> None:
    source = "A study of the early, middle and late phases of sleep in mice."
    assert copied_run("STUDY of the Early middle and late phases", [source], words=6)
    assert copied_run("late and middle phases of the early study", [source], words=6) is None
    assert copied_run("sleep", [source]) is None


def test_every_instruction_of_the_held_out_topics_passes() -> None:
    for _, row in read_json_lines(sample_folder() / "topics.jsonl.gz"):
        for view in row["views"]:
            if view["instruction"]:
                check_instruction(view["instruction"], query=row["query"], texts=[])
