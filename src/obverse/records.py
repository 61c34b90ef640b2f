"""The central records: one candidate set, judged under several instructions.

A :class:`Topic` is one information need with its candidate documents once; a :class:`View` is one way of judging
them. A plain (query, positive, negatives) row is a topic with one view whose instruction is empty; a dual view is
two views whose labels swap. The JSON form of a topic is documented in docs/records.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar

from obverse.errors import InputError


class Label(StrEnum):
    """What a document is under one view."""

    POSITIVE = "positive"
    INSTRUCTION_NEGATIVE = "instruction_negative"
    NEGATIVE = "negative"
    IGNORE = "ignore"


Run = Mapping[str, Mapping[str, float]]
"""Scores of documents by query: ``{query_id: {doc_id: score}}``."""

Qrels = Mapping[str, Mapping[str, int]]
"""Relevance grades of documents by query: ``{query_id: {doc_id: grade}}``."""

T = TypeVar("T")
_NEGATIVES = (Label.INSTRUCTION_NEGATIVE, Label.NEGATIVE)


@dataclass(frozen=True, slots=True)
class Doc:
    """A document: what is retrieved."""

    doc_id: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """One way of judging a topic's documents.

    Attributes:
        instruction: The extra condition in natural language; empty for the plain view.
        labels: The label of each judged document. A document without a label is unjudged.
        origin: Which method, model, prompt hash and reply made the view.
        checks: The verdicts of filters (similarity gain, judge, human), by filter name.
    """

    instruction: str
    labels: Mapping[str, Label]
    origin: Mapping[str, Any] = field(default_factory=dict)
    checks: Mapping[str, Any] = field(default_factory=dict)

    def ids(self, *labels: Label) -> list[str]:
        """Returns the ids of the documents with one of the labels, in the order of ``labels`` mapping."""
        return [doc_id for doc_id, label in self.labels.items() if label in labels]

    @property
    def positives(self) -> list[str]:
        return self.ids(Label.POSITIVE)

    @property
    def negatives(self) -> list[str]:
        """The ids of both kinds of negatives."""
        return self.ids(*_NEGATIVES)

    @property
    def is_plain(self) -> bool:
        return not self.instruction

    def checked(self, **verdicts: Any) -> View:
        """Returns the view with verdicts added to its checks."""
        return replace(self, checks={**self.checks, **verdicts})


@dataclass(frozen=True, slots=True)
class Topic:
    """One information need, its candidate documents once, and the views that judge them.

    ``docs`` is empty in a topics benchmark, whose views label ids of a corpus.
    """

    topic_id: str
    query: str
    docs: tuple[Doc, ...]
    views: tuple[View, ...]

    @property
    def plain_view(self) -> View | None:
        return next((view for view in self.views if view.is_plain), None)

    @property
    def instructed_views(self) -> tuple[View, ...]:
        return tuple(view for view in self.views if not view.is_plain)

    def doc(self, doc_id: str) -> Doc:
        """Returns the candidate with this id.

        Raises:
            KeyError: If the topic has no such candidate.
        """
        for doc in self.docs:
            if doc.doc_id == doc_id:
                return doc
        raise KeyError(doc_id)

    def with_views(self, views: Iterable[View]) -> Topic:
        """Returns the topic with other views."""
        return replace(self, views=tuple(views))


@dataclass(frozen=True, slots=True)
class Ask:
    """One thing that is searched for: a query, and the instruction that it comes with."""

    query_id: str
    query: str
    instruction: str = ""


@dataclass(frozen=True, slots=True)
class Collection:
    """A corpus with queries and their judgements, as a BEIR folder holds them."""

    docs: Mapping[str, Doc]
    queries: Mapping[str, str]
    qrels: Qrels


def doc_from_json(row: Any) -> Doc:
    """Returns the document that a JSON object ``{"doc_id", "title", "text"}`` describes.

    Raises:
        InputError: If a key is missing, unknown or of the wrong type.
    """
    row = _object(row, "a document", required=("doc_id", "text"), optional=("title",))
    return Doc(
        _text(row, "doc_id"), _text(row, "text"), _text(row, "title") if "title" in row else ""
    )


def view_from_json(row: Any) -> View:
    """Returns the view that a JSON object describes.

    Raises:
        InputError: If a key or label is unknown, a type is wrong, or no document is positive.
    """
    row = _object(row, "a view", required=("labels",), optional=("instruction", "origin", "checks"))
    labels = row["labels"]
    if not isinstance(labels, dict):
        raise InputError(
            f"should be an object of labels by doc_id, not {_kind(labels)}",
            where="labels",
            fix='Write {"doc_id": "positive", ...}',
        )
    try:
        parsed = {doc_id: Label(label) for doc_id, label in labels.items()}
    except (ValueError, TypeError):
        doc_id, label = next((k, v) for k, v in labels.items() if v not in list(Label))
        raise InputError(
            f"unknown label {label!r} of document {doc_id!r}",
            where="labels",
            fix=f"Use one of {', '.join(Label)}",
            code="unknown_label",
        ) from None
    if Label.POSITIVE not in parsed.values():
        raise InputError(
            "no document is positive",
            where="labels",
            fix="Give every view at least one positive",
            code="no_positive",
        )
    instruction = _text(row, "instruction") if row.get("instruction") is not None else ""
    return View(instruction, parsed, _mapping(row, "origin"), _mapping(row, "checks"))


def topic_from_json(row: Any) -> Topic:
    """Returns the topic that a JSON object describes.

    Raises:
        InputError: If a key or label is unknown, a type is wrong, a document stands twice, or a view labels a
            document that the topic does not have.
    """
    row = _object(row, "a topic", required=("topic_id", "query", "views"), optional=("docs",))
    topic_id = _text(row, "topic_id")
    docs = tuple(_each(row.get("docs", []), "docs", doc_from_json))
    views = tuple(_each(row["views"], "views", view_from_json))
    topic = Topic(topic_id, _text(row, "query"), docs, views)
    if not topic.query.strip():
        raise InputError(
            "is empty", where="query", fix="Give the topic a query", code="blank_query"
        )
    if not views:
        raise InputError(
            "the topic has no view, so no positive",
            where="views",
            fix="Give it at least one view",
            code="no_positive",
        )
    _check_ids(topic)
    return topic


def _check_ids(topic: Topic) -> None:
    known = [doc.doc_id for doc in topic.docs]
    if len(set(known)) < len(known):
        twice = next(doc_id for doc_id in known if known.count(doc_id) > 1)
        raise InputError(
            f"document {twice!r} stands twice", where="docs", fix="Keep one of the two"
        )
    if not known:
        return
    for number, view in enumerate(topic.views):
        missing = view.labels.keys() - set(known)
        if missing:
            raise InputError(
                f"labels document {min(missing)!r}, which is not among the topic's docs",
                where=f"views[{number}].labels",
                fix="Add the document to docs or take the label away",
            )


def doc_to_json(doc: Doc) -> dict[str, Any]:
    """Returns the document's JSON object."""
    return {"doc_id": doc.doc_id, "title": doc.title, "text": doc.text}


