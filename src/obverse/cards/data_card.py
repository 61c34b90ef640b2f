"""The data card: how a set was made, what is in it, whose texts they are, and what has been checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obverse.cards.front_matter import front_matter, languages_of, licence_facts, size_category
from obverse.cards.history import History, history
from obverse.cards.sections import (
    MARK,
    audit_section,
    leak_section,
    ledger_rows,
    licence_section,
    origin_table,
    table,
)
from obverse.errors import InputError
from obverse.files import read_topics
from obverse.ledger import Ledger, ledger
from obverse.mix import kind_of
from obverse.records import Topic

_SPLITS = {"dev": "validation", "val": "validation", "valid": "validation"}
_SUFFIX = re.compile(r"\.(jsonl|json|parquet|gz|zst)$")
_SHOWN = 200


@dataclass(slots=True)
class DataFacts:
    """What a card says of a set.

    Attributes:
        files: The files, by the name of their split.
        ledgers: What is in each.
        made: How they were made.
        models: Views by method and by the model that wrote their instruction.
        example: A topic to show.
        shared: Distinct queries that stand in more than one split.
    """

    files: Mapping[str, Path]
    ledgers: Mapping[str, Ledger]
    made: History
    models: Counter[tuple[str, str]] = field(default_factory=Counter)
    example: Topic | None = None
    shared: int = 0

    @property
    def topics(self) -> int:
        return sum(book.topics for book in self.ledgers.values())

    def _look(self, topics: Iterable[Topic]) -> Iterator[Topic]:
        for topic in topics:
            for view in topic.instructed_views:
                method, model = view.origin.get("method"), view.origin.get("model")
                self.models[str(method or "-"), str(model or "-")] += 1
            if self.example is None or len(topic.views) > len(self.example.views):
                self.example = topic
            yield topic


def data_facts(files: Sequence[Path]) -> DataFacts:
    """Returns what a card says of topics files; each is a split, named by its file.

    Raises:
        InputError: If a file holds no topics, or two have one split's name.
    """
    splits: dict[str, Path] = {}
    for file in files:
        name = split_name(file) if len(files) > 1 else "train"
        if name in splits:
            raise InputError(
                f"is the split {name!r} as {splits[name].name} is",
                where=str(file),
                fix="Name one of them",
            )
        splits[name] = file
    facts = DataFacts(splits, {}, history(*files))
    facts.ledgers = {name: ledger(facts._look(read_topics(file))) for name, file in splits.items()}
    seen = Counter(
        query
        for book in facts.ledgers.values()
        for query in {entry.query for entry in book.entries.values()}
    )
    facts.shared = sum(count > 1 for count in seen.values())
    return facts


def split_name(file: Path) -> str:
    """Returns the split that a file's name stands for: ``dev.jsonl.gz`` is ``validation``."""
    name = file.name
    while (shorter := _SUFFIX.sub("", name)) != name:
        name = shorter
    return _SPLITS.get(name, re.sub(r"\W+", "_", name).strip("_") or "train")


