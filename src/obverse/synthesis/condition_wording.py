"""How people say a condition: many phrasings for each, drawn by chance."""

from __future__ import annotations

from random import Random

from obverse.synthesis.conditions import Condition

_THINGS = ("papers", "articles", "texts", "results", "sources", "abstracts", "documents")
_FRAMES = (
    ("{}", 10),
    ("{} Thanks.", 1),
    ("For a reading list: {}", 1),
    ("This is for a course. {}", 1),
    ("I am short of time. {}", 1),
    ("{} Anything else is of no use to me.", 1),
    ("One more thing: {}", 1),
    ("{} That matters more to me than a perfect match.", 1),
)

PHRASES: dict[tuple[str, bool], tuple[str, ...]] = {
    ("word", False): (
        "It has to mention {v}.",
        "Only {things} that bring up {v}.",
        "I want {things} in which the word {v} occurs.",
        "{V} must come up in it.",
        "Skip whatever does not mention {v}.",
        "Stick to {things} that use the term {v}.",
        "The word {v} should appear somewhere.",
        "I am looking at {v} in particular, so it needs to be named.",
    ),
    ("word", True): (
        "Nothing that mentions {v}.",
        "Leave out {things} that speak of {v}.",
        "No {v}, please.",
        "Without the word {v}.",
        "I have read enough about {v}; leave that out.",
        "Only {things} in which {v} never comes up.",
        "Drop everything where the term {v} occurs.",
        "{V} is not my subject, so skip {things} that name it.",
    ),
    ("shorter", False): (
        "Keep it under {v} words.",
        "Short {things} only, fewer than {v} words.",
        "Nothing of {v} words or more.",
        "I only have time for something below {v} words.",
        "Less than {v} words, please.",
        "The text must be shorter than {v} words.",
    ),
    ("shorter", True): (
        "At least {v} words, please.",
        "Nothing shorter than {v} words.",
        "I want the longer ones: {v} words or more.",
        "Skip short {things}; {v} words is the minimum.",
        "It should run to {v} words or beyond.",
        "Only detailed {things} of no fewer than {v} words.",
    ),
    ("percentages", False): (
        "With percentages in it.",
        "I need {things} that give percentages.",
        "Shares should be stated in per cent.",
        "Only {things} that put a percentage on something.",
        "There must be at least one percentage.",
    ),
    ("percentages", True): (
        "No percentages, please.",
        "I want {things} without any percentage.",
        "Leave out whatever states shares in per cent.",
        "Nothing with a percent sign in it.",
    ),
    ("p_value", False): (
        "A p value has to be reported.",
        "Only {things} that state p values.",
        "I need to see significance as a p value.",
        "Skip {things} that give no p value.",
    ),
    ("p_value", True): (
        "No p values.",
        "Spare me {things} that quote p values.",
        "I would rather have {things} without a p value.",
        "Leave out whatever reports p values.",
    ),
    ("interval", False): (
        "With a confidence interval.",
        "Only {things} that report confidence intervals.",
        "The uncertainty should be given as a confidence interval.",
        "I need {things} with a confidence interval in them.",
    ),
    ("interval", True): (
        "Without confidence intervals.",
        "Skip {things} that report a confidence interval.",
        "No confidence intervals, please.",
    ),
    ("year", False): (
        "It should name a calendar year.",
        "Only {things} that give a year, such as 1998 or 2007.",
        "I need something with a year in it.",
        "Skip {things} that mention no year.",
    ),
    ("year", True): (
        "No calendar years in it.",
        "Only {things} that name no year.",
        "Leave out whatever mentions a particular year.",
        "I want {things} without a year such as 1998 or 2007.",
    ),
    ("digits", False): (
        "There have to be figures in it.",
        "Only {things} with numbers.",
        "I want at least one number written in digits.",
        "Skip whatever has no numbers at all.",
    ),
    ("digits", True): (
        "No figures at all.",
        "Words only, not a single digit.",
        "I want {things} without any number in digits.",
        "Leave out everything that has numbers in it.",
    ),
    ("headings", False): (
        "Structured {things} with headings such as METHODS or RESULTS.",
        "It should be divided under capital headings like RESULTS.",
        "Only {things} with labelled sections, BACKGROUND or CONCLUSIONS for instance.",
        "I want the sections to be marked in capitals.",
    ),
    ("headings", True): (
        "No structured {things} with headings such as METHODS.",
        "Running text only, without capital section headings.",
        "I prefer one piece of prose, no BACKGROUND or RESULTS labels.",
        "Leave out whatever is cut up under headings like RESULTS.",
    ),
    ("steps", False): (
        "Points should be numbered in the text.",
        "Only {things} with an enumerated list.",
        "I want items listed as (1), (2) or (i), (ii).",
    ),
    ("steps", True): (
        "No numbered points in the text.",
        "Without enumerations like (1), (2).",
        "Leave out {things} with a numbered list.",
    ),
    ("question", False): (
        "A question should be asked in it.",
        "Only {things} that contain a question mark.",
        "I want something that poses a question outright.",
        "There must be at least one question in it.",
    ),
    ("question", True): (
        "No questions in it.",
        "Only {things} without a question mark.",
        "Leave out whatever asks a question.",
        "Statements only; no sentence may be a question.",
    ),
    ("first_person", False): (
        "The authors should speak of themselves as we.",
        "Only {things} written in the first person.",
        'I want to read what "we" did, in the authors\' own voice.',
        "Skip impersonal {things}; there should be a we or our.",
    ),
    ("first_person", True): (
        "Impersonal style only, no we or our.",
        "Leave out {things} written in the first person.",
        "The authors should not speak of themselves.",
        'No "we", no "our".',
    ),
    ("quotes", False): (
        "Something in it should stand in quotation marks.",
        "Only {things} with quotation marks.",
        "I want a quoted term or phrase in it.",
    ),
    ("quotes", True): (
        "Without quotation marks.",
        "No quoted terms, please.",
        "Leave out {things} that put something in quotation marks.",
    ),
    ("abbreviation", False): (
        "An abbreviation should be introduced in brackets.",
        "Only {things} that define an acronym in parentheses.",
        "I want at least one acronym spelled out with its short form in brackets.",
    ),
    ("abbreviation", True): (
        "No acronyms introduced in brackets.",
        "Leave out {things} that define abbreviations in parentheses.",
        "I prefer {things} without bracketed acronyms.",
    ),
    ("sample_size", False): (
        "The sample size should be given as n = some number.",
        "Only {things} that state n = followed by a number.",
        "I need an explicit n = figure.",
    ),
    ("sample_size", True): (
        "No n = figures.",
        "Leave out {things} that write the sample size as n = number.",
        "Without any n = in the text.",
    ),
    ("measured", False): (
        "There should be a measured amount, in mg, mm, days, years or the like.",
        "Only {things} that give a quantity with its unit.",
        "I need a number with a unit such as mg, weeks or months.",
    ),
    ("measured", True): (
        "No amounts with units such as mg, days or years.",
        "Leave out {things} that give a quantity with a unit.",
        "Without measured quantities like 5 mg or 12 weeks.",
    ),
    ("link", False): (
        "There should be a web address in it.",
        "Only {things} that give a link.",
        "I need a URL in the text.",
    ),
    ("link", True): (
        "No web addresses in it.",
        "Leave out {things} that contain a link.",
        "Without any URL.",
    ),
    ("title_question", False): (
        "The title should be a question.",
        "Only {things} whose title ends in a question mark.",
        "I like titles that ask something; only those.",
    ),
    ("title_question", True): (
        "The title must not be a question.",
        "Leave out {things} whose title ends in a question mark.",
        "No question titles.",
    ),
    ("title_colon", False): (
        "The title should have a subtitle after a colon.",
        "Only {things} with a colon in the title.",
        "I want two-part titles, split by a colon.",
    ),
    ("title_colon", True): (
        "No colon in the title.",
        "Only {things} whose title has no subtitle after a colon.",
        "Leave out two-part titles with a colon.",
    ),
    ("script", False): (
        "It should be written in {v} script.",
        "Only {things} in {v} letters.",
        "I read {v} script alone.",
    ),
    ("script", True): (
        "Nothing in {v} script.",
        "Leave out {things} written in {v} letters.",
        "No {v} script, please.",
    ),
}
"""Phrasings by kind and whether the contrary is asked for; ``{v}`` is the value, ``{things}`` what is searched."""


def say_condition(condition: Condition, rng: Random) -> str:
    """Returns an instruction in natural words that asks for the condition."""
    phrase = rng.choice(PHRASES[condition.kind, condition.negated])
    value = condition.value.capitalize() if condition.kind == "script" else condition.value
    frames, weights = zip(*_FRAMES, strict=True)
    (frame,) = rng.choices(frames, weights)
    filled = (
        phrase.replace("{things}", rng.choice(_THINGS))
        .replace("{v}", value)
        .replace("{V}", value[:1].upper() + value[1:])
    )
    if frame.endswith(": {}") and not filled.startswith(("I ", f"{value[:1].upper()}{value[1:]} ")):
        filled = filled[:1].lower() + filled[1:]
    said: str = frame.replace("{}", filled)
    return said
