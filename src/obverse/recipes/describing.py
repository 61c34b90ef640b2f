"""The cards of a cell: of its topics and, where the model stays, of the model; ready for a hub, never uploaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from obverse.cards import write_data_card, write_model_card
from obverse.check.languages import codes_of
from obverse.filters.leak import HeldOut, leak_report, read_test_sets
from obverse.recipes.cells import Cell
from obverse.recipes.source import Source
from obverse.results import Result

PACKAGED_SOURCES = {
    "SciFact claims and judgements": "cc-by-4.0",
    "abstracts (S2ORC)": "odc-by",
}
_TOPICS_FOR_LANGUAGE = 100


@dataclass
class Cards:
    """Writes the cards of a recipe's cells.

    Attributes:
        source: What the cells were made from.
        license: The licence of what comes out; None says that nobody has chosen one.
    """

    source: Source
    license: str | None = None

    @cached_property
    def held_out(self) -> HeldOut:
        """What the data must not hold."""
        found = read_test_sets([str(self.source.benchmark)])
        found.name = self.source.benchmark.name
        return found

    def write(self, cell: Cell, results: Sequence[Result]) -> list[Path]:
        """Writes the card of the cell's topics and of its model, if they are there, and returns their paths."""
        file = cell.folder / "topics.jsonl.gz"
        about: dict[str, Any] = {
            "license": self.license,
            "sources": PACKAGED_SOURCES if self.source.recorded else {},
            "language": codes_of(topic.query for topic in cell.topics[:_TOPICS_FOR_LANGUAGE]),
            "leaks": [leak_report(cell.topics, [self.held_out])],
            "name": f"{cell.arm.name}, seed {cell.seed}",
        }
        made = [write_data_card([file], **about)]
        model = cell.folder / "model"
        if (model / "modules.json").is_file():
            (model / "README.md").unlink(missing_ok=True)  # the trainer's own, under another title
            made.append(write_model_card(model, data=[file], scores=results, **about))
        return made
