"""Filters: each is a stage that takes views away, with a reason, or takes doubtful labels out of them.

A filter's function is called with its settings and returns a stage, ``(topics, drops) -> topics``. A topic that
loses its instructed views keeps its plain one.
"""

from __future__ import annotations

FILTERS: dict[str, str] = {
    "similarity_gain": "obverse.filters.similarity_gain:similarity_gain",
    "unique": "obverse.filters.unique:unique",
    "rule": "obverse.filters.rule:rule",
    "leak": "obverse.filters.leak:leak",
    "margin": "obverse.filters.margin:margin",
    "swap": "obverse.filters.swap:swap",
    "judge": "obverse.filters.judge:judge",
}
"""Where each filter stands: ``module:function``."""
