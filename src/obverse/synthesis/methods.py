"""Methods by name: a plain table of the package's own, and ``package.module:function`` for everybody else's."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from obverse.errors import SettingError
from obverse.records import Topic, View
from obverse.synthesis.dialogue import Dialogue

Method = Callable[[Topic, Random], Dialogue[list[View] | Topic]]


def load_method(
    method: str | Method, options: Mapping[str, Any] | None = None
) -> tuple[str, Method]:
    """Returns a method's name and function, its parameters filled in.

    Args:
        method: A name of ``obverse.synthesis.METHODS``, ``package.module:function``, or the function itself.
        options: Values of the function's further parameters.

    Raises:
        SettingError: If there is no such method or parameter.
    """
    if not isinstance(method, str):
        return method.__name__, _filled(method, method.__name__, options or {})
    from obverse import synthesis

    table: Mapping[str, str] = getattr(synthesis, "METHODS", {})
    path = table.get(method, method)
    if ":" not in path:
        raise SettingError(
            f"unknown method {method!r}",
            fix=f"Use one of {', '.join(table) or '(none yet)'}, or package.module:function",
        )
    module, _, name = path.partition(":")
    try:
        function: Method = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SettingError(
            f"the method {path!r} cannot be imported ({error})",
            fix="Check package.module:function, and that the module is on PYTHONPATH",
        ) from None
    return method, _filled(function, method, options or {})


def needs_llm(method: str | Method) -> bool:
    """Returns whether a method asks an LLM at all.

    Raises:
        SettingError: If there is no such method.
    """
    return bool(getattr(load_method(method)[1], "needs_llm", True))


def _filled(function: Method, name: str, options: Mapping[str, Any]) -> Method:
    if not options:
        return function
    known = list(inspect.signature(function).parameters)[2:]
    for option in options:
        if option not in known:
            raise SettingError(
                f"the method {name} has no parameter {option!r}",
                fix=f"It has: {', '.join(known) or 'none'}",
            )
    return functools.partial(function, **options)
