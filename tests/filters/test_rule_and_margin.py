"""Rules on wording and proved labels; the cut that takes doubtful negatives out."""

from __future__ import annotations

import numpy as np
import pytest
from test_similarity_gain import Angles

from obverse.errors import SettingError
from obverse.filters.margin import cutoff, margin
from obverse.filters.rule import rule
from obverse.records import Doc, Label, Topic, View
from obverse.stages import Drops
from obverse.synthesis.conditions import Condition

P, D, N, X = Label.POSITIVE, Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE, Label.IGNORE
DOCS = (
    Doc("a", "A brand new bike with lights and a bell and a lock."),
    Doc("b", "A used bike."),
    Doc("c", " "),
)


def ruled(*views: View, **settings: int) -> dict[str, int]:
    drops = Drops()
    list(rule(**settings)([Topic("t", "bike", DOCS, (View("", {"a": P, "b": N}), *views))], drops))
    return dict(drops.by_reason)


def keep(instruction: str, **origin: object) -> View:
    return View(instruction, {"a": P, "b": D}, origin)


def test_wording() -> None:
    assert ruled(keep("New ones only."), keep("Lights matter.")) == {}
    assert ruled(keep("As in document 2."), keep("[instruction]"), keep("Новые.")) == {
        "rule: refers-to-passages": 1,
        "rule: placeholder": 1,
        "rule: other-language": 1,
    }
    assert ruled(keep("new bike with lights and a bell and a lock")) == {"rule: copies-passage": 1}
    assert ruled(keep("One. Two. Three."), max_sentences=2) == {"rule: too-long": 1}
    turned = View("new ones only", {"a": D, "b": P})
    assert ruled(keep("New ones only."), turned) == {"rule: same-as-original": 2}


def test_labels() -> None:
    lights = Condition("word", "lights").row()
    assert ruled(keep("With lights.", condition=lights)) == {}
    wrong = View("With lights.", {"a": D, "b": P}, {"condition": lights})
    assert ruled(wrong) == {"rule: label-disproved": 1}
    assert ruled(View("Blank ones.", {"c": P, "b": N})) == {"rule: blank-positive": 1}


def test_margin_cuts_doubtful_negatives_and_never_instruction_negatives() -> None:
    docs = (Doc("a", "x 0"), Doc("b", "x 5"), Doc("c", "x 60"), Doc("d", "x 1"))
    plain = View("", {"a": P, "b": N, "c": N, "d": N})
    view = View("I 0", {"a": P, "b": N, "c": N, "d": D})
    drops = Drops()
    (left,) = margin(Angles(), at_least=2)([Topic("t", "q 0", docs, (plain, view))], drops)  # type: ignore[arg-type]
    assert list(left.views[0].labels.values()) == [P, X, N, X]
    assert list(left.views[1].labels.values()) == [P, X, N, D]
    assert drops.by_reason == {
        "negative that scores like a positive": 3,
        "few negatives left (view kept)": 1,
    }
    assert drops.rows[0]["score"] == pytest.approx(np.cos(np.radians(5)), abs=1e-3)


def test_cutoff_is_safe_for_negative_scores() -> None:
    assert cutoff(0.8, 0.95) == pytest.approx(0.76)
    assert cutoff(-0.8, 0.95) == pytest.approx(-0.84)
    with pytest.raises(SettingError, match="not in"):
        margin(Angles(), ratio=0)  # type: ignore[arg-type]


def test_margin_without_documents_changes_nothing() -> None:
    topic = Topic("t", "q 0", (), (View("", {"a": P, "b": N}),))
    assert list(margin(Angles())([topic], Drops())) == [topic]  # type: ignore[arg-type]
