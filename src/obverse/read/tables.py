"""Gathered topics as Arrow tables, straight from their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from obverse.files import CHARACTERS_AT_ONCE, TOPICS_AT_ONCE, parquet, topic_table
from obverse.read.documents import Documents
from obverse.read.gathering import LABELS, Gathering
from obverse.read.judgements import Numbers
from obverse.read.kept import Kept, joined
from obverse.stages import Counts

_TOPICS_A_SLICE = 1_000


def gathered_tables(gathering: Gathering, parts: Iterable[Kept], left: Counts) -> Iterator[Any]:
    """Yields the topics as Arrow tables, each document once in a table, and counts them."""
    pa = parquet()
    size, group = _Size(gathering.documents), list[Kept]()
    for part in parts:
        for found in part.slices(_TOPICS_A_SLICE):
            more = size.of(found)
            count = sum(len(each.topics) for each in group)
            if group and (size.total + more > CHARACTERS_AT_ONCE or count >= TOPICS_AT_ONCE):
                yield _table(pa, gathering, joined(group), left)
                group = []
                size.begin()
                more = size.of(found)
            size.add(found, more)
            group.append(found)
    if group:
        yield _table(pa, gathering, joined(group), left)


class _Size:
    """How many bytes of different documents a group holds."""

    def __init__(self, documents: Documents) -> None:
        self._sizes = documents.texts.sizes() + documents.titles.sizes()
        self.begin()

    def begin(self) -> None:
        self._seen = np.zeros(len(self._sizes), dtype=bool)
        self.total = 0

    def of(self, found: Kept) -> int:
        """Returns how many bytes a part would add."""
        docs = found.labels.docs
        fresh = np.unique(docs[~self._seen[docs]])
        return int(self._sizes[fresh].sum())

    def add(self, found: Kept, size: int) -> None:
        self._seen[found.labels.docs] = True
        self.total += size


def _table(pa: Any, gathering: Gathering, found: Kept, left: Counts) -> Any:
    docs, docs_end = found.docs()
    instructions = [gathering.instructions[view] for view in found.views.tolist()]
    instructed = np.asarray([bool(text) for text in instructions])
    topics = found.topics.tolist()
    left.topics += len(topics)
    left.views += len(instructions)
    left.instructed_views += int(instructed.sum())
    left.docs += len(docs)
    order = found.plain_first(instructed)
    instructions = [instructions[at] for at in order.tolist()]
    rows, labels_end = found.rows_of(order)
    used, places = _used(docs, len(gathering.documents))
    at = places[docs]
    ids = pa.array([gathering.documents.ids[number] for number in used.tolist()], pa.string())
    label_docs = places[found.labels.docs[rows]]
    origins = gathering.origins(found.topics)
    owners = np.repeat(np.arange(len(topics)), np.diff(found.view_starts))
    labels = pa.array([str(label) for label in LABELS])
    return topic_table(
        pa,
        _strings(pa, [gathering.topic_ids[topic] for topic in topics]),
        _strings(pa, [gathering.queries[topic] for topic in topics]),
        {"doc_id": _chosen(pa, ids, at), **_texts(pa, gathering.documents, used, at)},
        {
            "instruction": _strings(pa, instructions),
            "origin": _chosen(pa, _strings(pa, origins), owners),
            "checks": _chosen(pa, pa.array(["{}"]), np.zeros(len(owners), dtype=np.int32)),
        },
        (docs_end, found.view_starts, labels_end),
        (_chosen(pa, ids, label_docs), _chosen(pa, labels, found.labels.kinds[rows])),
    )


def _used(docs: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Returns the different numbers in order, and for each number its place among them, ``[u], [count]``."""
    there = np.zeros(count, dtype=bool)
    there[docs] = True
    return np.flatnonzero(there), np.cumsum(there) - 1


def _texts(pa: Any, documents: Documents, used: Numbers, at: Numbers) -> dict[str, Any]:
    """Returns titles and texts of documents, each different string once."""
    texts = documents.texts.arrow(pa, used)
    if documents.has_twins(used):
        texts = texts.dictionary_encode()
    titles = documents.titles.arrow(pa, used).dictionary_encode()
    return {"title": _chosen(pa, titles, at), "text": _chosen(pa, texts, at)}


def _strings(pa: Any, texts: list[str]) -> Any:
    return pa.array(texts, pa.string()).dictionary_encode()


def _chosen(pa: Any, strings: Any, at: Any) -> Any:
    """Returns the strings at these places, each different one once."""
    places = pa.array(at, pa.int32())
    if pa.types.is_dictionary(strings.type):
        return strings.take(places)
    return pa.DictionaryArray.from_arrays(places, strings)
