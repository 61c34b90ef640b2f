"""The model card: what the model is, how it must be asked, what it was trained on, and what it reached."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from obverse.cards.data_card import DataFacts, written_by
from obverse.cards.front_matter import front_matter, languages_of, licence_facts
from obverse.cards.sections import (
    MARK,
    audit_section,
    leak_section,
    ledger_rows,
    licence_section,
    origin_table,
    table,
)
from obverse.inputs import Template

_PACKAGED = {"all-MiniLM-L6-v2": "sentence-transformers/all-MiniLM-L6-v2"}
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


class Measured(Protocol):
    """A model on a benchmark, as :class:`obverse.results.Result` holds it."""

    @property
    def model(self) -> str: ...

    @property
    def benchmark(self) -> str: ...

    @property
    def rows(self) -> Mapping[str, Mapping[str, Any]]: ...


def model_card(
    name: str,
    made: Mapping[str, Any],
    template: Template,
    max_tokens: int,
    *,
    data: DataFacts | None = None,
    scores: Sequence[Measured] = (),
    license: str | None = None,
    sources: Mapping[str, str] | None = None,
    language: Sequence[str] = (),
    leaks: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Returns the README.md of a model.

    Args:
        name: What it is called.
        made: The made-file of its training.
        template: How its inputs are built.
        max_tokens: How much of an input it reads.
        data: What it was trained on, where the files are known.
        scores: What it reached, and what others did, such as its base.
        license: The licence of the model: a hub's name for it, such as ``apache-2.0``.
        sources: The licence of each source, by its name.
        language: Codes of the languages.
        leaks: Checks of the data against test sets: ``{"against", "levels", "dropped"}``.
    """
    history = data.made if data is not None else None
    # A folder is told from a hub's name while it is there: what training has noted counts.
    base = str(made.get("base_name") or base_name(str(made.get("base", ""))))
    head = front_matter(
        {
            "language": languages_of(language),
            **licence_facts(license),
            "library_name": "sentence-transformers",
            "pipeline_tag": "sentence-similarity",
            "tags": [
                "sentence-transformers",
                "feature-extraction",
                "retrieval",
                "instruction-following",
                "obverse",
            ],
            "base_model": base if _HUB_NAME.fullmatch(base) else None,
            "model-index": _model_index(name, scores),
        }
    )
    parts = [
        head,
        f"# {name}",
        f"A retrieval encoder that follows instructions, trained by obverse from `{base}`.",
        "## How to ask it\n\n" + _asking(name, made, template, max_tokens),
        "## What it reached\n\n" + _scores(scores),
        "## Trained on\n\n" + _trained_on(made, data),
        "## Judged by people\n\n" + audit_section(history),
        "## Leaks\n\n" + leak_section(history, leaks),
        "## Settings\n\n" + _settings(made),
        "## Sources and licences\n\n" + licence_section(license, sources or {}, history),
        "## Use and limits\n\n" + _limits(made, max_tokens, language),
        MARK.format(title=name),
    ]
    return "\n\n".join(parts) + "\n"


def base_name(base: str) -> str:
    """Returns the name of a base for readers: hub names stay, of a folder only its own name is told."""
    if base in _PACKAGED:
        return _PACKAGED[base]
    path = Path(base)
    return path.name if path.is_absolute() or path.exists() or base.startswith(".") else base


def _setting(made: Mapping[str, Any], key: str) -> Any:
    return (made.get("run") or {}).get("settings", {}).get(key)


def _asking(name: str, made: Mapping[str, Any], template: Template, max_tokens: int) -> str:
    frozen = bool(_setting(made, "freeze_docs"))
    query, doc = (
        ("model.encode_query", "model.encode_document")
        if frozen
        else ("model.encode", "model.encode")
    )
    lines = [
        "Query and instruction are joined by the template it was trained with, stored in `obverse.json`:",
        "",
        "```python",
        "from sentence_transformers import SentenceTransformer",
        "",
        f'model = SentenceTransformer("{name}")',
        f"query = {query}({template.query('mountain bike', 'Only second-hand.')!r})",
        f'docs = {doc}(["..."])',
        "scores = model.similarity(query, docs)",
        "```",
        "",
        f"- query with instruction: `{template.instructed!r}`",
        f"- query without: `{template.plain!r}`",
        f"- document: `{template.document!r}`",
        f"- at most {max_tokens} tokens; vectors are compared by cosine",
    ]
    if frozen:
        lines.append(
            "- documents keep the base's vectors: an index that was made with the base stays valid"
        )
    return "\n".join(lines)


