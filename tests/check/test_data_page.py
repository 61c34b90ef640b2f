"""The page on data names every code, format and label with the words of the code itself."""

from __future__ import annotations

from pathlib import Path

from obverse.read.faults import FAULTS
from obverse.read.formats import FORMATS as READERS
from obverse.records import Label
from obverse.write import FORMATS as WRITERS

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_every_code_stands_on_the_page() -> None:
    page = (DOCS / "data.md").read_text(encoding="utf-8")
    for code, kind in FAULTS.items():
        assert f"| `{code}` | {kind.severity} | {kind.means} | {kind.done} |" in page
    for name in (*READERS, *WRITERS):
        assert f"`{name}`" in page


def test_every_label_stands_on_the_page() -> None:
    page = (DOCS / "records.md").read_text(encoding="utf-8")
    assert all(f"| `{label}` |" in page for label in Label)
