"""The style sheet: text stands out enough from what it stands on, in both schemes (WCAG 2.2, level AA)."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

STYLE = files("obverse.report").joinpath("page.css").read_text(encoding="utf-8")
SCHEMES = [
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", block))
    for block in re.findall(r":root \{(.*?)\n?\s*\}", STYLE, flags=re.S)
]


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2.2, https://www.w3.org/TR/WCAG22/#dfn-relative-luminance."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark", "print"])
def test_text_has_contrast(scheme: dict[str, str]) -> None:
    for text in ("ink", "soft", "faint", "wanted", "ruled"):
        assert contrast(scheme[text], scheme["paper"]) >= 4.5, text
    for tint in ("wanted-tint", "ruled-tint"):
        assert contrast(scheme["ink"], scheme[tint]) >= 7, tint
        assert contrast(scheme["faint"], scheme[tint]) >= 4.0, tint
    assert contrast(scheme["base"], scheme["paper"]) >= 3, "drawn marks"


def test_there_are_three_schemes() -> None:
    assert len(SCHEMES) == 3
