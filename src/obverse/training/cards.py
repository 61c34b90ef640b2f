"""The model card: what the model is, how it must be asked, and what it was trained on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obverse.training.run import Run
    from obverse.training.trainer import Trained


def model_card(run: Run, done: Trained) -> str:
    """Returns the model's README.md."""
    topics, settings = run.topics, run.settings
    labels = Counter(label for rows in topics.rows for row in rows for label in row.labels.values())
    sources = Counter(row.source or "unnamed" for rows in topics.rows for row in rows)
    plain = sum(row.plain for rows in topics.rows for row in rows)
    kept = {
        name: value
        for name, value in settings.to_json().items()
        if value not in (None, 0, 0.0, False, []) or name == "seed"
    }
    example = run.template.query("mountain bike", "Only second-hand.")
    encode = "model.encode_query" if settings.freeze_docs else "model.encode"
    encode_doc = "model.encode_document" if settings.freeze_docs else "model.encode"
    lines = [
        "---",
        "library_name: sentence-transformers",
        "pipeline_tag: sentence-similarity",
        "tags: [sentence-transformers, retrieval, instruction-following, obverse]",
        "---",
        "",
        f"# {run.out.name}",
        "",
        f"A retrieval encoder that follows instructions, trained by obverse from `{run.base}`.",
        "",
        "## How to ask it",
        "",
        "Query and instruction are joined by the template it was trained with, stored in `obverse.json`:",
        "",
        "```python",
        "from sentence_transformers import SentenceTransformer",
        "",
        f'model = SentenceTransformer("{run.out.name}")',
        f"query = {encode}({example!r})",
        f'docs = {encode_doc}(["..."])',
        "```",
        "",
        f"- query with instruction: `{run.template.instructed!r}`",
        f"- query without: `{run.template.plain!r}`",
        f"- document: `{run.template.document!r}`",
        f"- at most {settings.max_tokens} tokens; vectors are compared by cosine",
    ]
    if settings.freeze_docs:
        lines.append(
            "- documents keep the base's vectors: an index that was made with the base stays valid"
        )
    lines += [
        "",
        "## Trained on",
        "",
        "| | |",
        "|---|---|",
        f"| topics | {len(topics.topics):,} |",
        f"| views | {topics.views:,} ({plain:,} plain) |",
        f"| distinct documents | {len(topics.docs):,} |",
        *(f"| {str(label).replace('_', ' ')} labels | {n:,} |" for label, n in labels.items()),
        *(f"| views from {name} | {n:,} |" for name, n in sources.most_common()),
        f"| digest of the data | `{run.identity['data']}` |",
        f"| steps | {done.steps:,} |",
        f"| last loss | {done.loss:.4f} |",
        "",
        "## Settings",
        "",
        "| setting | value |",
        "|---|---|",
        *(f"| {name} | `{value}` |" for name, value in kept.items()),
        f"| precision used | `{run.identity['precision']}` |",
        "",
    ]
    return "\n".join(lines)
