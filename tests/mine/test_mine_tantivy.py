"""BM25 by Tantivy: the same scores and ties, any query, every script, kept on disk by content."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest

from obverse.errors import InputError, MissingExtra
from obverse.mine import mine
from obverse.mine.bm25 import BM25Index
from obverse.mine.kept import Kept
from obverse.mine.tantivy_index import TantivyIndex
from obverse.mine.tokens import Tokeniser
from obverse.mine.word_counts import WordCounts, WordCountsWriter
from obverse.records import Doc, Label, Topic, View


def installed() -> bool:
    try:
        import tantivy  # noqa: F401
    except ImportError:
        return False
    return True


needs_tantivy = pytest.mark.skipif(not installed(), reason="needs tantivy")
WORDS = ["kettle", "spout", "red", "blue", "oak", "table", "small", "long", "pot", "lid", "iron"]


def corpus(size: int) -> list[Doc]:
    rng = random.Random(0)
    return [
        Doc(str(n), " ".join(rng.choices(WORDS, k=rng.randint(3, 30))), rng.choice(WORDS))
        for n in range(size)
    ]


DOCS = [
    Doc("1", "東京都の天気予報です"),
    Doc("2", "大阪の料理について"),
    Doc("3", "ภาษาไทยง่ายมาก"),
    Doc("4", "C++ for all, and a kettle"),
    Doc("5", "हिन्दी में"),
    Doc("6", "?!"),
    Doc("7", ""),
]


@needs_tantivy
@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.2, 0.75), (0.6, 0.2)])
def test_the_scores_of_our_own_index(k1: float, b: float) -> None:
    docs = corpus(300)
    ours, theirs = BM25Index(docs, k1=k1, b=b), TantivyIndex(docs, k1=k1, b=b)
    for query in ("red kettle", "a small small table", "iron lid water unheard"):
        expected, found = ours.search(query, 300), theirs.search(query, 300)
        assert dict(found) == pytest.approx(dict(expected), rel=1e-5)
        assert {at for at, _ in theirs.search(query, 5)} <= {at for at, _ in expected[:10]}
        assert theirs.scores(query, docs[:9]) == pytest.approx(ours.scores(query, docs[:9]))


@needs_tantivy
def test_ties_go_to_the_higher_id_even_where_the_candidates_end() -> None:
    docs = [Doc(f"{n:03}", "red kettle") for n in range(500)]
    random.Random(1).shuffle(docs)
    found = TantivyIndex(docs).search("kettle", 3)
    assert [docs[at].doc_id for at, _ in found] == ["499", "498", "497"]


@needs_tantivy
@pytest.mark.parametrize(
    "query",
    ["foo AND", '"open quote', "a:b (", '19" monitor*', "\\", "c++", "", "-x +y", "[a TO", "\0"],
)
def test_user_text_never_breaks_a_query(query: str) -> None:
    docs = [Doc("1", "foo a b c++ 19 monitor"), Doc("2", "x y")]
    found = TantivyIndex(docs).search(query, 3)
    assert dict(found) == pytest.approx(dict(BM25Index(docs).search(query, 3)))


@needs_tantivy
def test_languages_without_spaces_find_their_documents() -> None:
    index = TantivyIndex(DOCS)
    asked = ("京都の天気", "大阪料理", "ภาษาไทย", "c++", "हिन्दी")
    assert [index.search(query, 1)[0][0] for query in asked] == [0, 1, 2, 3, 4]


@needs_tantivy
def test_an_index_is_kept_on_disk_by_content(tmp_path: Path) -> None:
    first = TantivyIndex(DOCS, kept=Kept(tmp_path)).search("kettle", 5)
    kept = Kept(tmp_path)
    assert TantivyIndex(DOCS, kept=kept).search("kettle", 5) == first and len(kept.found) == 1
    for docs, tokeniser in ((DOCS[1:], None), (DOCS, Tokeniser("none"))):
        kept = Kept(tmp_path)
        TantivyIndex(docs, tokeniser, kept=kept)
        assert not kept.found
    assert len(list(tmp_path.iterdir())) == 3 and not list(tmp_path.glob("*.part"))


@needs_tantivy
def test_a_stopped_run_leaves_no_half_written_index(tmp_path: Path) -> None:
    class Stopping(Tokeniser):
        def __call__(self, text: str) -> list[str]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TantivyIndex(DOCS, Stopping(), kept=Kept(tmp_path))
    assert not list(tmp_path.iterdir())


@needs_tantivy
def test_a_damaged_index_is_said(tmp_path: Path) -> None:
    TantivyIndex(DOCS, kept=Kept(tmp_path))
    next(tmp_path.glob("*/meta.json")).unlink()
    with pytest.raises(InputError, match=r"damaged.*Remove it"):
        TantivyIndex(DOCS, kept=Kept(tmp_path))


@needs_tantivy
def test_mining_takes_the_same_negatives() -> None:
    docs = corpus(100)
    asked = Topic("t", "red kettle", (docs[0],), (View("", {"0": Label.POSITIVE}),))
    (ours,) = mine([asked], docs, below_positive=0.95)
    (theirs,) = mine([asked], docs, below_positive=0.95, index="tantivy")
    assert theirs == ours


def test_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tantivy", None)
    asked = Topic("t", "kettle", (DOCS[0],), (View("", {"1": Label.POSITIVE}),))
    with pytest.raises(MissingExtra, match=r"tantivy.*obverse\[tantivy\]"):
        list(mine([asked], DOCS, index="tantivy"))


def test_counts_of_words_are_those_of_the_texts(tmp_path: Path) -> None:
    docs = [["red", "red", "kettle"], [], ["oak"] * 70_000, ["kettle", "oak"]]
    with WordCountsWriter(tmp_path) as writer:
        for words in docs:
            writer.add(words)
    counts = WordCounts(tmp_path)
    assert counts.lengths.tolist() == [3, 0, 70_000, 2]
    found = counts.of(["oak", "unheard", "red"], np.array([3, 0, 2, 1, 0]))
    assert found.tolist() == [[1, 0, 0], [0, 0, 2], [65_535, 0, 0], [0, 0, 0], [0, 0, 2]]
    (tmp_path / "obverse-marks").write_bytes(b"")
    with pytest.raises(ValueError, match="is cut"):
        WordCounts(tmp_path)


@needs_tantivy
def test_a_corpus_of_nothing_but_marks_finds_nothing() -> None:
    index = TantivyIndex([Doc("1", "?!"), Doc("2", "")])
    assert index.search("kettle", 3) == [] and index.scores("kettle", DOCS[:1]) == [0.0]


@needs_tantivy
def test_cut_counts_are_said(tmp_path: Path) -> None:
    TantivyIndex(DOCS, kept=Kept(tmp_path))
    next(tmp_path.glob("*/obverse-counts")).write_bytes(b"")
    with pytest.raises(InputError, match=r"damaged.*Remove it"):
        TantivyIndex(DOCS, kept=Kept(tmp_path))
