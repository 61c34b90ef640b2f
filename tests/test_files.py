"""Files hold what was written, for any text and any container; damaged ones are named, and nothing is half written."""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from obverse.errors import InputError, MissingExtra
from obverse.files import (
    LineFacts,
    made_file,
    open_bytes,
    read_corpus,
    read_json_lines,
    read_lines,
    read_topics,
    to_json,
    whole_file,
    write_json_lines,
    write_topics,
)
from obverse.records import Doc, Label, Topic, View

SUFFIXES = ["", ".gz", ".zst", ".parquet"]
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
WITH_SURROGATES = st.text(st.characters(), max_size=20)


def topic(query: str = "q", text: str = "t", topic_id: str = "t", instruction: str = "i") -> Topic:
    docs = (Doc("a", text, text), Doc("b\u2028", "other"))
    labels = {"a": Label.POSITIVE, "b\u2028": Label.INSTRUCTION_NEGATIVE}
    view = View(instruction, labels, {"n": 1, "s": [text]}, {"gain": 0.25})
    return Topic(topic_id, query, docs, (view, View("", {"a": Label.POSITIVE})))


def round_trip(path: Path, topics: list[Topic]) -> list[Topic]:
    write_topics(path, topics)
    return list(read_topics(path))


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=3))
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_any_text_survives(tmp_path: Path, suffix: str, texts: list[str]) -> None:
    topics = [topic("q" + text, text, f"{n}{text}", text) for n, text in enumerate(texts)]
    assert round_trip(tmp_path / f"topics.jsonl{suffix}", topics) == topics


@given(text=WITH_SURROGATES)
@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_lone_surrogates_survive_in_json_lines(tmp_path: Path, text: str) -> None:
    topics = [topic("q" + text, text)]
    assert round_trip(tmp_path / "topics.jsonl", topics) == topics


@pytest.mark.parametrize(
    "text", ["a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg", "\ufeffmark", "\r\n x \r", "\x00", "🎠"]
)
def test_separators_and_controls_are_text(tmp_path: Path, text: str) -> None:
    for suffix in SUFFIXES:
        topics = [topic("q" + text, text), topic("r", text, "u")]
        assert round_trip(tmp_path / f"t.jsonl{suffix}", topics) == topics


def test_a_topics_benchmark_keeps_its_lack_of_docs(tmp_path: Path) -> None:
    bare = Topic("t", "q", (), (View("", {"x": Label.POSITIVE, "y": Label.IGNORE}),))
    for suffix in SUFFIXES:
        assert round_trip(tmp_path / f"t.jsonl{suffix}", [bare]) == [bare]


def test_the_same_records_give_the_same_bytes(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        for name in ("a", "b"):
            write_topics(tmp_path / f"{name}{suffix}", [topic()])
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def containers(folder: Path) -> dict[str, Path]:
    zstandard = pytest.importorskip("zstandard")
    text = b'{"a": 1}\n{"a": 2}\n'
    compress = zstandard.ZstdCompressor(write_checksum=True).compress
    half = len(text) // 2
    made = {
        "plain": text,
        "gz": gzip.compress(text),
        "two-members": gzip.compress(text[:half]) + gzip.compress(text[half:]),
        "zst": compress(text),
        "two-frames": compress(text[:half]) + compress(text[half:]),
        "lies.jsonl": gzip.compress(text),
    }
    for name, data in made.items():
        (folder / name).write_bytes(data)
    return {name: folder / name for name in made}


def test_containers_are_recognised_by_content(tmp_path: Path) -> None:
    for path in containers(tmp_path).values():
        assert [row["a"] for _, row in read_json_lines(path)] == [1, 2], path


@pytest.mark.parametrize("name", ["gz", "zst", "two-members", "two-frames"])
@pytest.mark.parametrize("cut", [1, 5, 9])
def test_a_cut_archive_is_an_error_that_names_the_file(tmp_path: Path, name: str, cut: int) -> None:
    path = containers(tmp_path)[name]
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(InputError, match=name):
        list(read_lines(path))


def test_a_damaged_archive_is_an_error(tmp_path: Path) -> None:
    for name in ("gz", "zst"):
        path = containers(tmp_path)[name]
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(bytes(data))
        with pytest.raises(InputError, match=name):
            list(read_lines(path))


def test_a_cut_parquet_file_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    write_topics(path, [topic()])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"t\.parquet"):
        list(read_topics(path))


