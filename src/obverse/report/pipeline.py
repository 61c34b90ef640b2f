"""The page's table of stages: what went in, what came out, what was set aside and why."""

from __future__ import annotations

import re
from collections.abc import Sequence

from obverse.report.markup import Content, Markup, element
from obverse.report.page_data import StageLine

_WHAT = {
    "read": "Queries with the documents that answer them.",
    "check": "Looks for faults in the data before anything is spent.",
    "mine": "Finds documents on the same topic that do not answer the query.",
    "synthesize": "A language model writes instructions under which another document becomes the right one.",
    "filter": "Drops instructions that fail a check.",
    "unique": "Drops what stands twice.",
    "similarity_gain": "Drops instructions that do not draw the query towards the document they ask for.",
    "mix": "Chooses what is trained on, and in which order.",
    "train": "The model learns to rank each topic's documents by the instruction.",
    "evaluate": "Both models rank topics that were kept out of training.",
}


def pipeline_table(stages: Sequence[StageLine]) -> Markup:
    """Returns one line for each stage."""
    timed = any(stage.seconds is not None for stage in stages)
    names = ["Stage", "In", "Out", "Set aside", *(["Time"] if timed else [])]
    head = (
        element(
            "th",
            name,
            scope="col",
            role="columnheader",
            class_="number" if name in ("In", "Out", "Time") else None,
        )
        for name in names
    )
    return element(
        "table",
        element("thead", element("tr", head, role="row"), role="rowgroup"),
        element("tbody", (_row(stage, timed) for stage in stages), role="rowgroup"),
        class_="stages stacked",
        role="table",
    )


def duration(seconds: float) -> str:
    """Returns a wall time in the unit that suits it."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def _row(stage: StageLine, timed: bool) -> Markup:
    what = stage.what or next((_WHAT[w] for w in reversed(stage.name.split()) if w in _WHAT), "")
    aside: Content = NOTHING
    if stage.dropped:
        reasons = sorted(stage.dropped.items(), key=lambda item: (-item[1], item[0]))
        aside = element(
            "ul",
            (
                element("li", element("span", f"{count:,}", class_="count"), " ", reason)
                for reason, count in reasons
            ),
        )
    return element(
        "tr",
        element(
            "th",
            element("span", stage.name, class_="measure"),
            element("span", what, class_="meaning") if what else None,
            scope="row",
            role="rowheader",
        ),
        element("td", _count(stage.came), class_="number", data_label="In", role="cell"),
        element("td", _count(stage.left), class_="number", data_label="Out", role="cell"),
        element("td", aside, class_="aside", data_label="Set aside", role="cell"),
        element(
            "td",
            duration(stage.seconds) if stage.seconds is not None else "",
            class_="number faint time",
            data_label="Time",
            role="cell",
        )
        if timed
        else None,
    )


NOTHING = element("span", "nothing", class_="faint")


def _count(count: int | str) -> Content:
    """A number; words are set part by part below each other: "404 topics, 808 views" on two lines."""
    if isinstance(count, int):
        return f"{count:,}"
    first, *others = re.split(r", (?=\d)", count)
    return first, (element("span", part, class_="part") for part in others)
