"""The page of a few instructed queries: every ranking without and with the instruction, for several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files

from obverse.evaluate import Scores
from obverse.moves import Moves, ignored, lost_plain
from obverse.report.markup import Content, Markup, element
from obverse.report.moves import SYMBOLS, view_panel
from obverse.report.page_data import Ranked, ViewPanel

WITHOUT, WITH = "without the instruction", "with the instruction"


def moves_page(moves: Mapping[str, Sequence[Moves]], scores: Mapping[str, Scores]) -> str:
    """Returns one HTML page without scripts or requests: for every model, each query's rankings and violations.

    Args:
        moves: The moves by model.
        scores: The scores by model.
    """
    style = files("obverse.report").joinpath("page.css").read_text(encoding="utf-8")
    title = "Does it obey?"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    )
    dropped = [element("p", line, class_="remark") for line in lost_plain(scores)]
    sections = [_model(name, moves[name], scores[name]) for name in moves]
    body = element(
        "body",
        SYMBOLS,
        element("main", element("h1", title), _totals(moves, scores), dropped, sections),
    )
    return "<!doctype html>\n" + element("html", head, body, lang="en")


def _totals(moves: Mapping[str, Sequence[Moves]], scores: Mapping[str, Scores]) -> Markup:
    heads = ("Model", "Violations without", "Violations with", "By query", "Plain nDCG@10")
    rows = (
        element(
            "tr",
            element("th", name, scope="row"),
            element("td", str(sum(m.violations_before for m in moves[name])), class_="number"),
            element("td", str(sum(m.violations for m in moves[name])), class_="number"),
            element("td", ", ".join(f"{m.ask.query_id} {m.violations}" for m in moves[name])),
            element("td", _plain(scores[name]), class_="number"),
        )
        for name in moves
    )
    head = element("tr", (element("th", text) for text in heads))
    return element("table", element("thead", head), element("tbody", rows), class_="scores")


def _plain(scores: Scores) -> str:
    value = scores["plain_ndcg@10"].value
    return "\N{EN DASH}" if value is None else f"{value:.3f}"


def _model(name: str, moves: Sequence[Moves], scores: Scores) -> Markup:
    called_out: list[Content] = [
        element("p", f"Ignores the instruction: {line}.", class_="remark")
        for line in ignored(scores)
    ]
    panels = (
        (
            element("h3", f"{each.ask.query_id}: {each.ask.query}"),
            element(
                "p",
                f"Violations among the first three: {each.violations}; "
                f"without the instruction: {each.violations_before}.",
            ),
            view_panel(_panel(each, scores), [WITHOUT, WITH]),
        )
        for each in moves
    )
    return element("section", element("h2", name), called_out, panels)


def _panel(each: Moves, scores: Scores) -> ViewPanel:
    known = {row.doc_id: row for row in each.rows}

    def ranked(search: str) -> list[Ranked]:
        order = list(scores.runs[search][each.ask.query_id])
        return [
            Ranked(
                n,
                d,
                known[d].text if d in known else d,
                "instruction_negative" if d in known and known[d].violates else None,
            )
            for n, d in enumerate(order[:10], start=1)
        ]

    return ViewPanel(each.ask.instruction, {WITHOUT: ranked("plain"), WITH: ranked("instructed")})
