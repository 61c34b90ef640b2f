"""What all arms of a recipe are made from: the same topics, with the same frozen encoder's scores at each view."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from obverse import __version__
from obverse.benchmarks.topics import topics_benchmark
from obverse.corpus_vectors import CorpusVectors
from obverse.demo.data import apart_from, without_docs
from obverse.errors import InputError, SettingError
from obverse.files import (
    digest,
    in_folder,
    read_corpus,
    read_json,
    read_topics,
    write_json,
    write_topics,
)
from obverse.filters.margin import view_scores
from obverse.filters.similarity_gain import similarity_gain
from obverse.llm.recorded import RecordedReplies
from obverse.models import Encoder, Vectors
from obverse.recipes.other_encoder import word_vector_gains
from obverse.recipes.sides import drawn, kept, plain, turned, with_sides
from obverse.records import Doc, Label, Topic
from obverse.sample import sample_candidates, sample_folder, sample_replies
from obverse.sampling import seed_for
from obverse.stages import Drops, run_stage
from obverse.synthesis.checkable_topics import checkable_topics
from obverse.synthesis.engine import synthesize

METHOD = "natural_dual_view"
INSTRUCTED, SCORED = "1-instructed.jsonl.gz", "3-scored.jsonl.gz"
_NEVER = -2.0  # below every cosine difference: gains are noted, nothing is dropped


class Remembering(Encoder):
    """An encoder that encodes each document once, through vectors that are kept."""

    vectors: CorpusVectors

    def docs(self, docs: Iterable[Doc]) -> Vectors:
        """Returns the vectors of documents: float32 ``[n, d]``."""
        return self.vectors.of(list(docs))


def remembering(encoder: Encoder, vectors: CorpusVectors) -> Remembering:
    """Returns the encoder with its documents' vectors kept in ``vectors``."""
    found = Remembering(
        encoder.name, encoder.model, encoder.template, encoder.max_tokens, encoder.batch_size
    )
    found.vectors = vectors
    return found


@dataclass
class Source:
    """The topics that every arm starts from, and what else an arm may be made of.

    Attributes:
        topics: Topics with a plain view and, where there is one, two instructed views, drawn by the scale.
        available: How many there were to draw from.
        folder: Where what was made for all cells lies.
        benchmark: The folder of the topics benchmark, with its corpus.
        encoder: The frozen encoder that is going to be trained.
        recorded: Whether the topics are the packaged ones with recorded replies.
        development: Two-sided topics that are held back from all arms.
    """

    topics: list[Topic]
    available: int
    folder: Path
    benchmark: Path
    encoder: Remembering
    recorded: bool = True
    development: list[Topic] = field(default_factory=list)

    @cached_property
    def two_sided(self) -> list[Topic]:
        """The topics with a plain view, one that keeps the positive, and one that turns it round."""
        return [t for t in self.topics if kept(t) is not None and turned(t) is not None]

    @cached_property
    def reversals(self) -> list[Topic]:
        """The two-sided topics; packaged ones with the turned view as dual_view makes it from the kept one."""
        return _reversed(self) if self.recorded else self.two_sided

    @cached_property
    def corpus(self) -> Mapping[str, Doc]:
        """The benchmark's documents by id."""
        return read_corpus(in_folder(self.benchmark, "corpus.jsonl"))

    @cached_property
    def held_out(self) -> list[Topic]:
        """The benchmark's topics."""
        return list(read_topics(in_folder(self.benchmark, "topics.jsonl")))

    @cached_property
    def held_out_docs(self) -> set[str]:
        """The documents that the benchmark's topics label, and those that answer its plain test queries."""
        guard = topics_benchmark(self.benchmark, guard="pool")
        return {doc_id for search in guard.searches for doc_id in search.doc_ids or ()}

    @cached_property
    def other_gains(self) -> dict[str, float]:
        """The turned views' similarity gains in another encoder: the base's word vectors alone, by topic."""
        return word_vector_gains(self.encoder, self.two_sided)

    def checkable_topics(self, size: int) -> list[Topic]:
        """Returns topics that rules make out of the corpus, without documents of the benchmark; made once."""
        file = self.folder / f"checkable-{size}.jsonl.gz"
        if not file.is_file():
            found = checkable_topics(self.corpus, size, exclude=self.held_out_docs)
            write_topics(file, found)
        return list(read_topics(file))


def source_from(
    folder: Path,
    encoder: Remembering,
    *,
    size: int,
    two_sided: bool,
    development: int = 0,
    benchmark: Path | None = None,
    topics: str | os.PathLike[str] | None = None,
) -> Source:
    """Returns the source of a recipe, made into ``folder`` once.

    Args:
        folder: Where its stages are written.
        encoder: The frozen base: its similarity gains, and its leads, are noted at every instructed view.
        size: How many topics are drawn at most: always the same ones, and a larger draw holds the smaller.
        two_sided: Draw from the topics with both instructed views alone.
        development: How many two-sided topics are held back.
        benchmark: The topics benchmark whose documents stay out of training; by default the packaged sample.
        topics: A file of instructed topics instead of the packaged claims with their recorded replies.

    Raises:
        InputError: If no topic is left.
    """
    home = benchmark or sample_folder()
    identity = {
        "base": encoder.name,
        "template": encoder.template.digest,
        "max_tokens": encoder.max_tokens,
        "size": size,
        "two_sided": two_sided,
        "held_out": digest(in_folder(home, "topics.jsonl")),
        "topics": digest(topics if topics is not None else sample_replies()),
        "version": __version__,
    }
    scored, note = folder / SCORED, folder / "source.json"
    known = read_json(note) if note.is_file() else {}
    if known.get("identity") != identity or not scored.is_file():
        available = _make(folder, scored, encoder, size, two_sided, home, topics)
        known = {"identity": identity, "available": available}
        write_json(note, known)
    found = list(read_topics(scored))
    source = Source(found, known["available"], folder, home, encoder, recorded=topics is None)
    return held_back(source, development) if development else source


