"""A step of training as a table that a person can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from obverse.errors import SettingError
from obverse.inputs import Template
from obverse.models import PACKAGED, need_threads
from obverse.records import Topic
from obverse.training.loss import Terms, shares
from obverse.training.processes import own_device
from obverse.training.relations import MASKED, REASONS, Relation
from obverse.training.run import Run, prepare
from obverse.training.settings import Settings, settings_from

COLUMNS = ("topic", "anchor", "candidate", "label", "similarity", "weight", "reason")
_WIDTH = 60


@dataclass(frozen=True, slots=True)
class Pair:
    """One candidate of one anchor in a step.

    Attributes:
        topic: The anchor's topic id.
        anchor: The query's input.
        candidate: The document's input.
        relation: What it is to the query.
        similarity: Their cosine under the encoder as it is.
        weight: The candidate's share of the gradient of the anchor's loss, in [0, 1]; None if masked or positive.
        reason: Why it is masked; empty if it is not.
    """

    topic: str
    anchor: str
    candidate: str
    relation: Relation
    similarity: float
    weight: float | None
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Returns the pair by column."""
        values = (
            self.topic,
            self.anchor,
            self.candidate,
            str(self.relation.name).lower(),
            round(self.similarity, 4),
            None if self.weight is None else round(self.weight, 4),
            self.reason,
        )
        return dict(zip(COLUMNS, values, strict=True))


def explained(run: Run, step: int) -> Iterator[Pair]:
    """Yields every pair of a step, an anchor's candidates by similarity.

    Args:
        run: A prepared run.
        step: Counted from 0.

    Raises:
        SettingError: If the run has no such step.
    """
    import torch

    found = run.collator([step])
    vectors = run.forward.frozen(found.texts).cpu()
    count = len(found.rows)
    docs = [vectors[count:]] if len(vectors) > count else []
    if found.unlearned:
        docs.append(run.forward.frozen(found.unlearned).cpu())
    elif found.fixed is not None:
        docs.append(found.fixed)
    similarities = vectors[:count] @ torch.cat(docs).T
    codes = found.matrix.codes
    weights = shares(similarities, codes, run.settings.terms.temperature)
    for number, row in enumerate(found.rows):
        for place in similarities[number].argsort(descending=True, stable=True).tolist():
            relation = Relation(int(codes[number, place]))
            counts = relation < MASKED and relation != Relation.POSITIVE
            yield Pair(
                run.topics.topics[row.topic].topic_id,
                row.text,
                run.topics.docs[found.docs[place]],
                relation,
                float(similarities[number, place]),
                float(weights[number, place]) if counts else None,
                REASONS.get(relation, ""),
            )


def explain_batch(
    topics: Iterable[Topic],
    step: int = 0,
    *,
    base: str = PACKAGED,
    template: Template | str | None = None,
    device: str | None = None,
    threads: int | None = None,
    **settings: Any,
) -> Run:
    """Returns a run that is prepared and not begun, for :func:`explained` and :func:`as_lines`.

    Args:
        topics: Topics with their documents.
        step: The step that will be asked for; checked here.
        base: The encoder whose similarities are shown.
        template: As in training.
        device: Where to encode.
        threads: Torch threads on a CPU.
        **settings: Those of the run, as ``train`` takes them.

    Raises:
        SettingError: If a setting is unknown or wrong, or the run has no such step.
    """
    known = {f.name for f in (*fields(Settings), *fields(Terms))} - {"terms"}
    if unknown := sorted(set(settings) - known):
        raise SettingError(
            f"unknown setting {unknown[0]!r}", fix=f"Known: {', '.join(sorted(known))}"
        )
    need_threads(threads)
    run = prepare(
        topics,
        settings_from(settings),
        base=base,
        out=Path(),
        template=template,
        device=own_device(device),
        threads=threads,
    )
    run.plan.batch(step)
    return run


def as_lines(run: Run, step: int) -> Iterator[str]:
    """Yields the step as tab-separated lines under a line that sums it up."""
    batch = run.plan.batch(step)
    pairs = list(explained(run, step))
    anchors = len({(pair.topic, pair.anchor) for pair in pairs})
    yield (
        f"step {step} of {len(run.plan)}, epoch {batch.epoch}: {len(batch.topics)} topics, {anchors} anchors, "
        f"{len({pair.candidate for pair in pairs})} distinct documents"
    )
    yield "\t".join(COLUMNS)
    for pair in pairs:
        row = pair.to_json()
        row["anchor"], row["candidate"] = _short(pair.anchor), _short(pair.candidate)
        row["similarity"] = f"{pair.similarity:.4f}"
        row["weight"] = "" if pair.weight is None else f"{pair.weight:.4f}"
        yield "\t".join(str(value) for value in row.values())


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"
