"""Topics as blocks that open without a script: the query, its instructions side by side, and the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from obverse.report.columns import MINUS, NO_VALUE
from obverse.report.markup import Content, Markup, element
from obverse.report.moves import SPOKEN, TOP, kind_of, symbol, verdict, view_panel
from obverse.report.page_data import Ranked, TopicPanel, ViewPanel


def topic_details(topic: TopicPanel, models: Sequence[str], *, is_open: bool = False) -> Markup:
    """Returns a topic as a block that opens without a script: the query, then a panel for each view."""
    views = instructed(topic)
    plain = [view for view in topic.views if not view.instruction]
    return element(
        "details",
        element(
            "summary",
            element("span", topic.query, class_="query", dir="auto"),
            element("span", _tallies(topic, models), class_="tallies"),
        ),
        element("div", (view_panel(view, models) for view in views), class_="views"),
        element(
            "details",
            element("summary", "The query without an instruction"),
            element("div", (view_panel(view, models) for view in plain), class_="views"),
            class_="more",
        )
        if plain
        else None,
        element(
            "details",
            element("summary", "Titles in full, ranks and similarities"),
            (_numbers(view, models) for view in topic.views),
            class_="more numbers",
        ),
        class_="topic",
        open=is_open,
    )


def telling_example(topics: Sequence[TopicPanel], models: Sequence[str]) -> int | None:
    """Returns the number of the topic that shows best what changed, or None where none has two instructions.

    The trained model obeys both instructions with the right document first, the base fails one although it finds
    both documents; then, far moves and short texts.
    """
    if not models:
        return None
    base, trained = models[0], models[-1]

    def worth(number: int) -> tuple[float, ...]:
        views = instructed(topics[number])[:2]
        learnt = sum(v.passed.get(trained, False) - v.passed.get(base, False) for v in views)
        obeyed = all(v.passed.get(trained, False) for v in views)
        first = sum(
            bool(v.rankings.get(trained)) and kind_of(v.rankings[trained][0]) == "wanted"
            for v in views
        )
        seen = sum(
            row.rank <= TOP and kind_of(row) != "other"
            for view in views
            for row in view.rankings.get(base, ())
        )
        moved = sum(_moved(view, base, trained) for view in views)
        words = len(topics[number].query) + sum(len(v.instruction) for v in views)
        return (obeyed, first + learnt, seen, 20 * moved - words, -number)

    able = [number for number, topic in enumerate(topics) if len(instructed(topic)) > 1]
    return max(able, key=worth, default=None)


def _moved(view: ViewPanel, base: str, trained: str) -> int:
    """How many places the documents asked for and ruled out moved, at most five each."""
    ranks = {row.doc_id: row.rank for row in view.rankings.get(trained, ())}
    return sum(
        min(abs(ranks.get(row.doc_id, row.rank) - row.rank), TOP)
        for row in view.rankings.get(base, ())
        if kind_of(row) != "other"
    )


def instructed(topic: TopicPanel) -> list[ViewPanel]:
    """Returns the views that have an instruction."""
    return [view for view in topic.views if view.instruction]


def _tallies(topic: TopicPanel, models: Sequence[str]) -> list[Markup]:
    tallies = []
    for name in models:
        marks = [view.passed.get(name) for view in instructed(topic)]
        known = [mark for mark in marks if mark is not None]
        if known:
            tallies.append(
                element(
                    "span",
                    element("span", name, class_="model"),
                    " ",
                    (verdict(mark, words=False) for mark in known),
                    class_="tally",
                )
            )
    return tallies


def _numbers(view: ViewPanel, models: Sequence[str]) -> Markup:
    """A table of every document known under the view: rank and similarity for each model."""
    rows: dict[str, Ranked] = {}
    for name in models:
        for row in view.rankings.get(name, ()):
            rows.setdefault(row.doc_id, row)
    found = {name: {r.doc_id: r for r in view.rankings.get(name, ())} for name in models}
    shown = [
        row
        for row in rows.values()
        if kind_of(row) != "other"
        or any(doc.rank <= TOP for name in models if (doc := found[name].get(row.doc_id)))
    ]
    head = element(
        "tr",
        element("th", "Document", scope="col"),
        (element("th", name, class_="number", scope="col", colspan=2) for name in models),
    )
    return element(
        "table",
        element("caption", view.instruction or "The query alone", dir="auto"),
        element("thead", head),
        element("tbody", (_number_row(row, [found[name] for name in models]) for row in shown)),
    )


def _number_row(row: Ranked, found: Sequence[Mapping[str, Ranked]]) -> Markup:
    kind = kind_of(row)
    cells: list[Content] = []
    for ranking in found:
        here = ranking.get(row.doc_id)
        score = here.score if here is not None else None
        cells += [
            element("td", f"{here.rank:,}" if here else NO_VALUE, class_="number"),
            element(
                "td",
                f"{score:.3f}".replace("-", MINUS) if score is not None else NO_VALUE,
                class_="number faint",
            ),
        ]
    return element(
        "tr",
        element(
            "td",
            symbol(kind),
            " ",
            element("span", SPOKEN[kind], class_="unseen"),
            element("span", row.title.strip() or row.doc_id, dir="auto"),
            " ",
            element("span", row.doc_id, class_="faint"),
        ),
        cells,
        class_=kind,
    )
