"""What the page and the tables show: plain frozen values, filled by whoever ran the experiment.

Nothing here is computed and nothing is read from files, so that a report can be made of any run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from obverse.records import Label


@dataclass(frozen=True, slots=True)
class Score:
    """One measured value, unscaled, with its 95 % interval.

    Attributes:
        value: The mean over topics; None where there is none.
        low: Lower end of the interval; None where it was not computed.
        high: Upper end of it.
        n: Over how many topics.
        reason: Why there is no value.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ModelScores:
    """A model's name, as the reader should see it, and its scores by measure key."""

    name: str
    scores: Mapping[str, Score]


@dataclass(frozen=True, slots=True)
class Difference:
    """Another model's value minus the first model's over the same topics, unscaled (paired bootstrap).

    Attributes:
        difference: The mean difference.
        low: Lower end of its 95 % interval.
        high: Upper end of it.
        p: Two-sided p-value; None where it was not computed.
    """

    difference: float
    low: float
    high: float
    p: float | None = None

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval leaves out 0 and the p-value, where there is one, is below 0.05."""
        return not self.low <= 0 <= self.high and (self.p is None or self.p < 0.05)


@dataclass(frozen=True, slots=True)
class LossPoint:
    """One line of the training log."""

    step: int
    loss: float
    learning_rate: float | None = None


@dataclass(frozen=True, slots=True)
class Gains:
    """Similarity gains of the promoted documents, kept where they are above the threshold."""

    values: Sequence[float]
    threshold: float = 0.0


@dataclass(frozen=True, slots=True)
class StageLine:
    """One stage: what came in, what left, what was set aside and why.

    Attributes:
        name: The stage as it is called on the command line.
        came: A count, or a count with its unit in words ("404 topics").
        left: The same for what came out.
        dropped: Counts by fixed reason phrase.
        seconds: Wall time.
        what: What the stage does, for somebody who never heard of it; known stages have a text of their own.
    """

    name: str
    came: int | str
    left: int | str
    dropped: Mapping[str, int] = field(default_factory=dict)
    seconds: float | None = None
    what: str = ""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One document at its place in a ranking, with what the view's instruction makes of it.

    Attributes:
        rank: Its place, from 1, after ignored documents were taken out.
        doc_id: Its id.
        title: Its title; the id is shown where this is empty.
        label: positive: asked for; instruction_negative: ruled out; anything else: other.
        score: Its similarity to the query.
    """

    rank: int
    doc_id: str
    title: str
    label: Label | str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class ViewPanel:
    """One instruction with the rankings under it.

    Attributes:
        instruction: The instruction; empty for the query alone.
        rankings: Ranked documents by model name, best first: the first five are shown, and beyond them those that
            the instruction asks for or rules out, wherever they stand. Further ones tell where a document came from.
        passed: By model name, whether every document asked for stands above every one ruled out.
    """

    instruction: str
    rankings: Mapping[str, Sequence[Ranked]]
    passed: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicPanel:
    """One query and its views."""

    query: str
    views: Sequence[ViewPanel]
    topic_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageData:
    """Everything that the page shows.

    Attributes:
        models: The base first and the trained model last; others between them stand in table and plot only.
        differences: The trained model minus the base, by measure key.
        loss: The training log.
        gains: Similarity gains before the filter.
        stages: The pipeline in its order.
        topics: Topics with their rankings; one of them becomes the example at the top.
        facts: How it was made, in the order shown: model, template, token limit, seed, versions. Words between
            backticks are set as code.
        command: What to type to do it again.
        notes: What the reader must know of how it was made: how the topics were chosen, what is not shown.
        remark: What must be said at once, under the opening: that it was the quick run.
        attribution: Whose data it is, one line each.
        measure_notes: A remark after a measure's explanation, by key.
        title: The page's title; by default made from the result.
        guard_margin: How much of plain retrieval may be lost, unscaled; drawn in the plot.
        example: Which topic is the example; by default the one whose rankings change most tellingly.
    """

    models: Sequence[ModelScores]
    differences: Mapping[str, Difference] = field(default_factory=dict)
    loss: Sequence[LossPoint] = ()
    gains: Gains | None = None
    stages: Sequence[StageLine] = ()
    topics: Sequence[TopicPanel] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    notes: Sequence[str] = ()
    remark: str = ""
    attribution: Sequence[str] = ()
    measure_notes: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    guard_margin: float | None = None
    example: int | None = None
