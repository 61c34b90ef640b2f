"""Rankings under an instruction, base beside trained, with lines from where a document stood to where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from obverse.records import Label
from obverse.report.markup import Content, Markup, element
from obverse.report.page_data import Ranked, ViewPanel

TOP = 5
_BEYOND = 3
_KINDS = {str(Label.POSITIVE): "wanted", str(Label.INSTRUCTION_NEGATIVE): "ruled"}
SPOKEN = {"wanted": "asked for: ", "ruled": "ruled out: ", "other": ""}

SYMBOLS = Markup(
    '<svg class="symbols" aria-hidden="true">'
    '<symbol id="wanted" viewBox="0 0 12 12"><circle cx="6" cy="6" r="4.6"/></symbol>'
    '<symbol id="ruled" viewBox="0 0 12 12"><path d="M2 2l8 8M10 2l-8 8"/></symbol>'
    '<symbol id="other" viewBox="0 0 12 12"><circle cx="6" cy="6" r="2"/></symbol>'
    '<symbol id="yes" viewBox="0 0 14 14"><path d="M2 7.5l3.5 3.5L12 3"/></symbol>'
    '<symbol id="no" viewBox="0 0 14 14"><path d="M3 3l8 8M11 3l-8 8"/></symbol>'
    "</svg>"
)


@dataclass(frozen=True, slots=True)
class _Side:
    """One model's column: the rows it shows, and the rank of every document that is known."""

    model: str
    rows: Sequence[Ranked]
    ranks: Mapping[str, int]

    def row_of(self, doc_id: str) -> int | None:
        return next((n for n, row in enumerate(self.rows) if row.doc_id == doc_id), None)


def symbol(name: str) -> Markup:
    """Returns a small drawn sign: wanted, ruled, other, yes or no."""
    return element(
        "svg", Markup(f'<use href="#{name}"/>'), class_=f"sign {name}", aria_hidden="true"
    )


def verdict(passed: bool | None, *, words: bool = True) -> Markup | None:
    """Returns the sign and words that say whether a ranking obeys its instruction."""
    if passed is None:
        return None
    said = "obeys" if passed else "does not obey"
    return element(
        "span",
        symbol("yes" if passed else "no"),
        " " + said if words else element("span", said, class_="unseen"),
        class_=f"verdict {'yes' if passed else 'no'}",
    )


def legend() -> Markup:
    """Returns what the signs and colours of a ranking mean."""
    return element(
        "p",
        element("span", symbol("wanted"), " what the instruction asks for", class_="key wanted"),
        element("span", symbol("ruled"), " what it rules out", class_="key ruled"),
        element("span", symbol("other"), " other documents", class_="key other"),
        class_="legend",
    )


def view_panel(view: ViewPanel, models: Sequence[str]) -> Markup:
    """Returns one instruction with its rankings: one column for each of the models, at most two.

    Args:
        view: The instruction and its rankings.
        models: Names of the base and the trained model, as the rankings call them.
    """
    sides = [_side(name, view.rankings.get(name, ())) for name in models]
    height = max((len(side.rows) for side in sides), default=0)
    parts: list[Content] = []
    for number, side in enumerate(sides):
        other = sides[1 - number] if len(sides) == 2 else None
        if number:
            parts.append(_lines(sides[0], side, height))
        passed = view.passed.get(side.model) if view.instruction else None
        parts.append(_column(side, other, height, passed, last=bool(number)))
    said = (
        element("q", view.instruction, dir="auto")
        if view.instruction
        else element("span", "The query alone", class_="plain")
    )
    return element(
        "section",
        element("h3", said, class_="instruction"),
        element("div", parts, class_="moves" if len(sides) == 2 else "moves alone"),
        class_="view",
    )


def kind_of(row: Ranked) -> str:
    """Returns wanted, ruled or other."""
    return _KINDS.get(str(row.label), "other")


def shown_rows(ranking: Sequence[Ranked]) -> list[Ranked]:
    """Returns the first five, and up to three documents beyond them that are asked for or ruled out."""
    rows = [row for row in ranking if row.rank <= TOP or kind_of(row) != "other"]
    return rows[: TOP + _BEYOND]


def _side(model: str, ranking: Sequence[Ranked]) -> _Side:
    return _Side(model, shown_rows(ranking), {row.doc_id: row.rank for row in ranking})


def _column(
    side: _Side, other: _Side | None, height: int, passed: bool | None, *, last: bool
) -> Markup:
    rows = [_row(row, other, last) for row in side.rows]
    blanks = [element("li", class_="blank", aria_hidden="true")] * (height - len(rows))
    return element(
        "div",
        element("h4", element("span", side.model, class_="model"), " ", verdict(passed)),
        element("ol", rows, blanks, role="list"),
        class_="column trained" if last else "column base",
    )


def _row(row: Ranked, other: _Side | None, last: bool) -> Markup:
    kind = kind_of(row)
    moved = None
    if other is not None and other.row_of(row.doc_id) is None:
        rank = other.ranks.get(row.doc_id)
        word = "from" if last else "to"
        moved = f"{word} {rank}" if rank else "new here" if last else "leaves"
    title = row.title.strip() or row.doc_id
    return element(
        "li",
        element("span", str(row.rank), class_="rank"),
        symbol(kind),
        element(
            "span",
            element("span", SPOKEN[kind], class_="unseen"),
            title,
            class_="doc",
            title=title,
            dir="auto",
        ),
        element("small", moved) if moved else None,
        class_=f"{kind} beyond" if row.rank > TOP else kind,
    )


def _lines(base: _Side, trained: _Side, height: int) -> Markup:
    """Lines between the columns, in units of a row: the drawing is stretched to the height of the lists."""
    joined: dict[str, list[Markup]] = {"other": [], "ruled": [], "wanted": []}
    for start, row in enumerate(base.rows):
        end, kind = trained.row_of(row.doc_id), kind_of(row)
        y0 = start + 0.5
        if end is None:
            joined[kind].append(_line(f"M0 {y0}C18 {y0} 24 {y0 + 0.2} 30 {y0 + 0.4}", kind, True))
        else:
            y1 = end + 0.5
            joined[kind].append(_line(f"M0 {y0}C50 {y0} 50 {y1} 100 {y1}", kind))
    for end, row in enumerate(trained.rows):
        if base.row_of(row.doc_id) is None:
            y1, kind = end + 0.5, kind_of(row)
            joined[kind].append(_line(f"M100 {y1}C82 {y1} 76 {y1 + 0.2} 70 {y1 + 0.4}", kind, True))
    return element(
        "svg",
        joined.values(),
        class_="lines",
        viewBox=f"0 0 100 {height}",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _line(path: str, kind: str, short: bool = False) -> Markup:
    return element(
        "path",
        d=path,
        class_=f"{kind} short" if short else kind,
        vector_effect="non-scaling-stroke",
    )
