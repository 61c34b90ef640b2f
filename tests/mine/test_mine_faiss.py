"""Dense mining by FAISS finds what the blockwise search finds, in the same order."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from obverse.errors import InputError, MissingExtra, SettingError
from obverse.inputs import Template
from obverse.mine import mine
from obverse.mine.dense import DenseIndex
from obverse.mine.faiss_index import FaissFlat, require_faiss
from obverse.records import Doc, Label, Topic, View
from obverse.search import tie_places, top_docs


def installed() -> bool:
    try:
        require_faiss()
    except MissingExtra:
        return False
    return True


needs_faiss = pytest.mark.skipif(not installed(), reason="needs faiss-cpu")


class Letters:
    """Counts letters: whole numbers, so that sums are exact in any order."""

    name, max_tokens, template = "letters", 8, Template()

    class model:
        @staticmethod
        def state_dict() -> dict[str, Any]:
            return {}

    def docs(self, docs: Sequence[Doc]) -> Any:
        return self._vectors([doc.text for doc in docs])

    def queries(self, pairs: Sequence[tuple[str, str]]) -> Any:
        return self._vectors([query for query, _ in pairs])

    def _vectors(self, texts: Sequence[str]) -> Any:
        return np.array([[text.count(c) for c in "abcdefgh"] for text in texts], dtype=np.float32)


DOCS = [Doc(f"d{n:03}", "a" * (n % 7 + 1) + "b" * (n % 5) + "c" * (n % 3)) for n in range(300)]
ASKED = Topic("t", "aab", (DOCS[0],), (View("", {"d000": Label.POSITIVE}),))


@needs_faiss
@pytest.mark.parametrize("depth", [1, 7, 299, 300, 400])
def test_the_same_documents_and_ties_as_the_blockwise_search(depth: int) -> None:
    encoder: Any = Letters()
    queries = ["aab", "abc", "cccb", "zz"]  # the last scores 0 everywhere: all are equal
    ours = list(DenseIndex(DOCS, encoder).search_all(queries, depth))
    theirs = list(DenseIndex(DOCS, encoder, faiss=True).search_all(queries, depth))
    assert theirs == ours


@needs_faiss
def test_the_same_for_many_queries_of_real_numbers_up_to_rounding() -> None:
    rng = np.random.default_rng(0)
    docs = rng.standard_normal((2_000, 32), dtype=np.float32)
    docs[1_000:1_100] = docs[:100]
    queries = rng.standard_normal((64, 32), dtype=np.float32)
    places = tie_places([str(number) for number in range(len(docs))])
    rows, scores = top_docs(queries, docs, 50, places=places)
    found = list(FaissFlat(docs, places, 10).search(queries, 50))
    theirs = np.stack([own for own, _ in found])
    exact = queries.astype(np.float64) @ docs.astype(np.float64).T
    gap = np.take_along_axis(exact, theirs, 1) - np.take_along_axis(exact, rows, 1)
    assert np.abs(gap).max() < 1e-5
    assert (theirs == rows).mean() > 0.9
    assert np.allclose(np.stack([values for _, values in found]), scores, atol=1e-4)


@needs_faiss
def test_mining_by_faiss_takes_the_same_negatives() -> None:
    encoder: Any = Letters()
    (ours,) = mine([ASKED], DOCS, "bm25+dense", encoder=encoder)
    (theirs,) = mine([ASKED], DOCS, "bm25+dense", encoder=encoder, index="faiss")
    assert theirs == ours


@needs_faiss
def test_more_vectors_than_memory_and_damaged_ones_are_refused() -> None:
    vectors = np.ones((10, 50_000), dtype=np.float32)
    with pytest.raises(SettingError, match="--memory-mb 2 or more"):
        FaissFlat(vectors, np.arange(10), 1)
    vectors[3, 5] = np.nan
    with pytest.raises(InputError, match="row 3"):
        FaissFlat(vectors, np.arange(10), 2)


def test_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    encoder: Any = Letters()
    with pytest.raises(MissingExtra, match=r"faiss-cpu.*obverse\[faiss\]"):
        list(mine([ASKED], DOCS, "dense", encoder=encoder, index="faiss"))


@pytest.mark.parametrize(
    ("by", "index", "said"),
    [
        ("bm25", "faiss", "faiss searches dense"),
        ("dense", "tantivy", "tantivy searches bm25"),
        ("dense", "tantivy+faiss", "tantivy searches bm25"),
        ("dense", "annoy", "Use own, faiss"),
    ],
)
def test_an_index_must_fit_the_method(by: str, index: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        list(mine([ASKED], DOCS, by, index=index))
