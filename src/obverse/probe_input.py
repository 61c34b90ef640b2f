"""The documents and queries of a probe: one's own, or the packaged sample."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from obverse.errors import InputError
from obverse.files import in_folder, read_corpus, read_lines, read_topics
from obverse.records import Doc
from obverse.sampling import rng_for
from obverse.trec import read_queries

PathLike = str | os.PathLike[str]


def probe_input(
    docs: PathLike | None = None,
    queries: PathLike | None = None,
    *,
    take: int = 150,
    take_queries: int = 20,
    seed: int = 0,
) -> tuple[list[Doc], list[str]]:
    """Returns documents and queries to probe a model with.

    Args:
        docs: A corpus.jsonl, a folder that holds one, or a text file with one document a line; None for the packaged
            sample, whose held-out topics bring their own queries.
        queries: A queries.jsonl or a text file with one query a line; by default documents' titles, else the first
            words of their texts.
        take: At most so many documents, drawn by the seed.
        take_queries: At most so many queries.
        seed: Seed of the draw.
    """
    if docs is None:
        found, asked = _sample(take)
    else:
        found = _drawn(_read_docs(docs), take, seed)
        asked = [doc.title or " ".join(doc.text.split()[:8]) for doc in found]
    if queries is not None:
        asked = (
            _read_texts(queries)
            if _is_text(queries)
            else [a.query for a in read_queries(queries).values()]
        )
    return found, [text for text in asked if text.strip()][:take_queries]


def _sample(take: int) -> tuple[list[Doc], list[str]]:
    from obverse.sample import sample_folder

    home = sample_folder()
    corpus = read_corpus(in_folder(home, "corpus.jsonl"))
    chosen: dict[str, Doc] = {}
    asked = []
    for topic in read_topics(in_folder(home, "topics.jsonl")):
        labelled = {doc_id: corpus[doc_id] for view in topic.views for doc_id in view.labels}
        if len(chosen | labelled) > take:
            break
        chosen |= labelled
        asked.append(topic.query)
    return list(chosen.values()), asked


def _drawn(docs: Sequence[Doc], take: int, seed: int) -> list[Doc]:
    if len(docs) <= take:
        return list(docs)
    order = sorted(docs, key=lambda doc: rng_for(seed, "probe", doc.doc_id).random())
    return order[:take]


def _read_docs(place: PathLike) -> list[Doc]:
    path = Path(place)
    if path.is_dir():
        path = in_folder(path, "corpus.jsonl")
    if _is_text(path):
        return [Doc(str(n), text) for n, text in enumerate(_read_texts(path), start=1)]
    return list(read_corpus(path).values())


def _is_text(place: PathLike) -> bool:
    return Path(place).suffix == ".txt"


def _read_texts(place: PathLike) -> list[str]:
    texts = []
    for number, line in read_lines(place):
        try:
            texts.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            raise InputError(
                "is no UTF-8 text",
                where=f"{os.fspath(place)}:{number}",
                fix="Write the file as UTF-8",
            ) from None
    return texts
