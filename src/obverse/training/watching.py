"""Looks at held-out topics during training, in seconds: does the model obey, and does plain search hold?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obverse.errors import InputError, SettingError
from obverse.files import read_json, to_json, write_json
from obverse.identity import text_uid
from obverse.log import say
from obverse.models import count_tokens
from obverse.records import Topic
from obverse.training.relations import MASKED, Relation
from obverse.training.topic_set import TopicSet, topic_set

if TYPE_CHECKING:
    from torch import Tensor

    from obverse.training.loss import Losses
    from obverse.training.run import Run

STATE = "watch.json"
BEST = "best"
_SHOWN = ("flip_rate", "p_mrr", "robustness@10", "plain_ndcg@10")


@dataclass(slots=True)
class Watch:
    """Held-out topics, searched over the pool of their documents.

    The best step is the one with the highest p-MRR among those whose plain nDCG@10 is at most ``guard_loss`` below
    the base's, and of equal ones the one with the higher plain nDCG@10; where none holds the guard, the one that loses
    least of it.

    Attributes:
        run: The run.
        topics: The held-out topics, prepared.
        every: Steps between looks.
        guard_loss: How much of the base's plain nDCG@10 may be lost.
        looks: What was seen: the measures by step, the base's under step 0.
    """

    run: Run
    topics: TopicSet
    every: int
    guard_loss: float
    looks: dict[int, dict[str, float]] = field(default_factory=dict)
    _docs: Any = None

    @property
    def identity(self) -> str:
        """What decides which step is the best."""
        return f"{self.topics.digest}, every {self.every} steps, guard {self.guard_loss:g}"

    def due(self, step: int) -> bool:
        """Whether to look after a step."""
        return step not in self.looks and (
            step % self.every == 0 or step in (0, len(self.run.plan))
        )

    def look(self, step: int) -> bool:
        """Measures the model as it is, says and logs what it found, and returns whether it is the best so far."""
        # The measures stand above training; a watch is handed topics of a benchmark, so it borrows its scoring.
        from obverse.benchmarks.topics import score_topics, view_id

        forward, topics = self.run.forward, self.topics
        docs = self._document_vectors()
        texts = [row.text for rows in topics.rows for row in rows]
        scores = (forward.frozen(texts).cpu() @ docs.T).tolist()
        names = [view_id(t, n) for t in topics.topics for n in range(len(t.views))]
        columns = [topics.samples[uid].doc_id for uid in topics.docs]
        ranked = {
            name: dict(zip(columns, line, strict=True))
            for name, line in zip(names, scores, strict=True)
        }
        found = score_topics(self._labels_by_sample(), ranked)
        self.looks[step] = {
            key: float(measured.value)
            for key, measured in found.items()
            if measured.value is not None
        }
        shown = ", ".join(
            f"{key} {self.looks[step][key]:.3f}" for key in _SHOWN if key in self.looks[step]
        )
        say(f"train: held-out topics after step {step}: {shown}")
        write_json(self.run.home / STATE, {str(k): v for k, v in self.looks.items()})
        with (self.run.home / "training.jsonl").open("ab") as stream:
            stream.write(to_json({"step": step, "held_out": self.looks[step]}) + b"\n")
        return self.best() == step

    def best(self) -> int | None:
        """Returns the best step so far, or None if only the base was seen."""
        trained = {step: look for step, look in self.looks.items() if step}
        if not trained:
            return None
        floor = self.looks.get(0, {}).get("plain_ndcg@10", 0.0) - self.guard_loss
        holds = [s for s, look in trained.items() if look.get("plain_ndcg@10", floor) >= floor]
        if holds:
            return max(holds, key=lambda s: (*_scores(trained[s], "p_mrr", "plain_ndcg@10"), -s))
        return max(trained, key=lambda s: (*_scores(trained[s], "plain_ndcg@10"), -s))

    def go_back(self, step: int) -> None:
        """Forgets the looks after a step, from which training goes on."""
        try:
            seen = read_json(self.run.home / STATE)
        except InputError:
            return
        self.looks = {int(at): look for at, look in seen.items() if int(at) <= step}

    def _document_vectors(self) -> Tensor:
        """Documents are encoded once where they are frozen, anew where they learn."""
        texts = list(self.topics.docs.values())
        if not self.run.settings.freeze_docs:
            return self.run.forward.frozen(texts).cpu()
        if self._docs is None:
            self._docs = self.run.docs_forward.frozen(texts).cpu()
        found: Tensor = self._docs
        return found

    def _labels_by_sample(self) -> list[Topic]:
        """The topics with labels by the one document that stands for each content."""
        from dataclasses import replace

        topics = self.topics
        return [
            replace(
                topic,
                docs=(),
                views=tuple(
                    replace(
                        view,
                        labels={
                            topics.samples[uid].doc_id: label for uid, label in row.labels.items()
                        },
                    )
                    for view, row in zip(topic.views, rows, strict=True)
                ),
            )
            for topic, rows in zip(topics.topics, topics.rows, strict=True)
        ]


def _scores(look: Mapping[str, float], *keys: str) -> tuple[float, ...]:
    return tuple(look.get(key, 0.0) for key in keys)


def watch_for(
    run: Run, held_out: Iterable[Topic], *, every: int | None, guard_loss: float
) -> Watch:
    """Returns the watch of a run.

    Raises:
        SettingError: If ``every`` is not positive, or a held-out topic, or its query, is trained on as well.
        InputError: If a held-out query is longer than the token limit.
    """
    if every is not None and every < 1:
        raise SettingError(f"watch every is {every}", fix="Give 1 or more steps")
    count = partial(count_tokens, run.learner)
    try:
        prepared = topic_set(held_out, run.template, run.settings.max_tokens, count)
    except InputError as error:
        raise error.at("held-out topics") from None
    shared = {t.topic_id for t in prepared.topics} & {t.topic_id for t in run.topics.topics}
    if shared:
        raise SettingError(
            f"{len(shared)} held-out topics are trained on as well, such as {min(shared)!r}",
            fix="Take them out of one of the two",
        )
    asked = {text_uid(topic.query) for topic in run.topics.topics}
    known = [t.topic_id for t in prepared.topics if text_uid(t.query) in asked]
    if known:
        raise SettingError(
            f"the queries of {len(known)} held-out topics are trained on as well, such as that of {known[0]!r}",
            fix="Split by query or documents: obverse split",
        )
    _own_names(prepared)
    total = len(run.plan)
    return Watch(run, prepared, every or max(1, -(-total // 5)), guard_loss)


def _own_names(topics: TopicSet) -> None:
    """Documents of different content may share an id over topics; in one pool each needs its own."""
    from dataclasses import replace

    seen: dict[str, int] = {}
    for uid, doc in topics.samples.items():
        if seen.setdefault(doc.doc_id, uid) != uid:
            topics.samples[uid] = replace(doc, doc_id=f"{doc.doc_id}#{uid:x}")


def by_label(found: Losses, codes: Tensor, temperature: float) -> dict[str, dict[str, float]]:
    """Returns the mean similarity, and the share of the gradient, of each kind of document in a step."""
    from obverse.training.loss import shares

    assert found.similarities is not None
    similarities = found.similarities.detach()
    weights = shares(similarities, codes, temperature)
    total = weights.sum().clamp(min=1e-9)
    similarity, share = {}, {}
    for relation in Relation:
        here = codes == relation
        if relation >= MASKED or not bool(here.any()):
            continue
        name = relation.name.lower()
        similarity[name] = round(float(similarities[here].mean()), 4)
        if relation != Relation.POSITIVE:
            share[name] = round(float(weights[here].sum() / total), 4)
    return {"similarity": similarity, "share": share}


def best_folder(run: Run) -> Path:
    """Where the best weights so far lie."""
    return run.home / BEST
