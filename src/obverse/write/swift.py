"""ms-swift's embedding rows: ``messages``, one positive, and the negatives, instruction negatives first."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from obverse.files import write_json_lines
from obverse.inputs import Template
from obverse.records import Topic
from obverse.write.view_rows import view_rows


def write_swift(path: str | os.PathLike[str], topics: Iterable[Topic], template: Template) -> int:
    """Writes one row for each positive of each view: the trainer takes exactly one.

    The instruction is the system message, which the trainer puts before the query.
    """
    return write_json_lines(path, _rows(topics, template))


def _rows(topics: Iterable[Topic], template: Template) -> Iterator[dict[str, Any]]:
    for row in view_rows(topics, template):
        messages = [{"role": "user", "content": row.topic.query}]
        if row.instruction:
            messages.insert(0, {"role": "system", "content": row.instruction})
        negatives = [
            [{"role": "user", "content": template.doc(doc)}]
            for doc in row.instruction_negatives + row.negatives
        ]
        for positive in row.positives:
            made: dict[str, Any] = {
                "messages": messages,
                "positive_messages": [[{"role": "user", "content": template.doc(positive)}]],
            }
            yield made | ({"negative_messages": negatives} if negatives else {})
