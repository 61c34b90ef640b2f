"""Training topics from a file or folder of any known format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from obverse.errors import InputError
from obverse.files import in_folder, read_corpus, read_topics, topic_rows
from obverse.read import read
from obverse.records import Topic
from obverse.training.arguments import need_names


def training_topics(source: str) -> Iterator[Topic]:
    """Yields the topics of a topics file, a topics benchmark, or any format that :func:`obverse.read.read` knows.

    Raises:
        InputError: If the source cannot be read, or a topic labels a document that the corpus lacks.
        SettingError: If the source's name is empty.
    """
    need_names({"topics": source})
    path = Path(source)
    if path.is_dir() and any(path.glob("topics.jsonl*")):
        yield from _joined(path)
    elif (source != "-" and path.is_file() and not _holds_topics(path)) or path.is_dir():
        yield from read(path)
    else:
        yield from read_topics(source)


def _holds_topics(path: Path) -> bool:
    """Whether the first row looks like a topic; faults are left to the reader."""
    try:
        _, row = next(iter(topic_rows(path)))
    except (StopIteration, InputError):
        return True
    return not isinstance(row, dict) or "views" in row or "topic_id" in row


def _joined(folder: Path) -> Iterator[Topic]:
    corpus = read_corpus(in_folder(folder, "corpus.jsonl"))
    for topic in read_topics(in_folder(folder, "topics.jsonl")):
        if topic.docs:
            yield topic
            continue
        ids = list(dict.fromkeys(doc_id for view in topic.views for doc_id in view.labels))
        missing = [doc_id for doc_id in ids if doc_id not in corpus]
        if missing:
            raise InputError(
                f"labels document {missing[0]!r}, which is not in the corpus",
                where=f"topic {topic.topic_id}",
                fix="Add it to corpus.jsonl or take the label away",
            )
        yield replace(topic, docs=tuple(corpus[doc_id] for doc_id in ids))
