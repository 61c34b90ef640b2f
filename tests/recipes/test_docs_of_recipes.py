"""The page on recipes: its commands exist, its example of a recipe is one, its list of recipes is whole."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from obverse.cli import _register, app
from obverse.recipes.named import RECIPES
from obverse.recipes.recipe import Recipe

PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")


def _commands() -> list[list[str]]:
    blocks = re.findall(r"```(\w*)\n(.*?)```", PAGE, flags=re.S)
    lines = (
        "\n".join(text for language, text in blocks if not language)
        .replace("\\\n", " ")
        .splitlines()
    )
    return [shlex.split(line)[1:] for line in lines if line.startswith("obverse ")]


@pytest.mark.parametrize("words", _commands(), ids=" ".join)
def test_the_commands_on_the_page_parse(words: list[str]) -> None:
    _register()
    group: Any = typer.main.get_command(app)
    command = group.commands[words[0]]
    command.make_context(words[0], list(words[1:]))


def test_the_recipe_on_the_page_is_one() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    names: dict[str, object] = {}
    exec(code, names)
    assert isinstance(names["RECIPE"], Recipe)


def test_every_recipe_stands_on_the_page() -> None:
    for name in RECIPES:
        assert f"| `{name}` |" in PAGE