def _scores(scores: Sequence[Measured]) -> str:
    if not scores:
        return "Not measured yet (`obverse evaluate`, then `obverse card --scores`)."
    models = list(dict.fromkeys(each.model for each in scores))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for each in scores:
        for key, row in each.rows.items():
            label = each.benchmark, _label(key, each.rows)
            cells.setdefault(label, {})[each.model] = _value(row)
    rows = [
        (*label, *(found.get(model, "-") for model in models)) for label, found in cells.items()
    ]
    names = [base_name(model) for model in models]
    return (
        table(("benchmark", "measure", *names), rows)
        + "\n\nIn brackets: 95 % bootstrap interval over topics, and how many topics there are."
    )


def _label(key: str, rows: Mapping[str, Mapping[str, Any]]) -> str:
    """A measure as it is written, and by its key where a benchmark has it of several searches."""
    written = str(rows[key]["measure"])
    twice = sum(row["measure"] == written for row in rows.values()) > 1
    return f"{written} ({key})" if twice and key.lower() != written.lower() else written


def _value(row: Mapping[str, Any]) -> str:
    value, low, high = row.get("value"), row.get("low"), row.get("high")
    if value is None:
        return f"- ({row.get('reason') or 'no value'})"
    interval = f"{low:.4f}, {high:.4f}; " if low is not None and high is not None else ""
    return f"{value:.4f} [{interval}n={row.get('n', '?')}]"


def _model_index(name: str, scores: Sequence[Measured]) -> list[dict[str, Any]]:
    """What hubs show beside a model: the scores of the model itself, the first one named."""
    if not scores:
        return []
    results = []
    for each in scores:
        metrics = [
            {
                "type": re.sub(r"\W+", "_", key),
                "name": _label(key, each.rows),
                "value": row["value"],
            }
            for key, row in each.rows.items()
            if row.get("value") is not None
        ]
        if each.model == scores[0].model and metrics:
            results.append(
                {
                    "task": {"type": "information-retrieval", "name": "Information Retrieval"},
                    "dataset": {
                        "type": re.sub(r"\W+", "-", each.benchmark),
                        "name": each.benchmark,
                    },
                    "metrics": metrics,
                }
            )
    return [{"name": name, "results": results}] if results else []


def _trained_on(made: Mapping[str, Any], data: DataFacts | None) -> str:
    lines = []
    trained = made.get("trained_on")
    books = [trained] if trained else []
    if not books and data is not None:
        books = [book.to_json(hashes=False) for book in data.ledgers.values()]
    for book in books:
        lines += [table(("", ""), ledger_rows(book)), origin_table(book)]
    if not books:
        lines.append("What it was trained on was not written down.")
    if data is not None and data.models:
        lines.append(written_by(data))
    return "\n\n".join(lines)


def _settings(made: Mapping[str, Any]) -> str:
    run = made.get("run") or {}
    kept = {
        key: value
        for key, value in (run.get("settings") or {}).items()
        if value not in (None, 0, 0.0, False, [], {}) or key == "seed"
    }
    rows = [(key.replace("_", " "), f"`{value}`") for key, value in kept.items()]
    for key in ("precision", "data"):
        if run.get(key):
            rows.append(
                (
                    "precision used" if key == "precision" else "digest of the data as read",
                    f"`{run[key]}`",
                )
            )
    if isinstance(loss := made.get("loss"), float):
        rows += [("steps", f"`{made.get('steps')}`"), ("last loss", f"`{loss:.4f}`")]
    versions = made.get("versions") or {}
    if versions:
        rows.append(("versions", ", ".join(f"{name} {at}" for name, at in versions.items())))
    return table(("setting", "value"), rows) if rows else "Not written down."


def _limits(made: Mapping[str, Any], max_tokens: int, language: Sequence[str]) -> str:
    trained = made.get("trained_on") or {}
    size = f"{trained['topics']:,} topics" if trained else "its topics"
    spoken = ", ".join(language) or "the languages of its data"
    return (
        "For first-stage retrieval where a query comes with a condition in plain words, and without one. What stands "
        f"beyond {max_tokens} tokens of a document is not read. It has learnt from {size}, in {spoken}: conditions of "
        "other kinds, other domains and other languages were not taught. A similarity is no proof that a document "
        "meets a condition; where that matters, check the first results. Compare plain retrieval with the base before "
        "you replace an index."
    )
