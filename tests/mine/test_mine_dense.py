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
from obverse.stages import Drops  # noqa: E402


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


def test_the_models_digest_is_of_all_weights_and_of_the_pooling() -> None:
    from obverse.model_digest import model_digest

    class Pooling(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, mode: str, last: float) -> None:
            super().__init__()
            self.mode = mode
            self.register_buffer("weight", torch.zeros(5_000))
            self.weight[-1] = last

        def get_config_dict(self) -> dict[str, str]:
            return {"pooling_mode": self.mode}

    def digest(mode: str, last: float) -> str:
        encoder: Any = ToyEncoder()
        encoder.model = torch.nn.Sequential(Pooling(mode, last))
        return model_digest(encoder)

    assert digest("cls", 1.0) == digest("cls", 1.0)
    assert len({digest("cls", 1.0), digest("mean", 1.0), digest("cls", 2.0)}) == 3


def test_a_document_that_both_rankings_find_is_noted_once() -> None:
    docs = [Doc("p", "aab word"), Doc("twin", "AAB word"), Doc("d", "ab")]
    asked = Topic("t", "word aab", (docs[0],), (View("", {"p": Label.POSITIVE}),))
    drops = Drops()
    encoder: Any = ToyEncoder()
    list(mine([asked], docs, "bm25+dense", encoder=encoder, drops=drops))
    assert [row["candidate"] for row in drops.rows] == ["twin"]


def test_the_cut_holds_where_scores_are_negative() -> None:
    class Turned(ToyEncoder):
        def queries(self, pairs: Sequence[tuple[str, str]]) -> Any:
            return -super().queries(pairs)

    docs = [Doc("p", "aaaa"), Doc("above", "aaa"), Doc("below", "aaaaaa")]
    asked = Topic("t", "a", (docs[0],), (View("", {"p": Label.POSITIVE}),))
    encoder: Any = Turned()
    (made,) = mine([asked], docs, "dense", encoder=encoder, below_positive=0.95)
    assert made.views[0].negatives == ["below"]
