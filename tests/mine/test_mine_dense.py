"""Dense mining is exact, does not depend on the block, and keeps its vectors by content."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from obverse.inputs import Template  # noqa: E402
from obverse.mine import mine  # noqa: E402
from obverse.mine.dense import DenseIndex  # noqa: E402
from obverse.mine.kept import Kept  # noqa: E402
from obverse.records import Doc, Label, Topic, View  # noqa: E402


class ToyModel:
    def __init__(self, weight: float) -> None:
        self.weight = weight

    def state_dict(self) -> dict[str, Any]:
        return {"weight": torch.tensor([self.weight])}


class ToyEncoder:
    """Counts letters; notes what it was asked."""

    name, max_tokens, template = "toy", 8, Template()

    def __init__(self, weight: float = 1.0) -> None:
        self.model = ToyModel(weight)
        self.encoded = 0

    def docs(self, docs: Sequence[Doc]) -> Any:
        self.encoded += len(docs)
        return self._vectors([self.template.doc(doc) for doc in docs])

    def queries(self, pairs: Sequence[tuple[str, str]]) -> Any:
        return self._vectors([self.template.query(*pair) for pair in pairs])

    def _vectors(self, texts: Sequence[str]) -> Any:
        counts = np.array(
            [[text.count(char) for char in "abcdefgh"] for text in texts], dtype=np.float32
        )
        return counts  # whole numbers: sums are exact in any order


DOCS = [Doc(f"d{n:03}", "a" * (n % 7 + 1) + "b" * (n % 5) + "c" * (n % 3)) for n in range(300)]


def test_search_is_exact_whatever_the_block() -> None:
    encoder = ToyEncoder()
    queries = ["aab", "abc", "cccb", "zz"]
    vectors = encoder.docs(DOCS)
    for memory_mb in (1, 100):
        index = DenseIndex(DOCS, encoder, memory_mb=memory_mb)  # type: ignore[arg-type]
        for query, hits in zip(queries, index.search_all(queries, 7), strict=True):
            scores = vectors @ encoder.queries([(query, "")])[0]
            expected = sorted(range(300), key=lambda n: (scores[n], DOCS[n].doc_id), reverse=True)[
                :7
            ]
            assert [number for number, _ in hits] == expected


def test_vectors_are_kept_by_content_of_model_and_documents(tmp_path: Path) -> None:
    for weight, documents, expected in (
        (1.0, DOCS, 301),
        (1.0, DOCS, 0),
        (2.0, DOCS, 301),
        (1.0, DOCS[1:], 300),
    ):
        encoder = ToyEncoder(weight)
        DenseIndex(documents, encoder, kept=Kept(tmp_path))  # type: ignore[arg-type]
        assert encoder.encoded == expected
    assert not list(tmp_path.glob("*.part"))


def test_a_stopped_run_leaves_no_half_written_vectors(tmp_path: Path) -> None:
    class Stopping(ToyEncoder):
        def docs(self, docs: Sequence[Doc]) -> Any:
            if self.encoded:
                raise KeyboardInterrupt
            return super().docs(docs)

    with pytest.raises(KeyboardInterrupt):
        DenseIndex(DOCS, Stopping(), kept=Kept(tmp_path))  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_union_takes_from_both_in_turn_and_the_cut_is_the_encoders() -> None:
    docs = [Doc("lexical", "word hgf"), Doc("near", "aabaab"), Doc("mid", "ab"), Doc("p", "aab x")]
    asked = Topic("t", "word aab", (docs[3],), (View("", {"p": Label.POSITIVE}),))
    encoder: Any = ToyEncoder()
    (made,) = mine([asked], docs, "bm25+dense", take=2, encoder=encoder)
    assert made.views[0].negatives == ["lexical", "near"]
    (made,) = mine([asked], docs, "dense", take=1, encoder=encoder)
    assert made.views[0].negatives == ["near"]
    (made,) = mine([asked], docs, "dense", take=3, encoder=encoder, below_positive=0.95)
    assert made.views[0].negatives == ["mid", "lexical"]
