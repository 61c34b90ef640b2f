"""The sample: drawn by method and lever, blind, frozen by a hash; roles stand in a key file apart."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.files import digest, read_json_lines, to_json, whole_file, write_json_lines
from obverse.records import Doc, Label, Topic, View
from obverse.sampling import rng_for
from obverse.stages import Drops

MAX_NEGATIVES = 2
QUESTIONS: dict[str, str] = {
    "keeps_meaning": "Does the instruction keep what the query asks for, and could a person really add it?",
    "nothing_invented": "Is it free of invented conditions, and of the answer itself?",
}
"""What is asked of every item besides the documents' roles."""
ROLES: dict[int, str] = {
    1: "off topic: does not fit the query",
    2: "on topic, but breaks the instruction",
    3: "fits the query and satisfies the instruction",
}

Stratum = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Item:
    """One view to judge.

    Attributes:
        sample_id: Its id: a hash of topic and instruction.
        query: The query.
        instruction: The instruction.
        documents: The documents to judge, by the number shown; roles are hidden.
    """

    sample_id: str
    query: str
    instruction: str
    documents: tuple[Doc, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """What stands behind an item: its stratum, roles, and what the LLM judge said.

    Attributes:
        sample_id: The item's.
        topic_id: The topic's.
        method: Who made the view.
        lever: By what.
        labels: The label of each shown document, in the order shown.
        doc_ids: Their ids.
        judge: The LLM judge's verdict of each, where there is one.
    """

    sample_id: str
    topic_id: str
    method: str
    lever: str
    labels: tuple[str, ...]
    doc_ids: tuple[str, ...]
    judge: tuple[str | None, ...]


def draw_sample(
    topics: Iterable[Topic],
    size: int = 100,
    seed: int = 0,
    *,
    corpus: Mapping[str, Doc] | None = None,
    drops: Drops | None = None,
) -> list[tuple[Item, Key]]:
    """Returns a sample of instructed views, stratified by method and lever, in a drawn order.

    Every stratum gives views in proportion to its size, and at least one as long as there is room. Shown of each view
    are its positives, its instruction negatives and up to two negatives, shuffled.

    Args:
        topics: Where the views stand.
        size: How many views; fewer where there are no more.
        seed: Draws depend on it and on the views alone.
        corpus: Where the documents are, if the topics do not hold them.
        drops: Notes views whose documents are missing.

    Raises:
        SettingError: If the size makes no sense.
        InputError: If there is no instructed view with its documents.
    """
    if size < 1:
        raise SettingError(f"--size {size} makes no sense", fix="Give at least 1")
    strata: dict[Stratum, list[tuple[Item, Key]]] = defaultdict(list)
    for topic in topics:
        for view in topic.instructed_views:
            made = _item(topic, view, seed, corpus or {})
            if made is not None:
                strata[made[1].method, made[1].lever].append(made)
            elif drops is not None:
                drops.add(topic.topic_id, "a document of the view is missing", view=view)
    if not strata:
        raise InputError(
            "no instructed view holds its documents",
            fix="Give topics with docs, or --corpus FOLDER",
        )
    drawn: list[tuple[Item, Key]] = []
    for stratum, take in allotted({key: len(views) for key, views in strata.items()}, size).items():
        views = sorted(strata[stratum], key=lambda pair: pair[0].sample_id)
        drawn += rng_for(seed, "audit", *stratum).sample(views, take)
    rng_for(seed, "audit", "order").shuffle(drawn)
    return drawn


def allotted(sizes: Mapping[Stratum, int], total: int) -> dict[Stratum, int]:
    """Returns how many each stratum gives: in proportion, by largest remainders, each at least one if possible."""
    total = min(total, sum(sizes.values()))
    keys = sorted(sizes, key=lambda key: (-sizes[key], key))
    if total < len(keys):
        return dict.fromkeys(keys[:total], 1)
    whole = sum(sizes.values())
    shares = {key: max(1.0, sizes[key] / whole * total) for key in keys}
    given = {key: min(sizes[key], int(share)) for key, share in shares.items()}
    while sum(given.values()) > total:
        largest = max(keys, key=lambda key: given[key])
        given[largest] -= 1
    while sum(given.values()) < total:
        open_ = [key for key in keys if given[key] < sizes[key]]
        given[max(open_, key=lambda key: shares[key] - given[key])] += 1
    return given


def _item(
    topic: Topic, view: View, seed: int, corpus: Mapping[str, Doc]
) -> tuple[Item, Key] | None:
    name = f"{topic.topic_id}\0{view.instruction}".encode("utf-8", "surrogatepass")
    sample_id = hashlib.sha256(name).hexdigest()[:12]
    rng = rng_for(seed, "audit", sample_id)
    negatives = view.ids(Label.NEGATIVE)
    shown = [
        *view.positives,
        *view.ids(Label.INSTRUCTION_NEGATIVE),
        *rng.sample(negatives, min(MAX_NEGATIVES, len(negatives))),
    ]
    own = {doc.doc_id: doc for doc in topic.docs}
    docs = [own.get(doc_id) or corpus.get(doc_id) for doc_id in shown]
    if not all(docs):
        return None
    rng.shuffle(docs)
    kept = tuple(doc for doc in docs if doc is not None)
    said = view.checks.get("judge")
    verdicts = _verdicts(said) if isinstance(said, dict) else {}
    ids = tuple(doc.doc_id for doc in kept)
    key = Key(
        sample_id,
        topic.topic_id,
        str(view.origin.get("method") or "-"),
        str(view.origin.get("lever") or "-"),
        tuple(str(view.labels[doc_id]) for doc_id in ids),
        ids,
        tuple(verdicts.get(doc_id) for doc_id in ids),
    )
    return Item(sample_id, topic.query, view.instruction, kept), key


def _verdicts(said: Mapping[str, Any]) -> Mapping[str, str]:
    """Returns what a judge said of each document, by the words of its first question or by probabilities."""
    sure = said.get("probabilities")
    if sure is None:
        found: Mapping[str, str] = said.get("forward", {})
        return found
    return {
        doc_id: "satisfies" if yes >= said["yes_at"] else "does not satisfy"
        for doc_id, yes in sure.items()
    }


def write_sample(drawn: Sequence[tuple[Item, Key]], out: str | os.PathLike[str]) -> str:
    """Writes ``<out>`` (what is judged), ``<out>.key.jsonl`` (apart, private) and ``<out>.sheet.csv`` (to fill in).

    Returns:
        The hash that freezes the sample: the key file holds it.
    """
    write_json_lines(out, (item_row(number, item) for number, (item, _) in enumerate(drawn, 1)))
    frozen = digest(out)
    write_json_lines(
        key_path(out), [{"sample_sha256": frozen}, *(_key_row(key) for _, key in drawn)]
    )
    with whole_file(f"{os.fspath(out)}.sheet.csv") as stream:
        stream.write(b"\xef\xbb\xbf" + _sheet([item for item, _ in drawn]).encode())
    return frozen


def key_path(sample: str | os.PathLike[str]) -> Path:
    """Returns where a sample's key stands."""
    return Path(f"{os.fspath(sample)}.key.jsonl")


def item_row(number: int, item: Item) -> dict[str, Any]:
    """Returns an item as it stands in the sample's file; document ids, which may tell, are left out."""
    return {
        "item": number,
        "sample_id": item.sample_id,
        "query": item.query,
        "instruction": item.instruction,
        "documents": [
            {"number": n, "title": doc.title, "text": doc.text}
            for n, doc in enumerate(item.documents, start=1)
        ],
    }


def _key_row(key: Key) -> dict[str, Any]:
    return {name: getattr(key, name) for name in Key.__slots__}


def _sheet(items: Sequence[Item]) -> str:
    most = max(len(item.documents) for item in items)
    numbers = range(1, most + 1)
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\r\n")
    rows.writerow(
        ["sample_id", "who", "query", "instruction"]
        + [f"text{n}" for n in numbers]
        + [f"doc{n}" for n in numbers]
        + [*QUESTIONS, "note"]
    )
    for item in items:
        texts = [f"{doc.title}\n{doc.text}".strip() for doc in item.documents]
        blank = [""] * (most - len(texts))
        rows.writerow(
            [item.sample_id, "", item.query, item.instruction, *texts, *blank]
            + [""] * (most + len(QUESTIONS) + 1)
        )
    return out.getvalue()


def read_sample(path: str | os.PathLike[str]) -> list[Item]:
    """Returns the items of a sample's file.

    Raises:
        InputError: With file and line, if a row is no item.
    """
    items = []
    for number, row in read_json_lines(path):
        try:
            docs = tuple(Doc(str(d["number"]), d["text"], d["title"]) for d in row["documents"])
            items.append(Item(row["sample_id"], row["query"], row["instruction"], docs))
        except (KeyError, TypeError):
            raise InputError(
                "is no item of a sample",
                where=f"{os.fspath(path)}:{number}",
                fix="Give the file that obverse audit sample wrote",
            ) from None
    if not items:
        raise InputError("holds no item", where=os.fspath(path), fix="Draw a sample first")
    return items


def read_keys(sample: str | os.PathLike[str]) -> dict[str, Key]:
    """Returns the keys of a sample by sample_id.

    Raises:
        InputError: If the key file is missing, or the sample was changed since it was drawn.
    """
    path = key_path(sample)
    rows: Iterator[tuple[int, Any]] = read_json_lines(path)
    first: Any = next(rows, (0, None))[1]
    if not isinstance(first, dict) or first.get("sample_sha256") != digest(sample):
        raise InputError(
            "the sample was changed since it was drawn",
            where=os.fspath(sample),
            fix="Use the file as it was written, or draw a new sample",
        )
    return {row["sample_id"]: Key(**{k: _tuple(v) for k, v in row.items()}) for _, row in rows}


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def freeze_note(frozen: str, drawn: Sequence[tuple[Item, Key]]) -> bytes:
    """Returns what the made-file says of a sample, as JSON."""
    strata: dict[str, int] = defaultdict(int)
    for _, key in drawn:
        strata[f"{key.method} / {key.lever}"] += 1
    return to_json({"sha256": frozen, "items": len(drawn), "strata": dict(sorted(strata.items()))})
