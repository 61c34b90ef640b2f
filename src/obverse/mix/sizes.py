"""How large a set is: topics, views, distinct queries, distinct documents, tokens."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial

from obverse.identity import text_uid
from obverse.records import Doc, Topic

_PIECE = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"  # scripts without blanks: a character counts
    r"|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
    r"|[^\w\s]"
)
_ASCII = re.compile(r"\w+|[^\w\s]", re.ASCII)  # the same, twice as fast


def token_counter(counter: str = "words") -> Callable[[str], int]:
    """Returns a function that counts the tokens of a text.

    Args:
        counter: ``words`` counts words and punctuation marks, an estimate (MiniLM's tokenizer finds a quarter more in
            the packaged sample); any other name is an encoder, whose tokenizer counts, special tokens included.

    Raises:
        ModelError: If there is no such encoder.
    """
    if counter == "words":
        return lambda text: len((_ASCII if text.isascii() else _PIECE).findall(text))
    from obverse.models import count_tokens, load_model

    return partial(count_tokens, load_model(counter, device="cpu"))


@dataclass(slots=True)
class Tally:
    """Adds up the size of a set, topic by topic.

    Attributes:
        count: Counts the tokens of a text; None leaves tokens at 0.
        topics: Information needs.
        views: Views, plain ones included: the rows of a training set.
        tokens: What an epoch reads: of each view its query with its instruction, and each document once for each
            topic. Nothing is shortened.
    """

    count: Callable[[str], int] | None = None
    topics: int = 0
    views: int = 0
    tokens: int = 0
    _queries: set[int] = field(default_factory=set)
    _docs: set[int] = field(default_factory=set)
    _lengths: dict[int, int] = field(default_factory=dict)

    @property
    def queries(self) -> int:
        """Distinct queries, compared by content."""
        return len(self._queries)

    @property
    def documents(self) -> int:
        """Distinct documents, compared by content; by id where the topics hold none."""
        return len(self._docs)

    def add(self, topic: Topic) -> None:
        """Counts a topic."""
        self.topics += 1
        self.views += len(topic.views)
        self._queries.add(text_uid(topic.query))
        self._docs |= self._uids(topic)
        self.tokens += self._tokens(topic)

    def with_topic(self, topic: Topic) -> dict[str, int]:
        """Returns the size by unit as it would be with one more topic."""
        return {
            "topics": self.topics + 1,
            "views": self.views + len(topic.views),
            "queries": len(self._queries | {text_uid(topic.query)}),
            "documents": self.documents + len(self._uids(topic) - self._docs),
            "tokens": self.tokens + self._tokens(topic),
        }

    def _uids(self, topic: Topic) -> set[int]:
        if topic.docs:
            return set(map(doc_uid, topic.docs))
        return {text_uid(doc_id) for view in topic.views for doc_id in view.labels}

    def _tokens(self, topic: Topic) -> int:
        if self.count is None:
            return 0
        asked = sum(self.count(f"{topic.query} {view.instruction}") for view in topic.views)
        return asked + sum(self._length(doc) for doc in topic.docs)

    def _length(self, doc: Doc) -> int:
        assert self.count is not None
        text = doc_text(doc)
        uid = hash(text)
        if uid not in self._lengths:
            self._lengths[uid] = self.count(text)
        return self._lengths[uid]


@lru_cache(maxsize=50_000)
def doc_uid(doc: Doc) -> int:
    """Returns the content hash of a document's title and text."""
    return text_uid(doc_text(doc))


def doc_text(doc: Doc) -> str:
    """Returns the document's title and text as one string."""
    return f"{doc.title} {doc.text}" if doc.title else doc.text
