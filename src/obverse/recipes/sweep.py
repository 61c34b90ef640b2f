"""A grid over a recipe's settings: every point is an arm, so that cells, seeds and the page are those of recipes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from obverse.errors import InputError, SettingError
from obverse.files import read_json
from obverse.recipes.choices import known_settings, parse_value
from obverse.recipes.named import load_recipe
from obverse.recipes.recipe import Arm, Pair, Recipe
from obverse.recipes.run import RecipeRun, recipe

_KEYS = frozenset({"recipe", "arms", "grid", "set", "seeds", "scale", "base", "on", "dev"})


def sweep(
    name: str | Recipe,
    *,
    out: str | os.PathLike[str],
    grid: Mapping[str, Sequence[Any]],
    arms: Sequence[str] = (),
    development: int | None = 70,
    **options: Any,
) -> RecipeRun:
    """Runs an arm at every point of a grid and returns one page of results; finished cells are not run again.

    Settings are chosen by it, so it measures on topics held back from training, and the held-out topics stay unseen;
    ``development=0`` measures on these instead.

    Args:
        name: The recipe.
        out: The folder; a larger grid goes on from a smaller one in it.
        grid: Values by setting.
        arms: The arms that are run at every point; by default the recipe's first.
        development: How many two-sided topics are held back.
        **options: As for :func:`obverse.recipes.run.recipe`.

    Raises:
        SettingError: If the grid is empty, or names no setting.
    """
    found = name if isinstance(name, Recipe) else load_recipe(name)
    made = swept(found, grid, arms or [found.arms[0].name])
    return recipe(made, out=out, development=development, held_out=not development, **options)


def swept(found: Recipe, grid: Mapping[str, Sequence[Any]], arms: Sequence[str]) -> Recipe:
    """Returns the recipe whose arms are those of another at every point of a grid, each against the first point."""
    if not grid or not all(grid.values()):
        raise SettingError("the grid is empty", fix="Give --grid learning_rate=1e-4,2e-4")
    for key in grid:
        if key not in known_settings():
            raise SettingError(f"there is no setting {key!r}", fix="Name a setting of train")
    points = [
        dict(zip(sorted(grid), values, strict=True))
        for values in itertools.product(*(grid[key] for key in sorted(grid)))
    ]
    words = [f"--grid '{key}={','.join(map(str, values))}'" for key, values in grid.items()]
    words += [f"--arm '{name}'" for name in arms]
    made: list[Arm] = []
    pairs: list[Pair] = []
    for name in arms:
        known = [arm.name for arm in found.arms]
        if name not in known:
            raise SettingError(
                f"the recipe {found.name} has no arm {name!r}", fix=f"Use {', '.join(known)}"
            )
        arm = found.arm(name)
        names = [f"{name}, {_said(point)}" for point in points]
        made += [
            replace(arm, name=n, settings={**arm.settings, **point}, steps_of="")
            for n, point in zip(names, points, strict=True)
        ]
        pairs += [Pair(other, names[0], matched=False) for other in names[1:]]
    return replace(
        found,
        name=f"{found.name}, swept over {', '.join(sorted(grid))}",
        arms=made,
        pairs=pairs,
        published=(),
        benchmarks=(),
        more=(),
        command=" ".join([f"sweep {found.name}", *words]),
    )


def _said(point: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in point.items())


def parse_grid(text: str) -> tuple[str, list[Any]]:
    """Returns key and values of ``key=a,b``.

    Raises:
        SettingError: If it is none.
    """
    key, equals, values = text.partition("=")
    found = [parse_value(value) for value in values.split(",") if value.strip()]
    if not equals or not key.strip() or not found:
        raise SettingError(f"{text!r} is not key=a,b", fix="Write --grid learning_rate=1e-4,2e-4")
    return key.strip(), found


def read_sweep(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns a sweep's file: ``{"recipe": "retention", "grid": {"learning_rate": [1e-4, 2e-4]}, ...}``.

    Further keys: ``arms``, ``set``, ``seeds``, ``scale``, ``base``, ``on``, ``dev``.

    Raises:
        InputError: If it holds anything else.
    """
    row = read_json(path)
    if not isinstance(row, dict) or not isinstance(row.get("grid"), dict) or "recipe" not in row:
        raise InputError(
            "is no sweep", where=os.fspath(path), fix='Write {"recipe": "retention", "grid": {...}}'
        )
    for key in row:
        if key not in _KEYS:
            raise InputError(
                f"has an unknown key {key!r}",
                where=os.fspath(path),
                fix=f"Known keys: {', '.join(sorted(_KEYS))}",
            )
    for key, values in row["grid"].items():
        if not isinstance(values, list) or not values:
            raise InputError(
                f"the values of {key!r} are no list",
                where=os.fspath(path),
                fix='Write "key": [1, 2]',
            )
    return row