def test_lines_lose_marks_ends_and_blanks_and_count_them(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes("\ufeffone\r\n\r\n \t\ntwo\u2028still two\n\ufeffthree".encode())
    facts = LineFacts()
    assert [(n, line.decode()) for n, line in read_lines(path, facts)] == [
        (1, "one"),
        (4, "two\u2028still two"),
        (5, "three"),
    ]
    assert (facts.marks, facts.crlf, facts.blank, facts.first_blank) == (2, 2, 2, 2)


def test_utf16_is_named(tmp_path: Path) -> None:
    (tmp_path / "wide").write_bytes("one\n".encode("utf-16"))
    with pytest.raises(InputError, match="UTF-16"):
        list(read_lines(tmp_path / "wide"))


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"
    write_json_lines(path, [{"old": 1}])
    old = path.read_bytes()

    def rows() -> Any:
        yield {"new": 1}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_json_lines(path, rows())
    assert path.read_bytes() == old
    assert [file.name for file in tmp_path.iterdir()] == ["out.jsonl.gz"]


def test_parent_folders_are_made_and_the_mode_is_usual(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out"
    with whole_file(path) as stream:
        stream.write(b"x")
    other = tmp_path / "other"
    other.write_bytes(b"x")
    assert path.stat().st_mode == other.stat().st_mode


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "is no JSON"),
        ('{"topic_id": NaN}', "is no JSON"),
        ("[]", "should be an object, not a list"),
        ('{"topic_id": "t", "query": "q", "views": [], "extra": 1}', "unknown key 'extra'"),
        (
            '{"topic_id": 7, "query": "q", "views": []}',
            "topic_id: should be a string, not a number",
        ),
        (
            '{"topic_id": "t", "query": "q", "views": [{"labels": {"a": "positive", "a": "negative"}}]}',
            "stands twice",
        ),
        (
            '{"topic_id": "t", "query": "q", "views": [{"labels": {"a": "good"}}]}',
            r"views\[0\], labels: unknown label",
        ),
        (
            '{"topic_id": "t", "query": "q", "query": "r", "views": [{"labels": {"a": "positive"}}]}',
            "stands twice",
        ),
    ],
)
def test_a_bad_topic_is_one_line_with_file_and_line(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "t.jsonl"
    good = '{"topic_id": "t0", "query": "q", "views": [{"labels": {"a": "positive"}}]}'
    path.write_text(f"{good}\n{line}\n")
    with pytest.raises(InputError, match=rf"t\.jsonl:2.*{what}") as caught:
        list(read_topics(path))
    assert "\n" not in str(caught.value)


def test_topics_need_ids_of_their_own_and_a_file_needs_topics(tmp_path: Path) -> None:
    write_json_lines(
        tmp_path / "t",
        [
            json.loads(
                to_json({"topic_id": "t", "query": "q", "views": [{"labels": {"a": "positive"}}]})
            )
        ]
        * 2,
    )
    with pytest.raises(InputError, match=r"t:2, topic_id: .*stands already in line 1"):
        list(read_topics(tmp_path / "t"))
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(InputError, match="holds no topic"):
        list(read_topics(tmp_path / "empty"))


def test_a_corpus_with_two_texts_of_one_id_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    write_json_lines(
        path, [{"_id": "007", "text": "a"}, {"_id": "7", "text": "b"}, {"_id": "007", "text": "c"}]
    )
    with pytest.raises(InputError, match=r"corpus\.jsonl:3"):
        read_corpus(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    for path, what in ((tmp_path / "none", "no such file"), (tmp_path, "is a folder")):
        with pytest.raises(InputError, match=what), open_bytes(path):
            pass


def test_made_file_says_how(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_bytes(b"x")
    made_file(tmp_path / "out", command="read", inputs=[source], came="1 rows")
    made = json.loads((tmp_path / "out.made.json").read_text())
    assert made["command"] == "read" and made["inputs"][str(source)].startswith("2d7116")


def test_parquet_names_the_text_that_it_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lone surrogate.*ud800.*JSON Lines"):
        write_topics(tmp_path / "t.parquet", [topic(text="blue \ud800 pot")])
    assert list(tmp_path.iterdir()) == []


def test_parquet_holds_a_shared_text_once(tmp_path: Path) -> None:
    shared = "".join(random.Random(0).choices("abcdefghijklmnop", k=4_000))
    topics = [topic(text=shared, topic_id=str(number)) for number in range(6_000)]
    assert round_trip(tmp_path / "t.parquet", topics) == topics
    assert (tmp_path / "t.parquet").stat().st_size < 400_000


def test_every_extra_that_is_named_exists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    source = "\n".join(path.read_text() for path in (root / "src").rglob("*.py"))
    named = set(re.findall(r'MissingExtra\(\s*"[^"]+",\s*"([^"]+)"', source))
    assert len(named) > 5 and named <= set(extras)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "rows.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    with (
        pytest.raises(MissingExtra, match=r"pip install zstandard$"),
        open_bytes(tmp_path / "rows.jsonl.zst"),
    ):
        pass
