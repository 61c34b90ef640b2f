"""Mining: what is never taken, ties, windows, starvation, words of every script, kept indexes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from obverse.cli import main
from obverse.errors import InputError, SettingError
from obverse.files import read_json, to_json, write_topics
from obverse.mine import mine
from obverse.mine.bm25 import BM25Index
from obverse.mine.kept import Kept
from obverse.mine.ranking import best
from obverse.mine.tokens import Tokeniser
from obverse.mine.windows import Window
from obverse.records import Doc, Label, Topic, View
from obverse.search import tie_places
from obverse.stages import Drops

P, N, H = Label.POSITIVE, Label.NEGATIVE, Label.INSTRUCTION_NEGATIVE


def topic(query: str, positive: Doc, *views: View, topic_id: str = "t") -> Topic:
    return Topic(topic_id, query, (positive,), views or (View("", {positive.doc_id: P}),))


CORPUS = [
    Doc("p", "A red kettle with a long spout."),
    Doc("copy", "  a RED kettle  with a long spout. "),
    Doc("a", "Red kettle, small."),
    Doc("b", "Blue kettle, small."),
    Doc("c", "Blue kettle, small."),
    Doc("far", "A table of oak."),
]


def negatives(made: Topic) -> list[str]:
    return made.views[0].ids(N)


def test_never_a_labelled_document_nor_its_text_nor_a_text_twice() -> None:
    drops = Drops()
    (made,) = mine([topic("red kettle", CORPUS[0])], CORPUS, take=5, drops=drops)
    assert negatives(made) == ["a", "c"]
    assert {(row["candidate"], row["same_as"]) for row in drops.rows} == {("copy", "p"), ("b", "c")}
    assert [doc.doc_id for doc in made.docs] == ["p", "a", "c"]
    assert made.views[0].origin["mined_by"] == "bm25"


def test_documents_labelled_in_any_view_are_no_negatives() -> None:
    views = (View("", {"p": P}), View("only small ones", {"p": P, "a": H}))
    docs = (CORPUS[0], CORPUS[2])
    (made,) = mine([Topic("t", "red kettle", docs, views)], CORPUS)
    assert "a" not in negatives(made)
    assert made.views[1] == views[1]


def test_without_a_plain_view_every_view_gets_the_negatives() -> None:
    (made,) = mine([topic("red kettle", CORPUS[0], View("only red", {"p": P}))], CORPUS, take=1)
    assert made.views[0].labels == {"p": P, "a": N}


def test_starvation_is_said_and_never_topped_up(capsys: pytest.CaptureFixture[str]) -> None:
    (made,) = mine([topic("red kettle", CORPUS[0])], CORPUS, take=5)
    assert len(negatives(made)) == 2
    assert "starved: 1 of 1 topics" in capsys.readouterr().err
    (made,) = mine([topic("?!", CORPUS[0])], CORPUS)
    assert negatives(made) == []


def test_ties_go_to_the_higher_id_and_the_order_of_the_corpus_does_not_matter() -> None:
    docs = [Doc(name, f"kettle {name}") for name in ("10", "9", "2", "1")]
    for corpus in (docs, docs[::-1]):
        (made,) = mine([topic("kettle", CORPUS[0])], corpus, take=4, language="none")
        assert negatives(made) == ["9", "2", "10", "1"]


def test_best_is_the_same_as_sorting() -> None:
    import numpy as np

    scores = np.array([1, 3, 2, 3, 0, 3, 1], dtype=np.float32)
    ties = tie_places([str(number) for number in range(7)])
    for depth in range(1, 9):
        assert list(best(scores, depth, ties)) == [5, 3, 1, 2, 6, 0, 4][:depth]
    assert list(best(scores, 9, ties, floor=0.0)) == [5, 3, 1, 2, 6, 0]


def test_windows_by_rank_and_score() -> None:
    docs = [Doc(f"d{n}", "kettle " * n + "pot " * (9 - n)) for n in range(1, 9)]
    asked = topic("kettle", Doc("p", "Kettle kettle."))
    (everything,) = mine([asked], docs, take=8)
    ranked = negatives(everything)
    (made,) = mine([asked], docs, take=8, first_rank=3, last_rank=5)
    assert negatives(made) == ranked[2:5]
    scores = {
        doc.doc_id: s for doc, s in zip(docs, BM25Index(docs).scores("kettle", docs), strict=True)
    }
    (made,) = mine(
        [asked],
        docs,
        take=8,
        max_score=scores[ranked[1]] - 1e-6,
        min_score=scores[ranked[4]] - 1e-6,
    )
    assert negatives(made) == ranked[2:5]


def test_scores_of_single_documents_are_those_of_the_index() -> None:
    index = BM25Index(CORPUS)
    hits = dict(index.search("a red kettle red", 10))
    scores = index.scores("a red kettle red", CORPUS)
    assert [hits.get(n, 0.0) for n in range(len(CORPUS))] == pytest.approx(scores, rel=1e-5)


def test_positive_aware_cut() -> None:
    assert Window(below_positive=0.95).ceiling(10.0) == pytest.approx(9.5)
    assert Window(below_positive=0.95).ceiling(-0.2) == pytest.approx(-0.21)
    assert Window().ceiling(10.0) is None
    docs = [
        Doc("near", "kettle kettle kettle"),
        Doc("far", "one kettle and much else that is long"),
    ]
    (made,) = mine([topic("kettle", Doc("p", "kettle kettle"))], docs, below_positive=0.95)
    assert negatives(made) == ["far"]


def test_a_random_pick_depends_on_the_topic_alone() -> None:
    docs = [Doc(f"d{n:02}", f"kettle number {n}") for n in range(40)]
    topics = [topic("kettle", CORPUS[0], topic_id=f"t{n}") for n in range(3)]
    once = {made.topic_id: negatives(made) for made in mine(topics, docs, pick="random")}
    again = {made.topic_id: negatives(made) for made in mine(topics[::-1], docs, pick="random")}
    assert once == again and once["t0"] != once["t1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("C++ and C# are not C", ["c++", "and", "c#", "are", "not", "c"]),
        ("a+b x F#", ["a", "b", "x", "f#"]),
        ("東京都", ["東", "京", "都", "東京", "京都"]),
        ("ＵＳＢ kettles", ["usb", "kettl"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("cafe\u0301 café", ["café", "café"]),
        ("고양이를", ["고", "양", "이", "를", "고양", "양이", "이를"]),
        ("🚲 and ☂", ["🚲", "and", "☂"]),
    ],
)
def test_no_word_is_lost(text: str, words: list[str]) -> None:
    assert Tokeniser()(text) == words


@pytest.mark.parametrize("query", ["foo AND", '"open quote', "a:b (", '19" monitor*', "\\", "c++"])
def test_user_text_never_breaks_a_query(query: str) -> None:
    BM25Index([Doc("1", "foo a b c++ 19 monitor")]).search(query, 3)


def test_a_korean_word_is_found_whatever_particle_hangs_on_to_it() -> None:
    docs = [Doc("dog", "강아지가 뛰어요"), Doc("cat", "고양이를 좋아합니다")]
    assert [number for number, _ in BM25Index(docs).search("고양이", 1)] == [1]


def test_languages_without_spaces_find_their_documents() -> None:
    docs = [
        Doc("1", "東京都の天気予報です"),
        Doc("2", "大阪の料理について"),
        Doc("3", "ภาษาไทยง่ายมาก"),
        Doc("4", "C++ for all"),
    ]
    index = BM25Index(docs)
    assert [index.search(q, 1)[0][0] for q in ("京都の天気", "大阪料理", "ภาษาไทย", "c++")] == [
        0,
        1,
        2,
        3,
    ]


def test_an_index_is_kept_by_content(tmp_path: Path) -> None:
    first = BM25Index(CORPUS, kept=Kept(tmp_path)).search("red kettle", 5)
    kept = Kept(tmp_path)
    assert BM25Index(CORPUS, kept=kept).search("red kettle", 5) == first and len(kept.found) == 5
    kept = Kept(tmp_path)
    BM25Index([*CORPUS, Doc("new", "kettle")], kept=kept)
    assert not kept.found


def test_a_cache_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingError, match="cannot be a cache"):
        BM25Index(CORPUS, kept=Kept(tmp_path / "file"))
    BM25Index(CORPUS, kept=Kept(tmp_path))
    for path in tmp_path.glob("bm25-weights-*"):
        path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(InputError, match=r"damaged.*Remove it"):
        BM25Index(CORPUS, kept=Kept(tmp_path))


def test_a_topic_never_gets_an_id_twice_nor_its_unlabelled_documents(
    capsys: pytest.CaptureFixture[str],
) -> None:
    docs = (CORPUS[0], Doc("a", "An older text."), Doc("other", "Blue kettle, small."))
    (made,) = mine([Topic("t", "red kettle", docs, (View("", {"p": P}),))], CORPUS)
    assert negatives(made) == [] and made.docs == docs
    assert "1 among the topic's own documents, without a label" in capsys.readouterr().err
    assert made.views[0].origin["mined"] == 0


def test_a_title_that_is_missing_on_one_side_does_not_hide_a_text() -> None:
    titled = Doc("p", "A long spout.", "Kettle")
    bare, other = Doc("1", "a long SPOUT."), Doc("2", "A long spout.", "Teapot")
    (made,) = mine([topic("spout", titled)], [bare, other])
    assert negatives(made) == ["2"]
    (made,) = mine([topic("spout", bare)], [titled, Doc("3", "A short spout.")])
    assert negatives(made) == ["3"]


def test_the_cut_is_below_the_positives_of_all_views_that_get_the_negatives() -> None:
    strong, weak = Doc("s", "kettle kettle"), Doc("w", "one kettle among many other long words")
    asked = Topic("t", "kettle", (strong, weak), (View("a", {"s": P}), View("b", {"w": P})))
    docs = [Doc("near", "kettle"), Doc("far", weak.text + " and many more of them")]
    (made,) = mine([asked], docs, below_positive=0.99)
    assert negatives(made) == ["far"] == made.views[1].ids(N)


def test_a_window_too_small_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    list(mine([topic("red kettle", CORPUS[0])], CORPUS, take=3, last_rank=2))
    assert "the rank window has room for 2" in capsys.readouterr().err


def test_corpora_without_words() -> None:
    (made,) = mine([topic("kettle", CORPUS[0])], [Doc("1", "?!"), Doc("2", "")])
    assert negatives(made) == []


def test_settings_are_checked() -> None:
    for wrong in (
        {"by": "magic"},
        {"take": 0},
        {"first_rank": 5, "last_rank": 2},
        {"pick": "any"},
        {"language": "x"},
        {"by": "bm25+bm25"},
        {"k1": float("nan")},
        {"memory_mb": 0},
        {"min_score": float("nan")},
        {"below_positive": float("nan")},
    ):
        with pytest.raises(SettingError):
            list(mine([topic("kettle", CORPUS[0])], CORPUS, **wrong))  # type: ignore[arg-type]
    with pytest.raises(SettingError):
        list(mine([], []))


def test_the_corpus_is_never_written_over_and_its_digest_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = "\n".join(to_json({"_id": d.doc_id, "text": d.text}).decode() for d in CORPUS)
    Path("corpus.jsonl").write_text(corpus)
    write_topics("topics.jsonl", [topic("red kettle", CORPUS[0])])
    monkeypatch.setattr(sys, "argv", ["obverse", "mine", "topics.jsonl", "--corpus", "."])
    sys.argv += ["--out", "./corpus.jsonl"]
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2 and Path("corpus.jsonl").read_text() == corpus
    assert "written over its own input" in capsys.readouterr().err
    sys.argv[-1] = "mined.jsonl"
    with pytest.raises(SystemExit):
        main()
    assert "corpus.jsonl" in read_json("mined.jsonl.made.json")["inputs"]


def test_topics_without_documents_get_them_from_the_corpus() -> None:
    views = (View("", {"p": P}), View("only small", {"a": P, "p": H}))
    (made,) = mine([Topic("t", "red kettle", (), views)], CORPUS)
    assert [doc.doc_id for doc in made.docs] == ["p", "a", "c"]
    assert negatives(made) == ["c"]
    with pytest.raises(InputError, match="'gone', which the corpus lacks"):
        list(mine([Topic("t", "red kettle", (), (View("", {"gone": P}),))], CORPUS))