def held_back(source: Source, size: int) -> Source:
    """Returns the source without ``size`` two-sided topics, which become its development topics, and without overlap.

    Training topics with the query or a positive of one of them leave too, and so do its answers among their
    candidates. Always the same topics are held back.

    Raises:
        SettingError: If too few would be left to train on.
    """
    if size >= len(source.two_sided):
        raise SettingError(
            f"{size} topics cannot be held back from {len(source.two_sided)}", fix="Lower --dev"
        )
    aside = drawn(source.two_sided, size, 0, "development")
    answers = {doc_id for topic in aside for view in topic.views for doc_id in view.positives}
    drops = Drops()
    left = without_docs(answers)(apart_from(aside)(source.topics, drops), drops)
    return replace(source, topics=[t for t in left if _is_whole(t)], development=aside)


def _make(
    folder: Path,
    scored: Path,
    encoder: Remembering,
    size: int,
    two_sided: bool,
    home: Path,
    topics: str | os.PathLike[str] | None,
) -> int:
    """Makes the source topics, stage by stage, and returns how many there were to draw from."""
    held = list(read_topics(in_folder(home, "topics.jsonl")))
    answers = {doc_id for topic in held for view in topic.views for doc_id in view.positives}
    instructed = Path(topics) if topics is not None else _replayed(folder)
    apart = folder / "2-apart.jsonl.gz"
    run_stage(
        "apart",
        lambda some, drops: without_docs(answers)(apart_from(held)(some, drops), drops),
        instructed,
        apart,
    )
    found = [topic for topic in read_topics(apart) if _fits(topic, two_sided)]
    if not found:
        raise InputError(
            "leaves no topic with a plain and two instructed views",
            where=os.fspath(instructed),
            fix="Give topics with views that keep the plain positive and views that rule it out",
        )
    order = sorted(found, key=lambda topic: seed_for(0, "scale", topic.topic_id))[:size]
    encoder.vectors.of([doc for topic in order for doc in topic.docs])
    run_stage(
        "score",
        lambda some, drops: _with_leads(
            encoder, similarity_gain(encoder, _NEVER)(_only(order, some, drops), drops)
        ),
        apart,
        scored,
        parameters={"base": encoder.name, "size": size},
    )
    return len(found)


def _fits(topic: Topic, two_sided: bool) -> bool:
    whole = topic.plain_view is not None and _is_whole(topic)
    return whole and (not two_sided or (kept(topic) is not None and turned(topic) is not None))


def _only(chosen: list[Topic], topics: Iterable[Topic], drops: Drops) -> Iterator[Topic]:
    names = {topic.topic_id for topic in chosen}
    for topic in topics:
        if topic.topic_id not in names:
            drops.add(topic.topic_id, "not drawn by the scale, or one-sided")
    yield from chosen


def _replayed(folder: Path) -> Path:
    """Makes natural dual views of the packaged claims from the recorded replies."""
    made = folder / INSTRUCTED
    run_stage(
        "synthesize",
        lambda topics, drops: synthesize(
            topics,
            drops,
            method=METHOD,
            llm=RecordedReplies(sample_replies()),
            run_dir=folder / "replies",
        ),
        sample_candidates(),
        made,
        parameters={"method": METHOD, "replies": "recorded"},
    )
    return made


def _reversed(source: Source) -> list[Topic]:
    """Reverses the topics as they were when the replies were recorded; documents taken out since leave afterwards."""
    left = {topic.topic_id: {doc.doc_id for doc in topic.docs} for topic in source.two_sided}
    whole = (t for t in read_topics(source.folder / INSTRUCTED) if t.topic_id in left)
    drops = Drops()
    made = synthesize(
        with_sides(whole, plain, kept),
        drops,
        method="dual_view",
        llm=RecordedReplies(sample_replies()),
        run_dir=source.folder / "reversals",
    )
    found: dict[str, Topic] = {}
    for topic in made:
        gone = {doc.doc_id for doc in topic.docs} - left[topic.topic_id]
        (apart,) = without_docs(gone)([topic], drops)
        if turned(apart) is not None:
            found[topic.topic_id] = apart
    return [found[topic_id] for topic_id in left if topic_id in found]


def _is_whole(topic: Topic) -> bool:
    return all(view.positives for view in topic.views)


def _with_leads(encoder: Encoder, topics: Iterable[Topic]) -> Iterator[Topic]:
    """Notes by how much each instructed view's positive leads its instruction negatives before training."""
    for topic in topics:
        (scores,) = view_scores(encoder, [topic])
        views = []
        for view, found in zip(topic.views, scores, strict=True):
            ruled_out = [found[d] for d in view.ids(Label.INSTRUCTION_NEGATIVE)]
            lead = min(found[d] for d in view.positives) - max(ruled_out, default=0.0)
            views.append(view.checked(lead=round(lead, 6)) if ruled_out else view)
        yield topic.with_views(views)
