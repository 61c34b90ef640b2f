"""The geometric filter, with an encoder whose vectors are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from obverse.errors import InputError, SettingError
from obverse.files import read_topics, write_topics
from obverse.filters import FILTERS
from obverse.filters.filtering import filter_file, filter_named, filter_topics
from obverse.filters.similarity_gain import gain_summary, similarity_gain
from obverse.filters.yields import Yields
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops

P, D, N = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE


class Angles:
    """Encodes a text as the unit vector whose angle in degrees stands in it; a query's is the last one."""

    name = "angles"

    def queries(self, pairs: Sequence[tuple[str, str]]) -> Any:
        return np.stack([self._vector(f"{query} {instruction}") for query, instruction in pairs])

    def docs(self, docs: Sequence[Doc]) -> Any:
        return np.stack([self._vector(doc.text) for doc in docs])

    @staticmethod
    def _vector(text: str) -> Any:
        angle = np.radians(float(text.split()[-1]))
        return np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)


def topic(*views: View, topic_id: str = "t") -> Topic:
    plain = View("", {"a": P, "b": N})
    docs = (Doc("a", "new 0"), Doc("b", "used 90"))
    return Topic(topic_id, "bike 45", docs, (plain, *views))


KEEP = View("new only 10", {"a": P, "b": D}, {"method": "m", "lever": "form"})
WRONG = View("new, they said 80", {"a": P, "b": D}, {"method": "m", "lever": "time"})
PROMOTE = View("used only 60", {"a": D, "b": P}, {"method": "m", "lever": "form"})
IDLE = View("as before 45", {"a": D, "b": P}, {"method": "n"})


def test_keeps_what_moves_towards_the_positive() -> None:
    drops = Drops()
    (left,) = similarity_gain(Angles())([topic(KEEP, WRONG, PROMOTE, IDLE)], drops)  # type: ignore[arg-type]
    assert [view.instruction for view in left.views] == ["", "new only 10", "used only 60"]
    gain = np.cos(np.radians(10)) - np.cos(np.radians(45))
    assert left.views[1].checks["similarity_gain"] == pytest.approx(gain, abs=1e-5)
    assert drops.rows[0]["gain"] == pytest.approx(
        np.cos(np.radians(80)) - np.cos(np.radians(45)), abs=1e-5
    )
    # No movement is no gain.
    assert drops.rows[1] == {
        "topic_id": "t",
        "reason": "similarity gain not above the threshold",
        "instruction": "as before 45",
        "gain": 0.0,
    }


def test_mean_over_several_positives() -> None:
    both = View("both 0", {"a": P, "b": P})
    (left,) = similarity_gain(Angles(), threshold=-1)([topic(both)], Drops())  # type: ignore[arg-type]
    cos45 = np.cos(np.radians(45))
    assert left.views[1].checks["similarity_gain"] == pytest.approx(
        ((1 - cos45) + (0 - cos45)) / 2, abs=1e-5
    )


def test_threshold_and_topics_that_lose_everything() -> None:
    bare = Topic("x", "bike 45", topic().docs, (WRONG,))
    drops = Drops()
    left = list(similarity_gain(Angles(), threshold=0.9)([topic(KEEP), bare], drops))  # type: ignore[arg-type]
    assert [t.topic_id for t in left] == ["t"] and left[0].views == topic().views
    assert drops.by_reason == {"similarity gain not above the threshold": 2, "no view left": 1}


def test_topics_without_documents_are_refused() -> None:
    with pytest.raises(InputError, match=r"topic 't'.*holds no document"):
        list(similarity_gain(Angles())([Topic("t", "q 1", (), (KEEP,))], Drops()))  # type: ignore[arg-type]


def test_summary() -> None:
    assert gain_summary([]) == {"n": 0}
    assert gain_summary([-1.0, 0.0, 1.0])["above_0"] == 0.3333
    assert gain_summary([-1.0, 0.0, 1.0])["median"] == 0


def test_filters_in_a_row_and_their_yield() -> None:
    drops, yields = Drops(), Yields()
    twice = View("New only, 10", dict(KEEP.labels), {"method": "m", "lever": "form"})
    left = list(
        filter_topics(
            [topic(KEEP, twice, WRONG, IDLE)],
            ["similarity_gain", "unique"],
            drops,
            yields=yields,
            encoder=Angles(),
            near_instructions=0.5,
        )
    )
    assert len(left[0].instructed_views) == 1
    assert [row["filter"] for row in drops.rows] == ["similarity_gain", "similarity_gain", "unique"]
    assert yields.rows() == [
        {
            "method": "m",
            "lever": "form",
            "in": 2,
            "1. similarity_gain": 2,
            "2. unique": 1,
            "kept": 0.5,
        },
        {
            "method": "m",
            "lever": "time",
            "in": 1,
            "1. similarity_gain": 0,
            "2. unique": 0,
            "kept": 0.0,
        },
        {
            "method": "m",
            "lever": "all",
            "in": 3,
            "1. similarity_gain": 2,
            "2. unique": 1,
            "kept": 0.3333,
        },
        {
            "method": "n",
            "lever": "-",
            "in": 1,
            "1. similarity_gain": 0,
            "2. unique": 0,
            "kept": 0.0,
        },
        {
            "method": "all",
            "lever": "all",
            "in": 4,
            "1. similarity_gain": 2,
            "2. unique": 1,
            "kept": 0.25,
        },
    ]
    header, first, *_ = yields.table().splitlines()
    assert header.split() == [
        "method",
        "lever",
        "in",
        "1.",
        "similarity_gain",
        "2.",
        "unique",
        "kept",
    ]
    assert first.endswith("50.0 %")


def test_every_name_of_the_table_can_be_imported() -> None:
    needs = {"encoder": Angles()}
    for name in FILTERS:
        try:
            assert callable(filter_named(name, needs))
        except SettingError as error:
            assert "needs" in str(error)


def test_unknown_filter() -> None:
    with pytest.raises(SettingError, match=r"unknown filter 'gain'.*similarity_gain"):
        filter_named("gain")
    with pytest.raises(SettingError, match="needs 'encoder'"):
        filter_named("similarity_gain")
    with pytest.raises(SettingError, match="cannot be imported"):
        filter_named("nowhere.at_all:thing")


def test_file_in_file_out(tmp_path: Path) -> None:
    source, out = tmp_path / "t.jsonl", tmp_path / "out.jsonl"
    write_topics(source, [topic(KEEP, WRONG)])
    filter_file(source, out, ["similarity_gain", "unique"], encoder=Angles())
    (left,) = read_topics(out)
    assert [view.instruction for view in left.views] == ["", "new only 10"]
    made = json.loads((tmp_path / "out.jsonl.made.json").read_text())
    assert made["parameters"]["similarity_gain"]["n"] == 2
    assert made["parameters"]["encoder"] == "angles"
    assert made["dropped"] == {"similarity gain not above the threshold": 1}
    (dropped,) = map(json.loads, (tmp_path / "out.jsonl.dropped.jsonl").read_text().splitlines())
    assert dropped["instruction"] == "new, they said 80" and dropped["filter"] == "similarity_gain"


def test_command(tmp_path: Path) -> None:
    from obverse.cli import _register, app

    _register()
    source, out = tmp_path / "t.jsonl", tmp_path / "out.jsonl"
    write_topics(source, [topic(KEEP, KEEP)])
    done = CliRunner().invoke(app, ["filter", str(source), "--by", "unique", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert len(next(read_topics(out)).views) == 2