def data_card(
    name: str,
    facts: DataFacts,
    *,
    license: str | None = None,
    sources: Mapping[str, str] | None = None,
    language: Sequence[str] = (),
    leaks: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Returns the README.md of a data set.

    Args:
        name: What it is called.
        facts: From :func:`data_facts`.
        license: The licence of the set: a hub's name for it, such as ``cc-by-4.0``.
        sources: The licence of each source, by its name; beside what an ATTRIBUTION.md at the first inputs says.
        language: Codes of the languages.
        leaks: Checks against test sets that were made for the card: ``{"against", "levels", "dropped"}``.
    """
    head = front_matter(
        {
            "pretty_name": name,
            "language": languages_of(language),
            **licence_facts(license),
            "task_categories": ["text-retrieval", "sentence-similarity"],
            "size_categories": [size_category(facts.topics)],
            "tags": ["retrieval", "instruction-following", "hard-negatives", "obverse"],
            "configs": [
                {
                    "config_name": "default",
                    "data_files": [
                        {"split": split, "path": file.name} for split, file in facts.files.items()
                    ],
                }
            ],
        }
    )
    parts = [
        head,
        f"# {name}",
        _what(facts),
        "## Form\n\n" + _FORM,
        *_example(facts.example),
        "## Contents\n\n" + _contents(facts),
        "## How it was made\n\n" + _steps(facts),
        "## Judged by people\n\n" + audit_section(facts.made),
        "## Leaks\n\n" + leak_section(facts.made, leaks),
        "## Sources and licences\n\n" + licence_section(license, sources or {}, facts.made),
        "## Use and limits\n\n" + _LIMITS,
        MARK.format(title=name),
    ]
    return "\n\n".join(parts) + "\n"


_FORM = """One topic a line: a query, its candidate documents once (`docs`), and views that judge them (`views`). A
view has an `instruction` (empty: the query alone), `labels` by document id (`positive`, `instruction_negative`: answers
the query and fails the instruction, `negative`, `ignore`), its `origin` and the verdicts of `checks`. `topic_id` is the
unit of splitting."""

_LIMITS = """For training and analysing retrieval encoders that follow instructions. Instructions and labels that a
language model or a rule made are right as often as the audit above says, and no more. A document without a label is
unjudged, not irrelevant. Documents come from few sources: what is learnt from them need not hold elsewhere. Check for
leaks against your own test sets before you train."""


def _what(facts: DataFacts) -> str:
    methods = sorted({method for method, _ in facts.models if method != "-"})
    books = facts.ledgers.values()
    views = sum(book.views for book in books)
    instructed = views - sum(book.kinds.get("plain", 0) for book in books)
    by = f" Instructions by {', '.join(f'`{name}`' for name in methods)}." if methods else ""
    return (
        f"{facts.topics:,} topics with {views:,} views, {instructed:,} of them with an instruction, for training "
        f"retrieval that follows instructions. Made with [obverse].{by}".replace(
            "[obverse]", "obverse"
        )
    )


def _contents(facts: DataFacts) -> str:
    parts = []
    for split, book in facts.ledgers.items():
        title = f"### {split}\n\n" if len(facts.ledgers) > 1 else ""
        rows = [("file", f"`{facts.files[split].name}`"), *ledger_rows(book.to_json(hashes=False))]
        parts.append(
            f"{title}{table(('', ''), rows)}\n\n{origin_table(book.to_json(hashes=False))}"
        )
    if len(facts.ledgers) > 1:
        parts.append(f"Distinct queries in more than one split: {facts.shared:,}.")
    return "\n\n".join(parts)


def _steps(facts: DataFacts) -> str:
    rows = []
    for step in facts.made.steps:
        settings = ", ".join(f"{key} {_short(value)}" for key, value in step.parameters.items())
        dropped = "; ".join(f"{count:,} {reason}" for reason, count in step.dropped.items())
        note = " (another file by now)" if step.changed else ""
        came, left = (without_folders(str(step.made.get(key) or "")) for key in ("came", "left"))
        rows.append((f"{step.command}{note}", settings, came, left, dropped))
    lines = [
        table(("stage", "settings", "in", "out", "set aside"), rows)
        if rows
        else "No made-file stands beside it, so the stages are not known."
    ]
    if facts.made.origins:
        names = ", ".join(f"`{path.name}`" for path in facts.made.origins)
        lines.append(f"First inputs: {names}.")
    if facts.models:
        lines.append(written_by(facts))
    return "\n\n".join(lines)


def written_by(facts: DataFacts) -> str:
    """Returns the table of methods and of the models that wrote their instructions."""
    rows = [
        (method, without_folders(model), f"{count:,}")
        for (method, model), count in facts.models.most_common()
    ]
    return table(("method", "instructions written by", "views"), rows)


def _short(value: Any) -> str:
    """A setting's value; of a path its name alone, which is no business of those who read the card."""
    if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        return ", ".join(map(_short, value))
    if isinstance(value, dict | list):
        return "..."
    return f"`{without_folders(str(value))}`"


def without_folders(text: str) -> str:
    """Returns the text with every path cut down to its last name; hub names, of two parts, stay."""
    return re.sub(r"(?<![^\s=])(?:/|\.{1,2}/|(?:[\w.-]+/){2,})(?:[^\s/]+/)*([^\s/,]+)", r"\1", text)


def _example(topic: Topic | None) -> list[str]:
    if topic is None or not topic.instructed_views:
        return []
    docs = {doc.doc_id: doc for doc in topic.docs}
    rows = []
    for view in topic.views[:6]:
        found = docs.get(view.positives[0])
        shown = (found.title or found.text) if found is not None else view.positives[0]
        rows.append((kind_of(topic, view), _cut(view.instruction), _cut(shown)))
    return [
        f"For example, under the query *{_cut(topic.query)}*:\n\n"
        + table(("view", "instruction", "positive"), rows)
    ]


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[:_SHOWN].rsplit(" ", 1)[0] + " ..."
