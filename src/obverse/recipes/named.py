"""Recipes by name, and the papers' backbones by theirs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from obverse.errors import SettingError

if TYPE_CHECKING:
    from obverse.recipes.recipe import Recipe

RECIPES: dict[str, str] = {
    "dual-view": "obverse.recipes.dual_view:RECIPE",
    "promoted-negatives": "obverse.recipes.promoted_negatives:RECIPE",
    "natural-dual-view": "obverse.recipes.natural_dual_view:RECIPE",
    "checkable": "obverse.recipes.checkable:RECIPE",
    "retention": "obverse.recipes.retention:RECIPE",
}
"""Where each recipe stands: ``module:object``."""

BACKBONES: dict[str, str] = {
    "gte-multilingual-mlm-base": "Alibaba-NLP/gte-multilingual-mlm-base",
    "bge-m3-retromae": "BAAI/bge-m3-retromae",
    "bge-m3": "BAAI/bge-m3",
    "qwen3-embedding-0.6b": "Qwen/Qwen3-Embedding-0.6B",
    "qwen3-embedding-4b": "Qwen/Qwen3-Embedding-4B",
}
"""Encoders of the papers by short name, as the hub has them.

The dual-view paper starts from a contrastive checkpoint of its authors on top of gte-multilingual-mlm-base, which is
not published: the bare backbone must be trained on plain pairs first.
"""


def load_recipe(name: str) -> Recipe:
    """Returns a recipe by its name, or by ``package.module:OBJECT``.

    Raises:
        SettingError: If there is none.
    """
    place = RECIPES.get(name, name)
    module, colon, attribute = place.partition(":")
    if not colon:
        raise SettingError(
            f"there is no recipe {name!r}",
            fix=f"Use one of {', '.join(RECIPES)}, or package.module:OBJECT",
        )
    from obverse.recipes.recipe import Recipe

    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise SettingError(f"there is no recipe {name!r} ({error})") from None
    if not isinstance(found, Recipe):
        raise SettingError(f"{name} is no recipe", fix="Name a Recipe object")
    return found