def topic_to_json(topic: Topic) -> dict[str, Any]:
    """Returns the topic's JSON object; ``docs`` is left out where the topic has none."""
    row: dict[str, Any] = {"topic_id": topic.topic_id, "query": topic.query}
    if topic.docs:
        row["docs"] = [doc_to_json(doc) for doc in topic.docs]
    row["views"] = [
        {
            "instruction": view.instruction,
            "labels": {doc_id: str(label) for doc_id, label in view.labels.items()},
            "origin": view.origin,
            "checks": view.checks,
        }
        for view in topic.views
    ]
    return row


def _object(
    row: Any, what: str, *, required: tuple[str, ...], optional: tuple[str, ...]
) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise InputError(
            f"{what} should be an object, not {_kind(row)}",
            fix=f"Keys: {', '.join(required + optional)}",
        )
    for key in required:
        if key not in row:
            raise InputError(
                f"{what} lacks the key {key!r}", fix=f"Keys: {', '.join(required + optional)}"
            )
    for key in row:
        if key not in required and key not in optional:
            raise InputError(
                f"{what} has an unknown key {key!r}",
                fix=f"Known keys: {', '.join(required + optional)}",
                code="unknown_key",
            )
    return row


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        raise InputError(
            f"should be a string, not {_kind(value)}", where=key, fix="Put the value in quotes"
        )
    return value


def _mapping(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = row.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(
            f"should be an object, not {_kind(value)}", where=key, fix="Write {} for nothing"
        )
    return value


def _each(rows: Any, key: str, parse: Callable[[Any], T]) -> Iterator[T]:
    if not isinstance(rows, list):
        raise InputError(
            f"should be a list, not {_kind(rows)}",
            where=key,
            fix=f'Write "{key}": [...]',
            code="string_for_list" if isinstance(rows, str) else None,
        )
    for number, row in enumerate(rows):
        try:
            yield parse(row)
        except InputError as error:
            raise error.at(f"{key}[{number}]") from None


def _kind(value: Any) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "true or false",
        type(None): "null",
    }
    return names.get(type(value), "a number")
