"""One self-contained HTML page that shows what happened when an encoder learnt to obey instructions.

No script, no request to anywhere: style sheet and drawings stand in the file. Everything that comes from data is
escaped by :mod:`obverse.report.markup`.
"""

from __future__ import annotations

from importlib.resources import files

from obverse.report.gain_plot import gain_plot
from obverse.report.loss_plot import loss_plot
from obverse.report.markup import Content, Markup, element, with_code
from obverse.report.moves import SYMBOLS, legend, view_panel
from obverse.report.page_data import PageData
from obverse.report.pipeline import pipeline_table
from obverse.report.score_table import score_table
from obverse.report.topics import instructed, telling_example, topic_details
from obverse.report.trade_plot import trade_plot
from obverse.report.wording import deck, example_caption, headline, trade_reading

_OPEN_TOPICS = 2


def page(data: PageData) -> str:
    """Returns the page as HTML: without a script, without any request, for screen, phone and paper."""
    title = data.title or headline(data)
    body = (
        SYMBOLS,
        element(
            "main",
            _opening(data, title),
            _measures(data),
            _trade(data),
            _training(data),
            _pipeline(data),
            _topics(data),
            _making(data),
        ),
    )
    return (
        "<!doctype html>\n"
        + element(
            "html",
            element("head", _head(title)),
            element("body", body),
            lang="en",
        )
        + "\n"
    )


def _head(title: str) -> Content:
    style = files("obverse.report").joinpath("page.css").read_text(encoding="utf-8")
    return (
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(style)),
    )


def _shown_models(data: PageData) -> list[str]:
    """The names of the models whose rankings stand side by side: the first and the last."""
    names = [model.name for model in data.models]
    return names if len(names) < 3 else [names[0], names[-1]]


def _opening(data: PageData, title: str) -> Markup:
    models = _shown_models(data)
    number = data.example if data.example is not None else telling_example(data.topics, models)
    return element(
        "header",
        element(
            "p", "Obverse ", element("span", "instruction-following retrieval"), class_="brand"
        ),
        element("h1", title),
        element("p", deck(data), class_="deck"),
        element("p", with_code(data.remark), class_="notice") if data.remark else None,
        _example(data, number) if number is not None else None,
    )


def _example(data: PageData, number: int) -> Markup:
    topic, models = data.topics[number], _shown_models(data)
    views = (instructed(topic) or list(topic.views))[:2]
    return element(
        "figure",
        element("p", "One query", class_="eyebrow"),
        element("p", topic.query, class_="query", dir="auto"),
        element(
            "p",
            "Two opposite instructions" if len(views) > 1 else "One instruction",
            class_="eyebrow",
        ),
        element("div", (view_panel(view, models) for view in views), class_="views"),
        legend(),
        element("figcaption", example_caption(data.topics, views, models)),
        class_="example",
    )


def _section(name: str, heading: str, *content: Content) -> Markup:
    return element("section", element("h2", heading), *content, id=name)


def _measures(data: PageData) -> Markup:
    caption = (
        "Every value is a mean over topics that the model never saw in training, with its 95% interval in brackets; "
        "hollow points are the first model, filled ones the last. "
    )
    if data.differences:
        caption += (
            "The difference is taken topic by topic, which is why it can be certain even where the two intervals "
            "overlap: it is beyond chance where resampling the topics (paired bootstrap) leaves it on one side of 0."
        )
    return _section(
        "measures",
        "What was measured",
        element("figure", score_table(data), element("figcaption", caption), class_="wide"),
    )


def _trade(data: PageData) -> Markup | None:
    plot = trade_plot(data.models, data.guard_margin)
    if plot is None:
        return None
    return _section(
        "trade",
        "Did ordinary search suffer?",
        element(
            "div",
            element("figure", plot),
            element("div", (element("p", p) for p in trade_reading(data)), class_="reading"),
            class_="pair",
        ),
    )


def _training(data: PageData) -> Markup | None:
    loss = loss_plot(data.loss)
    gain = gain_plot(data.gains) if data.gains is not None else None
    if loss is None and gain is None:
        return None
    figures = []
    if loss is not None:
        words = (
            "How far the model is from ranking the training topics as labelled: each step shows it a handful of "
            "topics. The pale line is as logged, the dark one a moving mean."
        )
        figures.append(element("figure", loss, element("figcaption", words)))
    if gain is not None:
        words = (
            "A check before training, by the untrained model: does adding an instruction bring the query nearer to "
            "the document it asks for? Instructions that do not are dropped, as they point the wrong way."
        )
        figures.append(element("figure", gain, element("figcaption", words)))
    return _section("training", "Training", element("div", figures, class_="pair"))


def _pipeline(data: PageData) -> Markup | None:
    if not data.stages:
        return None
    return _section("pipeline", "From raw data to the model", pipeline_table(data.stages))


def _topics(data: PageData) -> Markup | None:
    if not data.topics:
        return None
    models = _shown_models(data)
    return _section(
        "topics",
        "Topic by topic",
        element(
            "p",
            "The same query, asked under each instruction. A ranking obeys when every document asked for stands above "
            "every one ruled out. Open a topic to see the first five, and below them what the instruction asks for "
            "or rules out, wherever it stands.",
            class_="lead",
        ),
        legend(),
        (
            topic_details(topic, models, is_open=number < _OPEN_TOPICS)
            for number, topic in enumerate(data.topics)
        ),
    )


def _making(data: PageData) -> Markup:
    facts = (
        element("div", element("dt", name), element("dd", with_code(value)))
        for name, value in data.facts.items()
    )
    return _section(
        "making",
        "How it was made",
        element("dl", facts, class_="facts") if data.facts else None,
        (
            element("p", "To do it again:", class_="lead"),
            element("pre", element("code", data.command)),
        )
        if data.command
        else None,
        (
            element("h3", "To bear in mind"),
            element("ul", (element("li", with_code(note)) for note in data.notes)),
        )
        if data.notes
        else None,
        (
            element("h3", "Whose data it is"),
            element("ul", (element("li", with_code(line)) for line in data.attribution)),
        )
        if data.attribution
        else None,
    )
