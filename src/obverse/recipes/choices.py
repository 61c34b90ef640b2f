"""Settings of a recipe as they are given on the command line: ``key=value`` for all arms, ``ARM.key=value`` for one."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from obverse.errors import SettingError
from obverse.files import parse_json
from obverse.recipes.recipe import Recipe

_OWN = {"batch_rows": "views a step"}
_NOT_SET = frozenset(
    ("topics", "base", "out", "seed", "device", "threads", "save_every", "restart", "tensorboard")
) | {"vectors", "held_out", "watch_every", "batch_size", "steps", "template"}


@lru_cache(maxsize=1)
def known_settings() -> frozenset[str]:
    """Returns the names that ``--set`` takes: the training's own, and ``batch_rows``."""
    from obverse.training.trainer import train

    return (frozenset(inspect.signature(train).parameters) - _NOT_SET) | set(_OWN)


def parse_choice(text: str) -> tuple[str, Any]:
    """Returns key and value of ``key=value``; the value is JSON where it parses, else a string.

    Raises:
        SettingError: If there is no ``=``.
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise SettingError(f"{text!r} is not key=value", fix="Write --set learning_rate=1e-4")
    return key.strip(), parse_value(value)


def parse_value(text: str) -> Any:
    """Returns a value as JSON means it, or the string itself."""
    try:
        return parse_json(text.strip().encode())
    except ValueError:
        return text.strip()


def settings_of(
    recipe: Recipe, given: Mapping[str, Any], scale: float
) -> dict[str, dict[str, Any]]:
    """Returns the training settings of each arm: the recipe's, then the arm's, then what was given.

    Raises:
        SettingError: If a given key names no setting or no arm, or a value makes no sense.
    """
    general, special = _sorted_out(recipe, given)
    base = dict(recipe.settings) | (dict(recipe.full_settings) if scale >= 1 else {})
    # What an arm is about is never overruled by a setting for all: --set ARM.key=value says so.
    found = {
        arm.name: base | general | dict(arm.settings) | special.get(arm.name, {})
        for arm in recipe.arms
    }
    for settings in found.values():
        _check(settings)
    return found


def _check(settings: Mapping[str, Any]) -> None:
    from obverse.training.settings import settings_from

    rows = settings["batch_rows"]
    if not isinstance(rows, int) or rows < 1:
        raise SettingError(f"batch_rows is {rows!r}", fix="Give at least one view a step")
    try:
        settings_from({key: value for key, value in settings.items() if key != "batch_rows"})
    except TypeError:
        wrong = {key: value for key, value in settings.items() if isinstance(value, str)}
        raise SettingError(f"a setting is of the wrong kind: {wrong}", fix="Give numbers") from None


def _sorted_out(
    recipe: Recipe, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    general: dict[str, Any] = {}
    special: dict[str, dict[str, Any]] = {}
    names = [arm.name for arm in recipe.arms]
    for key, value in given.items():
        arm, dot, own = key.rpartition(".")
        if dot and arm not in names:
            raise SettingError(
                f"the recipe {recipe.name} has no arm {arm!r}", fix=f"Use one of {', '.join(names)}"
            )
        if own not in known_settings():
            raise SettingError(f"there is no setting {own!r}", fix=_near(own))
        (special.setdefault(arm, {}) if dot else general)[own] = value
    return general, special


def _near(key: str) -> str:
    import difflib

    near = difflib.get_close_matches(key, known_settings(), n=3)
    known: Iterable[str] = near or sorted(known_settings())
    return f"{'Did you mean' if near else 'Use one of'} {', '.join(known)}"
