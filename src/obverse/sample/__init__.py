"""The packaged real sample: SciFact claims and abstracts, held-out instructed topics, recorded replies.

The folder reads as a BEIR folder (``corpus``, ``queries``, ``qrels``) and as a topics benchmark (``corpus``,
``topics``). ATTRIBUTION.md beside this file says whose data it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from obverse.files import read_corpus, read_json_lines
from obverse.records import Label, Topic, View


def sample_folder() -> Path:
    """Returns the folder of the packaged sample."""
    return Path(__file__).parent


def sample_replies() -> Path:
    """Returns the file of recorded replies: one ``{"method", "stage", "topic_id", "reply", "documents"}`` a line."""
    return sample_folder() / "replies.jsonl.gz"


def sample_candidates() -> Iterator[Topic]:
    """Yields the training claims as topics with a plain view: the positive and five candidates found by BM25.

    The recorded replies are about exactly these documents in this order. No topic has a query, positive or promoted
    document of the held-out topics.
    """
    corpus = read_corpus(sample_folder() / "corpus.jsonl.gz")
    for _, row in read_json_lines(sample_folder() / "candidates.jsonl.gz"):
        doc_ids = [row["positive"], *row["candidates"]]
        labels = dict.fromkeys(doc_ids, Label.NEGATIVE) | {row["positive"]: Label.POSITIVE}
        docs = tuple(corpus[doc_id] for doc_id in doc_ids)
        yield Topic(row["topic_id"], row["query"], docs, (View("", labels),))
